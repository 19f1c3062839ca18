package io.paimonwriter.coordinator.cluster;

import static org.apache.flink.runtime.execution.ExecutionState.RUNNING;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.paimon.fs.local.LocalFileIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

/** A streaming job that loses the task manager of one of its writers; there is a spare one. */
class TaskManagerLossClusterTest extends ClusterTest {

    private static final int WRITERS = 3;

    private static final Map<String, String> OPTIONS =
            Map.of(
                    "execution.checkpointing.interval", "500 ms",
                    // How long a task manager that hangs stays a member.
                    "heartbeat.interval", "1 s",
                    "heartbeat.timeout", "5 s");

    private AppendTable table;
    private GatedSource source;
    private ProcessCluster cluster;

    @BeforeEach
    void prepare() throws Exception {
        table = createTable();
        source = new GatedSource("rows", new Gates(directory.resolve("gates")), WRITERS, 1_000);
        cluster = startCluster(WRITERS + 1, 1, OPTIONS);
    }

    @Test
    void s28OnlyTheWriterOfAKilledTaskManagerRestarts() throws Exception {
        ClusterJob job = submit();
        taskManagerOf(job, 1).kill();
        awaitRestartOf1(job);
        end(job);
    }

    @Test
    void s28OnlyTheWriterOfAFrozenTaskManagerRestarts() throws Exception {
        ClusterJob job = submit();
        JavaProcess frozen = taskManagerOf(job, 1);
        frozen.freeze();
        awaitRestartOf1(job);
        // Its writer believes that it is the one until it is told otherwise.
        frozen.thaw();
        cluster.awaitTaskManagers();
        end(job);
    }

    /** Returns once all writers run and a checkpoint is in the table. */
    private ClusterJob submit() throws Exception {
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        write(source, table, LocalFileIO.create(), environment);
        ClusterJob job = cluster.submit(environment);
        job.await("a checkpoint is in the table", () -> !table.identifiers().isEmpty());
        return job;
    }

    private JavaProcess taskManagerOf(ClusterJob job, int writer) throws Exception {
        return cluster.taskManager(job.writerTaskManagers().get(writer));
    }

    private void awaitRestartOf1(ClusterJob job) {
        job.await(
                "the lost writer runs again",
                () ->
                        job.writerAttempts().get(1) == 1
                                && job.writerStates().equals(List.of(RUNNING, RUNNING, RUNNING)));
    }

    private void end(ClusterJob job) throws Exception {
        source.openAll();
        job.awaitFinished();

        table.assertHolds(source.ids());
        assertEquals(List.of(0, 1, 0), job.writerAttempts());
        assertEquals(List.of(1, 2, 1), source.starts());
    }
}
