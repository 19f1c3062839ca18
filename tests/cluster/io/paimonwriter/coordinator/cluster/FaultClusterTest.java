package io.paimonwriter.coordinator.cluster;

import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.FULL;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.DATA;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.METADATA;

import static org.apache.flink.runtime.execution.ExecutionState.RUNNING;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

/** A streaming job and faults whose outcome is known, one at a time. */
@Tag("one-pair")
class FaultClusterTest extends ClusterTest {

    private static final int WRITERS = 3;

    private static final Map<String, String> OPTIONS =
            Map.of(
                    "execution.checkpointing.interval", "500 ms",
                    "restart-strategy.fixed-delay.attempts", "1000",
                    // How long a task manager that says nothing stays a member.
                    "heartbeat.interval", "1 s",
                    "heartbeat.timeout", "5 s");

    private AppendTable table;
    private GatedSource source;
    private FaultyFileIO fileIO;
    private ProcessCluster cluster;
    private ClusterJob job;

    /** All writers run, and a checkpoint is in the table. There is a task manager to spare. */
    @BeforeEach
    void prepare() throws Exception {
        Gates gates = new Gates(directory.resolve("gates"));
        table = createTable();
        source = new GatedSource("rows", gates, WRITERS, 1_000);
        fileIO = new FaultyFileIO(gates);
        cluster = startCluster(WRITERS + 1, 1, OPTIONS);
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        write(source, table, fileIO, environment);
        job = cluster.submit(environment);
        job.await("a checkpoint is in the table", () -> !table.identifiers().isEmpty());
    }

    @Test
    void s33JobManagerAndTaskManagerAreKilledTogether() throws Exception {
        JavaProcess taskManager = taskManagerOf(1);
        cluster.killJobManager();
        taskManager.kill();
        cluster.startJobManager();
        awaitRunningAfter(List.of(2, 2, 2));
        end();
    }

    /** Until it has timed out, each side believes that the other is there. */
    @Test
    void s28OnlyTheWriterBehindACutConnectionRestarts() throws Exception {
        Link link = cluster.network().taskManager(job.writerTaskManagers().get(1));
        link.cut();
        awaitRunningAfter(List.of(1, 2, 1));
        link.heal();
        cluster.awaitTaskManagers();
        end();
        assertEquals(List.of(1, 2, 1), source.starts());
    }

    /** Commits are tried again in place; no task notices. */
    @Test
    void s90CommitsWaitUntilAFullFileSystemHasRoom() throws Exception {
        fileIO.begin(METADATA, FULL);
        source.open(0);
        job.await("commits have failed", () -> fileIO.hits(METADATA, FULL) >= 3);
        fileIO.end(METADATA, FULL);
        end();
        assertEquals(List.of(1, 1, 1), source.starts());
    }

    @Test
    void s28OnlyTheWriterThatMeetsAFullFileSystemRestarts() throws Exception {
        fileIO.begin(DATA, FULL);
        source.open(1);
        job.await("the writer has failed", () -> source.starts().get(1) >= 2);
        fileIO.end(DATA, FULL);
        end();
        assertEquals(1, source.starts().get(0));
        assertEquals(1, source.starts().get(2));
    }

    private JavaProcess taskManagerOf(int writer) throws Exception {
        return cluster.taskManager(job.writerTaskManagers().get(writer));
    }

    private void awaitRunningAfter(List<Integer> starts) {
        job.await(
                "all writers run, after so many starts: " + starts,
                () ->
                        source.starts().equals(starts)
                                && job.writerStates().equals(List.of(RUNNING, RUNNING, RUNNING)));
    }

    private void end() throws Exception {
        source.openAll();
        job.awaitFinished();
        table.assertHolds(source.ids());
        table.assertIdentifiersAscend();
    }
}
