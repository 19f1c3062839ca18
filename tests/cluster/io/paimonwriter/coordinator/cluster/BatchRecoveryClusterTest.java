package io.paimonwriter.coordinator.cluster;

import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.HANGING;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.METADATA;

import static org.apache.flink.runtime.execution.ExecutionState.FINISHED;
import static org.apache.flink.runtime.execution.ExecutionState.RUNNING;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.BatchExecutionOptions;
import org.apache.flink.runtime.jobmaster.event.ExecutionVertexFinishedEvent;
import org.apache.flink.runtime.jobmaster.event.FileSystemJobEventStore;
import org.apache.flink.runtime.jobmaster.event.JobEvent;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.local.LocalFileIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** A batch job whose job manager is killed and replaced. */
class BatchRecoveryClusterTest extends ClusterTest {

    private static final int WRITERS = 4;
    private static final List<Long> ONE_FINAL_COMMIT = List.of(Long.MAX_VALUE);

    /** Every task that finishes is remembered at once, with the state of its coordinators. */
    private static final Map<String, String> RECOVERY =
            Map.of(
                    "execution.batch.job-recovery.enabled", "true",
                    "execution.batch.job-recovery.snapshot.min-pause", "0 s",
                    "execution.batch.job-recovery.previous-worker.recovery.timeout", "1 s",
                    "job-event.store.write-buffer.flush-interval", "10 ms");

    private AppendTable table;
    private GatedSource source;

    /** A task of the same job that has nothing to do with the table. */
    private GatedSource other;

    @BeforeEach
    void prepare() throws Exception {
        table = createTable();
        Gates gates = new Gates(directory.resolve("gates"));
        source = new GatedSource("rows", gates, WRITERS, 1_000);
        other = new GatedSource("other", gates, 1, 1);
    }

    @Test
    void s73FinishedWritersAreNotRunAgain() throws Exception {
        ProcessCluster cluster = startCluster(1, 5, RECOVERY);
        ClusterJob job = submit(cluster, LocalFileIO.create());
        killJobManagerBetweenEnds(cluster, job);
        job.await(
                "the unfinished writers run again",
                () -> source.starts().equals(List.of(1, 1, 2, 2)));
        killJobManagerAfterFinalCommit(cluster, job);
        end(job);

        assertWrittenOnce();
        assertEquals(List.of(1, 1, 2, 2), source.starts());
        assertEquals(List.of(0, 0, 1, 1), job.writerAttempts());
    }

    @Test
    void s74h19WithoutRecoveryEverythingIsComputedAgainAndCommittedOnce() throws Exception {
        ProcessCluster cluster = startCluster(1, 5, Map.of());
        ClusterJob job = submit(cluster, LocalFileIO.create());
        killJobManagerBetweenEnds(cluster, job);
        job.await("all writers run again", () -> source.starts().equals(List.of(2, 2, 2, 2)));
        killJobManagerAfterFinalCommit(cluster, job);
        end(job);

        assertWrittenOnce();
        assertEquals(List.of(3, 3, 3, 3), source.starts());
    }

    /**
     * The writer whose end is not recorded runs again and writes other files; those of its first
     * run are in the table. It is the last to end, for any other may finish at once.
     */
    @Test
    void s73TheWriterThatWaitedForTheFinalCommitRunsAgainForNothing() throws Exception {
        ProcessCluster cluster = startCluster(1, 5, RECOVERY);
        FaultyFileIO fileIO = new FaultyFileIO(source.gates);
        ClusterJob job = submit(cluster, fileIO);
        source.open(0);
        source.open(1);
        source.open(2);
        job.await(
                "three writers are FINISHED and one runs",
                () -> job.writerStates().equals(List.of(FINISHED, FINISHED, FINISHED, RUNNING)));
        fileIO.begin(METADATA, HANGING);
        source.openAll();
        job.await("the final commit has begun", () -> fileIO.hits(METADATA, HANGING) > 0);
        // So that the writer does not hear of the commit.
        JavaProcess writers = cluster.taskManager("task-manager-1");
        writers.freeze();
        fileIO.end(METADATA, HANGING);
        job.await("all rows are in the table", () -> table.identifiers().equals(ONE_FINAL_COMMIT));
        replaceJobManager(cluster, job, 3);
        writers.thaw();
        end(job);

        assertWrittenOnce();
        assertEquals(List.of(1, 1, 1, 2), source.starts());
        assertEquals(Set.of(), table.unreferencedFiles());
    }

    private ClusterJob submit(ProcessCluster cluster, FileIO fileIO) throws Exception {
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        environment.setRuntimeMode(RuntimeExecutionMode.BATCH);
        write(source, table, fileIO, environment);
        other.rows(environment).sinkTo(new DiscardingSink<>()).setParallelism(1);
        return cluster.submit(environment);
    }

    /** The job manager dies when two writers have ended and two are in the middle of their rows. */
    private void killJobManagerBetweenEnds(ProcessCluster cluster, ClusterJob job)
            throws Exception {
        source.open(0);
        source.open(1);
        awaitHalfFinished(job);
        replaceJobManager(cluster, job, 2);
    }

    private static void awaitHalfFinished(ClusterJob job) {
        job.await(
                "two writers are FINISHED and two run",
                () -> job.writerStates().equals(List.of(FINISHED, FINISHED, RUNNING, RUNNING)));
    }

    /** The job manager dies when all is in the table and only another task of the job runs. */
    private void killJobManagerAfterFinalCommit(ProcessCluster cluster, ClusterJob job)
            throws Exception {
        source.openAll();
        job.await(
                "all writers are FINISHED",
                () -> job.writerStates().equals(List.of(FINISHED, FINISHED, FINISHED, FINISHED)));
        assertEquals(ONE_FINAL_COMMIT, table.identifiers());
        replaceJobManager(cluster, job, WRITERS);
    }

    private static void replaceJobManager(ProcessCluster cluster, ClusterJob job, int finishedTasks)
            throws Exception {
        if (cluster.configuration().get(BatchExecutionOptions.JOB_RECOVERY_ENABLED)) {
            job.await(
                    "the ends of the tasks are in the job's event store",
                    () -> recordedEnds(cluster, job) == finishedTasks);
        }
        cluster.killJobManager();
        cluster.startJobManager();
    }

    /** How many ends of tasks a job manager that takes over would find. */
    private static int recordedEnds(ProcessCluster cluster, ClusterJob job) throws Exception {
        FileSystemJobEventStore store =
                new FileSystemJobEventStore(job.id(), cluster.configuration());
        store.start();
        try {
            int ends = 0;
            for (JobEvent event = store.readEvent(); event != null; event = store.readEvent()) {
                if (event instanceof ExecutionVertexFinishedEvent) {
                    ends++;
                }
            }
            return ends;
        } finally {
            store.stop(false);
        }
    }

    private void end(ClusterJob job) throws Exception {
        source.openAll();
        other.openAll();
        job.awaitFinished();
    }

    private void assertWrittenOnce() throws Exception {
        table.assertHolds(source.ids());
        assertEquals(ONE_FINAL_COMMIT, table.identifiers());
    }
}
