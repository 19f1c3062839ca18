package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.api.common.JobStatus;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

/** A commit hangs, or its thread is hit by what no commit should meet. */
class CommitThreadJobTest extends JobTest {

    private final SourceScript script = SourceScript.create(2);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    private WriteJob writeJob(AppendTable table) {
        return new WriteJob(script, table)
                .through(gate)
                .retainCheckpointsIn(directory.resolve("checkpoints").toUri().toString());
    }

    /** Paimon itself would try again, even after an error. */
    @Test
    void s94AnErrorInACommitFailsTheJobAndRecoveryCommits() throws Exception {
        AppendTable table = createTable();
        WriteJob writeJob = writeJob(table).tableOption("commit.max-retries", "0");
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            gate.throwError();
            long first = checkpointAfterRows(script, job, 10);
            job.awaitRestoredFrom(first);
            table.awaitIdentifier(first);
            table.awaitIdentifier(checkpointAfterRows(script, job, 10));

            assertEquals(List.of(1, 1), job.writerAttempts());
            assertEquals(2, table.snapshots().size());
            table.assertHolds(script.ids());
        }
    }

    /** The thread of the loop is interrupted as well; it must not take that for its end. */
    @Test
    void s94AnInterruptInACommitLosesAndRepeatsNothing() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            gate.hold();
            long first = checkpointAfterRows(script, job, 10);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            for (Thread thread : CoordinatorThreads.alive()) {
                thread.interrupt();
            }
            Await.until("the interrupt has arrived", () -> gate.failed() == 1);
            gate.release();
            table.awaitIdentifier(first);
            job.awaitRunning();
            long second = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(second);

            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @ParameterizedTest(name = "ignores the interrupt: {0}")
    @ValueSource(booleans = {false, true})
    void s106AJobWhoseCommitHangsIsCanceledQuickly(boolean stubborn) throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            hold(stubborn);
            checkpointAfterRows(script, job, 10);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            long startNanos = System.nanoTime();
            job.cancel();
            long tookMillis = (System.nanoTime() - startNanos) / 1_000_000;

            assertEquals(JobStatus.CANCELED, job.status());
            assertTrue(tookMillis < 8_000, "canceling took " + tookMillis + " ms");
        } finally {
            gate.release();
        }
        CoordinatorThreads.awaitNone();
    }

    private void hold(boolean stubborn) {
        if (stubborn) {
            gate.holdThroughInterrupts();
        } else {
            gate.hold();
        }
    }

    @Test
    void s41ANewCoordinatorDoesNotRepeatTheHangingCommitOfTheOldOne() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.holdThroughInterrupts();
            long second = checkpointAfterRows(script, job, 50);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            job.failOverJobManager();
            job.awaitRestoredFrom(second);
            assertEquals(List.of(first), table.identifiers());
            gate.release();
            assertGoesOn(job, table, first, second);
        }
    }

    /** Two class loaders share no lock, so both commits reach the table at the same time. */
    @Test
    void s41h08ANewJobOfAnotherClassLoaderDoesNotRepeatTheHangingCommitEither() throws Exception {
        AppendTable table = createTable();
        long first;
        long second;
        String path;
        try (RunningJob job =
                writeJob(table).userJar(UserJar.url()).submitTo(cluster).awaitRunning()) {
            first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.holdThroughInterrupts();
            second = checkpointAfterRows(script, job, 50);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            path = job.latestCheckpointPath();
        }
        WriteJob resumed = writeJob(table).userJar(UserJar.url()).restoreFrom(path);
        try (RunningJob job = resumed.submitTo(cluster).awaitRunning()) {
            Await.until("both commits have reached the rename", () -> gate.inFlight() == 2);
            gate.release();
            assertGoesOn(job, table, first, second);
        } finally {
            gate.release();
        }
    }

    private void assertGoesOn(RunningJob job, AppendTable table, long first, long second)
            throws Exception {
        table.awaitIdentifier(second);
        long third = checkpointAfterRows(script, job, 25);
        table.awaitIdentifier(third);
        assertEquals(List.of(first, second, third), table.identifiers());
        table.assertHolds(script.ids());
    }
}
