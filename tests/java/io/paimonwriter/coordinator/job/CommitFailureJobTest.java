package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.List;

/** The file system refuses a commit, or does it and says that it did not. */
class CommitFailureJobTest extends JobTest {

    private final SourceScript script = SourceScript.create(2);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    /** Paimon itself would try again; here the coordinator has to. */
    private WriteJob writeJob(AppendTable table) {
        return new WriteJob(script, table)
                .through(gate)
                .tableOption("commit.max-retries", "0")
                .option("commit-retries", "2")
                .option("commit-retry-initial-backoff", "100 ms");
    }

    @Test
    void s90ACommitThatFailsTwiceIsTriedAgainInPlace() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            gate.failBefore(2);
            long first = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(first);

            assertRestarts(job, 0);
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s91ACommitThatKeepsFailingFailsTheJobAndRecoveryCommits() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            gate.breakDown();
            long first = checkpointAfterRows(script, job, 10);
            Await.until("a first try and two more", () -> gate.failed() == 3);
            gate.repair();
            job.awaitRestoredFrom(first);
            table.awaitIdentifier(first);
            long second = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(second);

            assertRestarts(job, 1);
            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s92ACommitThatWasDoneButReportedAsFailedIsNotRepeated() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            gate.failAfter(1);
            long first = checkpointAfterRows(script, job, 10);
            long second = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(second);

            assertTrue(gate.failed() > 0, "no answer was lost");
            assertRestarts(job, 0);
            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    private static void assertRestarts(RunningJob job, int expected) throws Exception {
        assertEquals(List.of(expected, expected), job.writerAttempts());
    }
}
