package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.paimon.Snapshot;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The watermark that a snapshot carries. */
class WatermarkJobTest extends JobTest {

    @Test
    void s80TheSnapshotCarriesTheLowestWatermark() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            script.watermark(0, 1_000).watermark(1, 2_000);
            checkpointAfterRows(script, job, 10);
            script.watermark(0, 3_000);
            long last = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(last);

            assertEquals(List.of(1_000L, 2_000L), watermarks(table));
        }
    }

    @Test
    void s81AnIdleWriterDoesNotHoldTheWatermarkBack() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            script.watermark(0, 1_000).watermark(1, 2_000);
            checkpointAfterRows(script, job, 10);
            script.idle(0).allow(1, 10).awaitDrained();
            job.checkpoint();
            long last = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(last);

            List<Long> expected = Arrays.asList(1_000L, 2_000L, 2_000L);
            assertEquals(expected, watermarks(table), "never backwards when subtask 0 is back");
        }
    }

    private static List<Long> watermarks(AppendTable table) throws Exception {
        List<Long> watermarks = new ArrayList<>();
        for (Snapshot snapshot : table.snapshots()) {
            watermarks.add(snapshot.watermark());
        }
        return watermarks;
    }
}
