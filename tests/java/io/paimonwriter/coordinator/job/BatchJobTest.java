package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Jobs without checkpoints: what they write is one commit, when all input has ended. */
class BatchJobTest extends JobTest {

    private static final List<Long> ONE_COMMIT = List.of(Long.MAX_VALUE);

    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @Test
    void s70TestCheckpointDisabledCommitsWhenAllSubtasksEndInput() throws Exception {
        SourceScript script = SourceScript.create(2).bounded();
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table).withoutCheckpoints().through(gate);
        gate.hold();
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            script.allow(0, 100).end(0);
            job.await(
                    "the first subtask is FINISHED",
                    () -> job.writerState(0) == ExecutionState.FINISHED);
            assertEquals(0, gate.inFlight(), "the other subtask goes on");
            script.allow(1, 50).end(1);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            assertEquals(JobStatus.RUNNING, job.status());
            assertEquals(ExecutionState.RUNNING, job.writerState(1));
            gate.release();
            job.awaitFinished();

            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    /** The writers come after one another, four times as many as there are slots. */
    @Test
    void s70TestCoordinatorCommitEndInputInBatchMode() throws Exception {
        SourceScript script = SourceScript.create(8).bounded().allowAll(100).endAll();
        AppendTable table = createTable();
        gate.delay(Duration.ofSeconds(2));
        WriteJob writeJob =
                new WriteJob(script, table)
                        .batch()
                        .tableOption("write-only", "false")
                        .through(gate);
        try (TestCluster small = TestCluster.start(2);
                RunningJob job = writeJob.submitTo(small)) {
            job.awaitFinished();

            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
            long finishedMillis = job.graph().getStatusTimestamp(JobStatus.FINISHED);
            long committedMillis = gate.renames().get(0).endMillis;
            assertTrue(
                    committedMillis <= finishedMillis,
                    "FINISHED " + (committedMillis - finishedMillis) + " ms before the snapshot");
        }
    }

    /** It fails after it was done, or before; either way Paimon's filter decides. */
    @ParameterizedTest(name = "the commit is done and reported as failed: {0}")
    @ValueSource(booleans = {false, true})
    void s90s92s77AnOverwriteThatFailedIsTriedAgainInPlace(boolean done) throws Exception {
        SourceScript script = SourceScript.create(2).bounded().allowAll(100).endAll();
        AppendTable table = createTable();
        table.append(77_000_000L);
        if (done) {
            gate.failAfter(1);
        } else {
            gate.failBefore(1);
        }
        WriteJob writeJob =
                new WriteJob(script, table)
                        .batch()
                        .through(gate)
                        .tableOption("tag.automatic-creation", "batch")
                        .tableOption("commit.max-retries", "0")
                        .option("commit-retry-initial-backoff", "100 ms")
                        .sink(FlinkSinkBuilder::overwrite);
        try (RunningJob job = writeJob.submitTo(cluster)) {
            job.awaitFinished();

            assertEquals(1, gate.failed());
            assertEquals(List.of(0, 0), job.writerAttempts());
            assertEquals(2, table.snapshots().size());
            assertEquals(List.of(2L), List.copyOf(table.tags().values()));
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s75TheSchedulerChoosesTheParallelismOfTheWritersLate() throws Exception {
        SourceScript script = SourceScript.create(4).bounded().allowAll(100).endAll();
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table).batch();
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        writeJob.write(WriteJob.rows(environment, script).rebalance().filter(row -> true));
        try (RunningJob job = cluster.submit(environment)) {
            job.awaitFinished();

            assertEquals(2, job.vertices().size());
            assertEquals(1, job.writerVertex().getParallelism(), "so few rows need no more");
            assertEquals(ONE_COMMIT, table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    private static Configuration speculativeExecution() {
        return Configuration.fromMap(
                Map.of(
                        "execution.batch.speculative.enabled", "true",
                        "execution.batch.speculative.block-slow-node-duration", "0 ms",
                        "slow-task-detector.check-interval", "100 ms",
                        "slow-task-detector.execution-time.baseline-ratio", "0.5",
                        "slow-task-detector.execution-time.baseline-lower-bound", "1 ms"));
    }

    /**
     * A writer of Paimon's in the same job, which is as slow and becomes so later, shows when Flink
     * has looked for slow tasks and runs second attempts of them.
     */
    @Test
    void s76ASlowWriterGetsNoSecondAttempt() throws Exception {
        SourceScript script = SourceScript.create(3).bounded().allowAll(100).end(0).end(1);
        SourceScript paimons = SourceScript.create(3).bounded().allowAll(100);
        AppendTable table = createTable();
        AppendTable other = AppendTable.create(directory.resolve("other"), Map.of());
        WriteJob writeJob = new WriteJob(script, table).batch();
        try (TestCluster speculative = TestCluster.start(10, speculativeExecution())) {
            StreamExecutionEnvironment environment = writeJob.environment(speculative);
            writeJob.write(WriteJob.rows(environment, script));
            new WriteJob(paimons, other)
                    .batch()
                    .withPaimonsCommitter()
                    .write(WriteJob.rows(environment, paimons, "paimons"));
            try (RunningJob job = speculative.submit(environment)) {
                job.await(
                        "two of the coordinator's writers are FINISHED",
                        () -> hasFinished(job, 0) && hasFinished(job, 1));
                paimons.end(0).end(1);
                job.await(
                        "a second attempt of Paimon's slow writer",
                        () -> attemptsOfSlowWriter(job, "scripted -> Map -> Writer") == 2);
                assertEquals(1, attemptsOfSlowWriter(job, "Coordinated Writer"));
                script.end(2);
                paimons.end(2);
                job.awaitFinished();
            }
        }
        table.assertHolds(script.ids());
        other.assertHolds(paimons.ids());
        assertEquals(ONE_COMMIT, table.identifiers());
        assertEquals(ONE_COMMIT, other.identifiers());
    }

    private static boolean hasFinished(RunningJob job, int coordinatedWriter) throws Exception {
        return job.vertex("Coordinated Writer")
                        .getTaskVertices()[coordinatedWriter]
                        .getExecutionState()
                == ExecutionState.FINISHED;
    }

    private static int attemptsOfSlowWriter(RunningJob job, String writer) throws Exception {
        return job.vertex(writer).getTaskVertices()[2].getCurrentExecutions().size();
    }
}
