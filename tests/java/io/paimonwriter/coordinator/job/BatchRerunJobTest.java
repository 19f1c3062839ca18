package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Semaphore;

/**
 * Jobs without checkpoints whose tasks run again, before their one commit or after it, or with
 * another job manager.
 */
class BatchRerunJobTest extends JobTest {

    private static final List<Long> ONE_COMMIT = List.of(Long.MAX_VALUE);

    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @Test
    void s71AWriterThatHadEndedRunsAgainBeforeTheCommit() throws Exception {
        SourceScript script = SourceScript.create(2).bounded();
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).batch().submitTo(cluster)) {
            script.allow(0, 100).end(0).allow(1, 50).awaitDrained();
            job.await(
                    "the first subtask is FINISHED",
                    () -> job.writerState(0) == ExecutionState.FINISHED);
            script.failJob();
            job.await("all run again", () -> job.writerAttempts().equals(List.of(1, 1)));
            script.end(1);
            job.awaitFinished();

            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
            assertFalse(table.unreferencedFiles().isEmpty(), "of the first attempt");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"BATCH", "STREAMING"})
    void s71ATaskThatFailsBeginsFromNothing(String mode) throws Exception {
        SourceScript script = SourceScript.create(2).bounded();
        AppendTable table = createTable();
        WriteJob writeJob =
                new WriteJob(script, table)
                        .withoutCheckpoints()
                        .flinkOption("execution.runtime-mode", mode);
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            script.allowAll(100).awaitDrained();
            script.failTask(1);
            job.awaitWriterAttempts(0, 1);
            script.allowAll(10).endAll();
            job.awaitFinished();

            assertEquals(List.of(0, 1), job.writerAttempts());
            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    /** The rows in front of the writers are lost, so one that is FINISHED must run again. */
    @Test
    void s71AFinishedWriterRunsAgainWithItsRegion() throws Exception {
        SourceScript script = SourceScript.create(2).bounded().allowAll(100).endAll();
        AppendTable table = createTable();
        WriteJob writeJob =
                new WriteJob(script, table).batch().sink(builder -> builder.parallelism(2));
        Turnstile.OPEN.drainPermits();
        try (TestCluster own = TestCluster.start(4)) {
            StreamExecutionEnvironment environment = writeJob.environment(own);
            DataStream<RowData> rows = WriteJob.rows(environment, script);
            writeJob.write(
                    rows.rebalance()
                            .map(new Turnstile())
                            .returns(rows.getType())
                            .setParallelism(2));
            try (RunningJob job = own.submit(environment)) {
                job.await(
                        "the first writer is FINISHED",
                        () ->
                                job.vertices().size() == 2
                                        && job.writerState(0) == ExecutionState.FINISHED);
                own.flink().terminateTaskManager(0).get();
                own.flink().startTaskManager();
                job.await(
                        "the first writer is FINISHED again",
                        () ->
                                job.writerAttempts().get(0) == 1
                                        && job.writerState(0) == ExecutionState.FINISHED);
                assertEquals(List.of(), table.identifiers());
                Turnstile.OPEN.release(1_000_000);
                job.awaitFinished();

                assertEquals(ONE_COMMIT, table.identifiers());
                table.assertHolds(script.ids());
            }
        }
    }

    /** Lets the rows of all but the second subtask pass. */
    private static final class Turnstile extends RichMapFunction<RowData, RowData> {

        private static final long serialVersionUID = 1L;

        private static final Semaphore OPEN = new Semaphore(0);

        @Override
        public RowData map(RowData row) throws Exception {
            if (getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 1) {
                OPEN.acquire();
            }
            return row;
        }
    }

    /** What the first attempt reported arrives when the next one has reported already. */
    @Test
    void s71h07AWriterFailsAfterItsEndWhoseReportArrivesLate() throws Exception {
        SourceScript script = SourceScript.create(2).bounded();
        AppendTable table = createTable();
        LossyLink link = LossyLink.create();
        link.delayEventsOf(0);
        WriteJob writeJob =
                new WriteJob(script, table).batch().option("confirm-timeout", "1 s").through(link);
        try (RunningJob job = writeJob.submitTo(cluster)) {
            script.allowAll(100).endAll();
            job.awaitFinished();

            assertEquals(0, link.lost(), "all have arrived late");
            assertEquals(List.of(1, 0), job.writerAttempts());
            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @ParameterizedTest(name = "a new job manager: {0}")
    @ValueSource(booleans = {false, true})
    void s72h09WritersRunAgainAfterTheFinalCommit(boolean newJobManager) throws Exception {
        SourceScript script = SourceScript.create(2).bounded().allowAll(100).endAll();
        SourceScript other = SourceScript.create(1).bounded();
        AppendTable table = createTable();
        AppendTable otherTable = AppendTable.create(directory.resolve("other"), Map.of());
        WriteJob writeJob = new WriteJob(script, table).batch();
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        writeJob.write(WriteJob.rows(environment, script));
        new WriteJob(other, otherTable).write(WriteJob.rows(environment, other, "other"));
        try (RunningJob job = cluster.submit(environment)) {
            table.awaitIdentifier(Long.MAX_VALUE);
            other.allowAll(10).awaitDrained();
            if (newJobManager) {
                job.failOverJobManager();
            } else {
                other.failJob();
                job.await(
                        "all run again",
                        () -> job.writerAttempts().stream().allMatch(attempt -> attempt == 1));
            }
            other.endAll();
            job.awaitFinished();

            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
            assertEquals(Set.of(), table.unreferencedFiles(), "the second files are removed");
            otherTable.assertHolds(other.ids());
        }
    }

    @ParameterizedTest(name = "when the job manager is lost the commit {0}")
    @CsvSource({"is not due", "hangs"})
    void s74WithoutItsJobManagerAJobIsComputedAgain(String state) throws Exception {
        SourceScript script = SourceScript.create(2).bounded();
        AppendTable table = createTable();
        gate.hold();
        WriteJob writeJob = new WriteJob(script, table).batch().through(gate);
        try (RunningJob job = writeJob.submitTo(cluster)) {
            script.allowAll(100).end(0);
            job.await(
                    "the first subtask is FINISHED",
                    () -> job.writerState(0) == ExecutionState.FINISHED);
            if (state.equals("hangs")) {
                script.end(1);
                Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            }
            job.failOverJobManager();
            gate.release();
            script.end(1);
            job.awaitFinished();

            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    /**
     * The same job graph has the same commit user. What another job has written in between is not
     * replaced either.
     */
    @ParameterizedTest(name = "overwrite: {0}")
    @ValueSource(booleans = {false, true})
    void s74h19s77s78TheSameJobSubmittedAgainWritesNothingButItsTag(boolean overwrite)
            throws Exception {
        SourceScript script = SourceScript.create(2).bounded().allowAll(100).endAll();
        AppendTable table = createTable();
        WriteJob writeJob =
                new WriteJob(script, table).batch().tableOption("tag.automatic-creation", "batch");
        if (overwrite) {
            writeJob.sink(FlinkSinkBuilder::overwrite);
        }
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        writeJob.write(WriteJob.rows(environment, script));
        StreamGraph graph = environment.getStreamGraph();
        try (RunningJob job = runAgain(environment, graph)) {
            job.awaitFinished();
        }
        table.assertHolds(script.ids());
        assertEquals(List.of(1L), List.copyOf(table.tags().values()));
        table.append(77_000_000L);
        table.deleteTags();
        try (RunningJob job = runAgain(environment, graph)) {
            job.awaitFinished();
        }
        TreeSet<Long> expected = script.ids();
        expected.add(77_000_000L);
        table.assertHolds(expected);
        assertEquals(2, table.snapshots().size());
        assertEquals(List.of(2L), List.copyOf(table.tags().values()), "made up for, as Paimon's");
        assertEquals(Set.of(), table.unreferencedFiles());
    }

    /** The first run may have been lost between the snapshot and the marks of its partitions. */
    @ParameterizedTest(name = "overwrite: {0}")
    @ValueSource(booleans = {false, true})
    void s74s77WhatFollowsACommitIsMadeUpForWhenItIsFoundDone(boolean overwrite) throws Exception {
        SourceScript script = SourceScript.create(2).bounded().allow(1, 100).endAll();
        Path path = directory.resolve("table");
        AppendTable table = AppendTable.create(path, Map.of(), "subtask");
        table.appendTo(1, 77_000_000L);
        WriteJob writeJob =
                new WriteJob(script, table)
                        .batch()
                        .tableOption("partition.end-input-to-done", "true")
                        .tableOption("partition.mark-done-action", "success-file");
        if (overwrite) {
            writeJob.sink(FlinkSinkBuilder::overwrite);
        }
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        writeJob.write(WriteJob.rows(environment, script));
        StreamGraph graph = environment.getStreamGraph();
        Path done = path.resolve("subtask=1").resolve("_SUCCESS");
        for (int run = 0; run < 2; run++) {
            try (RunningJob job = runAgain(environment, graph)) {
                job.awaitFinished();
            }
            Files.delete(done);
            assertEquals(2, table.snapshots().size());
            assertEquals(overwrite ? 100 : 101, table.rows().size());
        }
    }

    private static RunningJob runAgain(StreamExecutionEnvironment environment, StreamGraph graph)
            throws Exception {
        StreamGraphs.renewJobId(graph);
        return cluster.attach(environment.executeAsync(graph));
    }
}
