package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.execution.ExecutionState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;

/** Writers reach the end of their input, in streaming mode. */
class EndOfInputJobTest extends JobTest {

    private static final long MAX = Long.MAX_VALUE;

    @Test
    void s50h21SubtasksThatEndAtDifferentCheckpoints() throws Exception {
        SourceScript script = SourceScript.create(3);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            script.allow(0, 10).end(0).allow(1, 5).awaitDrained();
            awaitEnded(job, 0);
            table.awaitIdentifier(first);
            script.allow(1, 20).end(1).allow(2, 6).awaitDrained();
            awaitEnded(job, 1);
            script.allow(2, 30).awaitDrained();
            long last = job.checkpoint();
            table.awaitIdentifier(last);
            assertTrue(!table.identifiers().contains(MAX), "the final commit came too early");
            script.allow(2, 7).end(2);
            job.awaitFinished();

            List<Long> identifiers = table.identifiers();
            assertEquals(MAX, identifiers.get(identifiers.size() - 1));
            assertEquals(37L, lastOf(table.addedRows()), "the ends of all three subtasks");
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s58AFinishedWritersRowsSurviveAGlobalFailover() throws Exception {
        SourceScript script = SourceScript.create(3);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allow(0, 10).end(0).awaitDrained();
            awaitEnded(job, 0);
            script.allow(1, 20).allow(2, 20).awaitDrained();
            long last = job.checkpoint();
            script.failJob();
            job.awaitRestoredFrom(last);
            script.allow(1, 1).allow(2, 1).end(1).end(2);
            job.awaitFinished();

            table.assertHolds(script.ids());
            assertEquals(MAX, lastOf(table.identifiers()));
        }
    }

    @ParameterizedTest(name = "checkpoint every {0} ms")
    @ValueSource(ints = {1000, 5000})
    void s61ABoundedStreamLosesNothingWhenCommitsAreSlow(int intervalMillis) throws Exception {
        SourceScript script = SourceScript.create(2).rowsPerSecond(1_000).allowAll(2_345).endAll();
        AppendTable table = createTable();
        SnapshotCommitGate gate = SnapshotCommitGate.open();
        gate.delay(Duration.ofSeconds(2));
        WriteJob writeJob =
                new WriteJob(script, table)
                        .through(gate)
                        .checkpointEvery(Duration.ofMillis(intervalMillis));
        try (RunningJob job = writeJob.submitTo(cluster)) {
            job.awaitFinished();

            table.assertHolds(script.ids());
            assertEquals(MAX, lastOf(table.identifiers()));
            long finishedMillis = job.graph().getStatusTimestamp(JobStatus.FINISHED);
            long committedMillis = lastOf(gate.renames()).endMillis;
            assertTrue(
                    committedMillis <= finishedMillis,
                    "FINISHED " + (committedMillis - finishedMillis) + " ms before the snapshot");
        }
    }

    @Test
    void s61WritersThatEndTogetherWaitForTheFinalCommit() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        SnapshotCommitGate gate = SnapshotCommitGate.open();
        WriteJob writeJob = new WriteJob(script, table).through(gate);
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.hold();
            script.allowAll(10).endAll().awaitDrained();
            Await.until("the final commit has reached the rename", () -> gate.inFlight() == 1);
            assertEquals(JobStatus.RUNNING, job.status());
            assertEquals(ExecutionState.RUNNING, job.writerState(0));
            assertEquals(ExecutionState.RUNNING, job.writerState(1));
            gate.release();
            job.awaitFinished();

            assertEquals(List.of(first, MAX), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    /** An ended subtask becomes FINISHED with the first checkpoint that completes after its end. */
    private static void awaitEnded(RunningJob job, int subtask) throws Exception {
        job.await(
                "subtask " + subtask + " is FINISHED after a checkpoint",
                () -> {
                    job.checkpointWhenPossible();
                    return job.writerState(subtask) == ExecutionState.FINISHED;
                });
    }

    private static <T> T lastOf(List<T> list) {
        return list.get(list.size() - 1);
    }
}
