package io.paimonwriter.coordinator.cluster;

import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.FULL;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.HANGING;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.COMMIT;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.DATA;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.METADATA;

import static org.apache.flink.runtime.execution.ExecutionState.RUNNING;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
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

    /**
     * Returns once all writers run and a checkpoint is in the table. There is a task manager to
     * spare.
     *
     * @param pauseMillis between the rows of a split; 0 for all but the last at once
     */
    private void start(long pauseMillis) throws Exception {
        Gates gates = new Gates(directory.resolve("gates"));
        table = createTable();
        source = new GatedSource("rows", gates, WRITERS, 2_000, pauseMillis);
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
        start(0);
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
        start(0);
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
        start(0);
        fileIO.begin(METADATA, FULL);
        source.open(0);
        job.await("commits have failed", () -> fileIO.hits(METADATA, FULL) >= 3);
        fileIO.end(METADATA, FULL);
        end();
        assertEquals(List.of(1, 1, 1), source.starts());
    }

    @Test
    void s28OnlyTheWriterThatMeetsAFullFileSystemRestarts() throws Exception {
        start(0);
        fileIO.begin(DATA, FULL);
        source.open(1);
        job.await("the writer has failed", () -> source.starts().get(1) >= 2);
        fileIO.end(DATA, FULL);
        end();
        assertEquals(1, source.starts().get(0));
        assertEquals(1, source.starts().get(2));
    }

    /**
     * It freezes after Paimon has found that the commit is not in the table, and before it makes
     * the snapshot. Its successor makes that commit; then it goes on where it was.
     */
    @Test
    void h08s31AJobManagerThatFreezesWithinACommitDoesNotRepeatIt() throws Exception {
        // No checkpoint is without rows.
        start(20);
        fileIO.begin(COMMIT, HANGING);
        job.await("a commit hangs", () -> fileIO.hits(COMMIT, HANGING) == 1);
        JavaProcess frozen = cluster.jobManager();
        frozen.freeze();
        fileIO.end(COMMIT, HANGING);
        int before = table.identifiers().size();
        cluster.startJobManager();
        awaitRunningAfter(List.of(2, 2, 2));
        job.await("it is committed", () -> table.identifiers().size() > before);
        frozen.thaw();
        job.await("the first goes on", () -> fileIO.ends(COMMIT, HANGING) == 1);
        end();
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
