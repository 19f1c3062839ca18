package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.List;

/** A restored checkpoint lists a data file that is gone. */
class LostFileJobTest extends JobTest {

    @Test
    void s37ARestoreWithoutOneOfItsFilesEndsTheJobAndCommitsNothing() throws Exception {
        SourceScript script = SourceScript.create(2);
        SnapshotCommitGate gate = SnapshotCommitGate.open();
        AppendTable table = createTable();
        WriteJob writeJob =
                new WriteJob(script, table)
                        .through(gate)
                        .withoutCommitRetries()
                        .retainCheckpointsIn(directory.resolve("checkpoints").toUri().toString());
        long first;
        long second;
        String path;
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.breakDown();
            second = checkpointAfterRows(script, job, 50);
            Await.until("the commit has failed", () -> gate.failed() > 0);
            path = job.latestCheckpointPath();
        }
        String lost = table.unreferencedFiles().iterator().next();
        table.deleteFile(lost);
        gate.repair();
        try (RunningJob job = writeJob.restoreFrom(path).submitTo(cluster)) {
            String failure = job.awaitFailed();

            for (String part : List.of("Table table", "checkpoint " + second, lost)) {
                assertTrue(failure.contains(part), part + " is not in: " + failure);
            }
            assertEquals(List.of(0, 0), job.writerAttempts(), "a restart could not help");
            assertEquals(List.of(first), table.identifiers());
        }
    }
}
