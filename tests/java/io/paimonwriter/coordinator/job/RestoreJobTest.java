package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.List;

/** The whole job is restored while a completed checkpoint has not been committed. */
class RestoreJobTest extends JobTest {

    private final SourceScript script = SourceScript.create(4);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    /**
     * A commit that fails is not tried again for so long that only a recovery can have done it. (By
     * itself Paimon, too, would rename again and again.)
     */
    private WriteJob writeJob(AppendTable table) {
        return new WriteJob(script, table)
                .through(gate)
                .withoutCommitRetries()
                .retainCheckpointsIn(directory.resolve("checkpoints").toUri().toString());
    }

    @Test
    void s30ARestoreFromACheckpointCommitsItBeforeNewRows() throws Exception {
        AppendTable table = createTable();
        long first;
        long second;
        String path;
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            second = checkpointThatCannotBeCommitted(job);
            path = job.latestCheckpointPath();
        }
        assertEquals(List.of(first), table.identifiers());
        gate.repair();
        try (RunningJob job = writeJob(table).restoreFrom(path).submitTo(cluster).awaitRunning()) {
            assertRecovered(job, table, first, second);
        }
    }

    @Test
    void s30ARestoreFromACommittedSavepointCommitsNothingTwice() throws Exception {
        AppendTable table = createTable();
        String savepoints = directory.resolve("savepoints").toUri().toString();
        String path;
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            path = job.stopWithSavepoint(savepoints, false);
        }
        table.assertHolds(script.ids());
        List<Long> identifiers = table.identifiers();
        try (RunningJob job = writeJob(table).restoreFrom(path).submitTo(cluster).awaitRunning()) {
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            assertEquals(identifiers.size() + 1, table.identifiers().size());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s31AGlobalFailoverCommitsTheCompletedCheckpoint() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            long second = checkpointThatCannotBeCommitted(job);
            gate.repair();
            script.failJob();
            job.awaitRestoredFrom(second);
            assertRecovered(job, table, first, second);
        }
    }

    @Test
    void s31ANewJobManagerCommitsTheCompletedCheckpoint() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            long second = checkpointThatCannotBeCommitted(job);
            gate.repair();
            job.failOverJobManager();
            job.awaitRestoredFrom(second);
            assertRecovered(job, table, first, second);
        }
    }

    @Test
    void s31ACommitUnderWayDuringAGlobalFailoverIsNotRepeated() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.hold();
            long second = checkpointAfterRows(script, job, 50);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            script.failJob();
            job.awaitRestoredFrom(second);
            assertEquals(List.of(first), table.identifiers());
            gate.release();
            assertRecovered(job, table, first, second);
        }
    }

    @Test
    void s32RowsAfterTheLastCheckpointAreWrittenOnce() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            script.allowAll(50).awaitDrained();
            script.failJob();
            job.awaitRestoredFrom(first);
            script.awaitDrained();
            long second = job.checkpoint();
            table.awaitIdentifier(second);

            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    private long checkpointThatCannotBeCommitted(RunningJob job) throws Exception {
        gate.breakDown();
        long checkpoint = checkpointAfterRows(script, job, 50);
        Await.until("the commit has failed", () -> gate.failed() > 0);
        return checkpoint;
    }

    /**
     * Checks that {@code second} is committed without any new row or checkpoint, and then goes on.
     */
    private void assertRecovered(RunningJob job, AppendTable table, long first, long second)
            throws Exception {
        table.awaitIdentifier(second);
        assertEquals(List.of(first, second), table.identifiers());
        table.assertHolds(script.ids());
        long third = checkpointAfterRows(script, job, 25);
        table.awaitIdentifier(third);
        assertEquals(List.of(first, second, third), table.identifiers());
        assertEquals(List.of(400L, 200L, 100L), table.addedRows());
        table.assertHolds(script.ids());
    }
}
