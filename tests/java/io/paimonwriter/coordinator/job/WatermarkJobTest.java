package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import org.apache.paimon.Snapshot;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

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

    @ParameterizedTest(name = "option: {0}, subtask 0 is idle at the end: {1}")
    @CsvSource({"NULL, true", "9000, true", "9000, false", "1500, false"})
    void s62TheLastSnapshotHasTheWatermarkOfPaimonsCommitter(String option, boolean idle)
            throws Exception {
        Long expected = watermarkAtTheEnd("paimon", option, idle);
        assertNotNull(expected);
        assertEquals(expected, watermarkAtTheEnd("coordinated", option, idle));
    }

    private Long watermarkAtTheEnd(String name, String option, boolean idle) throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = AppendTable.create(directory.resolve(name), Map.of());
        WriteJob writeJob = new WriteJob(script, table);
        if (!option.equals("NULL")) {
            writeJob.tableOption("end-input.watermark", option);
        }
        if (name.equals("paimon")) {
            writeJob.withPaimonsCommitter();
        }
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            script.watermark(0, 1_000).watermark(1, 2_000);
            table.awaitIdentifier(checkpointAfterRows(script, job, 10));
            if (idle) {
                script.idle(0);
            }
            script.watermark(1, 3_000).allow(1, 5).awaitDrained();
            script.endAll();
            job.awaitFinished();

            table.assertHolds(script.ids());
            List<Snapshot> snapshots = table.snapshots();
            Snapshot last = snapshots.get(snapshots.size() - 1);
            assertEquals(Long.MAX_VALUE, last.commitIdentifier());
            return last.watermark();
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
