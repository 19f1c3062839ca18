package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.data.RowData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;

/** Failovers after some or all writers have reached the end of their input. */
class FinishedWritersJobTest extends JobTest {

    private static final long MAX = Long.MAX_VALUE;

    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @Test
    void s60AFinishedBranchStaysAsItIsAfterAGlobalFailover() throws Exception {
        SourceScript bounded = SourceScript.create(2);
        SourceScript unbounded = SourceScript.create(2);
        AppendTable table = createTable();
        AppendTable other = AppendTable.create(directory.resolve("other"), Map.of());
        WriteJob branch = new WriteJob(bounded, table);
        StreamExecutionEnvironment environment = branch.environment(cluster);
        branch.write(WriteJob.rows(environment, bounded));
        new WriteJob(unbounded, other).write(WriteJob.rows(environment, unbounded, "unbounded"));
        try (RunningJob job = cluster.submit(environment).awaitRunning()) {
            bounded.allowAll(10).endAll();
            unbounded.allowAll(10).awaitDrained();
            job.await(
                    "the bounded branch is FINISHED",
                    () -> {
                        job.checkpointWhenPossible();
                        return job.vertices().stream()
                                .anyMatch(v -> v.getAggregateState() == ExecutionState.FINISHED);
                    });
            List<Long> identifiers = table.identifiers();
            assertTrue(identifiers.contains(MAX), "not final: " + identifiers);
            for (int failover = 0; failover < 2; failover++) {
                long last = checkpointAfterRestore(unbounded, job, 10);
                unbounded.failJob();
                job.awaitRestoredFrom(last);
            }
            other.awaitIdentifier(checkpointAfterRestore(unbounded, job, 5));
            unbounded.endAll();
            job.finishWithCheckpoints();

            assertEquals(identifiers, table.identifiers());
            table.assertHolds(bounded.ids());
            other.assertHolds(unbounded.ids());
        }
    }

    /**
     * All tasks are one region because the rows are shuffled beside the writers, so a FINISHED
     * writer is restarted with the others.
     */
    @ParameterizedTest(name = "a checkpoint before the failure: {0}")
    @ValueSource(booleans = {false, true})
    void s59s53ARegionRestartWithAWriterThatHasEnded(boolean covered) throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table);
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        DataStream<RowData> rows = WriteJob.rows(environment, script);
        writeJob.write(rows);
        rows.rebalance().sinkTo(new DiscardingSink<>());
        try (RunningJob job = cluster.submit(environment).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allow(0, 10).end(0).allow(1, 20).awaitDrained();
            if (covered) {
                awaitEnded(job, 0);
            }
            script.allow(1, 20).awaitDrained();
            script.failTask(1);
            job.awaitWriterAttempts(1, 1);
            script.awaitDrained();
            table.awaitIdentifier(checkpointAfterRowsOf(1, script, job));
            assertFalse(table.identifiers().contains(MAX), "the final commit came too early");
            script.allow(1, 5).end(1);
            job.finishWithCheckpoints();

            assertFinal(table, script);
        }
    }

    /** The task fails in the checkpoint that would have made the final commit due. */
    @Test
    void s54AWriterFailsWhileAllHaveEndedAndWaitForTheCheckpoint() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            script.allowAll(10).awaitDrained();
            script.failInSnapshot(1).endAll();
            job.await(
                    "the task has failed in a checkpoint",
                    () -> job.writerAttempts().equals(List.of(0, 1)));
            assertEquals(List.of(first), table.identifiers());
            // Flink takes a checkpoint at the end of all input, but only that one.
            job.finishWithCheckpoints();

            assertFinal(table, script);
        }
    }

    @ParameterizedTest(name = "the final commit {0}")
    @CsvSource({"hangs", "has failed"})
    void s56AGlobalFailoverBeforeTheFinalCommitIsDurable(String state) throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table).through(gate).withoutCommitRetries();
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            if (state.equals("hangs")) {
                gate.hold();
            } else {
                gate.breakDown();
            }
            script.allowAll(10).endAll().awaitDrained();
            Await.until(
                    "the final commit " + state, () -> gate.inFlight() == 1 || gate.failed() > 0);
            script.failJob();
            job.await(
                    "the job has been restored", () -> job.writerAttempts().equals(List.of(1, 1)));
            assertEquals(List.of(first), table.identifiers());
            gate.repair();
            job.finishWithCheckpoints();

            assertEquals(List.of(first, MAX), table.identifiers());
            assertFinal(table, script);
        }
    }

    @Test
    void s63TheRowsOfAFinishedWriterSurviveASecondGlobalFailover() throws Exception {
        SourceScript script = SourceScript.create(3);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            finishFirstWriter(script, job);
            for (int failover = 0; failover < 2; failover++) {
                long last = checkpointAfterRowsOf(1, script, job);
                script.failJob();
                job.awaitRestoredFrom(last);
            }
            assertFalse(table.identifiers().contains(MAX), "the final commit came too early");
            script.allow(2, 3).end(1).end(2);
            job.finishWithCheckpoints();

            assertFinal(table, script);
        }
    }

    @Test
    void s63TheRowsOfAFinishedWriterSurviveTwoRescalings() throws Exception {
        SourceScript script = SourceScript.create(3);
        AppendTable table = createTable();
        String savepoints = directory.resolve("savepoints").toUri().toString();
        String path;
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            finishFirstWriter(script, job);
            path = job.savepointWhenPossible(savepoints);
        }
        for (int parallelism : new int[] {2, 4}) {
            WriteJob writeJob = new WriteJob(script, table).parallelism(parallelism);
            try (RunningJob job = writeJob.restoreFrom(path).submitTo(cluster).awaitRunning()) {
                checkpointAfterRowsOf(1, script, job);
                assertFalse(table.identifiers().contains(MAX), "the final commit came too early");
                path = job.savepointWhenPossible(savepoints);
            }
        }
        try (RunningJob job = new WriteJob(script, table).restoreFrom(path).submitTo(cluster)) {
            script.allow(2, 3).end(1).end(2);
            job.finishWithCheckpoints();

            assertFinal(table, script);
        }
    }

    private static void finishFirstWriter(SourceScript script, RunningJob job) throws Exception {
        checkpointAfterRows(script, job, 100);
        script.allow(0, 10).end(0).awaitDrained();
        awaitEnded(job, 0);
    }

    private static long checkpointAfterRowsOf(int split, SourceScript script, RunningJob job)
            throws Exception {
        script.allow(split, 7).awaitDrained();
        return job.checkpointWhenPossible();
    }

    /** An ended subtask becomes FINISHED with the first checkpoint that completes after its end. */
    private static void awaitEnded(RunningJob job, int subtask) {
        job.await(
                "subtask " + subtask + " is FINISHED after a checkpoint",
                () -> {
                    job.checkpointWhenPossible();
                    return job.writerState(subtask) == ExecutionState.FINISHED;
                });
    }

    private static void assertFinal(AppendTable table, SourceScript script) throws Exception {
        List<Long> identifiers = table.identifiers();
        assertEquals(MAX, identifiers.get(identifiers.size() - 1));
        assertEquals(1, identifiers.stream().filter(id -> id == MAX).count());
        table.assertHolds(script.ids());
    }
}
