package io.paimonwriter.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.paimon.fs.local.LocalFileIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Many writers, and many checkpoints. */
@Tag("one-pair")
class ScaleClusterTest extends ClusterTest {

    private static final int WRITERS = 200;
    private static final int CHECKPOINTS = 1000;

    private AppendTable table;

    @Test
    void s28OfTwoHundredWritersOnlyTheHundredLostOnesRestart() throws Exception {
        GatedSource source = source(WRITERS, 600, 100);
        ProcessCluster cluster =
                startCluster(
                        2,
                        WRITERS / 2,
                        Map.of(
                                "execution.checkpointing.interval", "1 s",
                                "heartbeat.interval", "1 s",
                                "taskmanager.memory.flink.size", "1536m",
                                // Starting them all takes every processor for seconds.
                                "high-availability.zookeeper.client.session-timeout", "30 s",
                                "high-availability.zookeeper.client.connection-timeout", "30 s",
                                // Each lost region counts.
                                "restart-strategy.fixed-delay.attempts", "1000"));
        ClusterJob job = submit(source, cluster);
        awaitSnapshots(job, 2);
        List<Integer> expected = new ArrayList<>();
        for (String taskManager : job.writerTaskManagers()) {
            expected.add(taskManager.equals("task-manager-1") ? 1 : 0);
        }
        cluster.startTaskManager("spare");
        cluster.awaitTaskManagers();
        cluster.taskManager("task-manager-1").kill();
        job.await(
                "the lost writers run again",
                () ->
                        job.writerAttempts().equals(expected)
                                && job.writerStates().stream()
                                        .allMatch(state -> state == ExecutionState.RUNNING));
        awaitSnapshots(job, table.identifiers().size() + 2);
        source.openAll();
        job.awaitFinished();

        table.assertHolds(source.ids());
        table.assertIdentifiersAscend();
        assertEquals(1, table.commitUsers().size());
        assertEquals(expected, job.writerAttempts());
    }

    @Test
    void s06AThousandCheckpointsInARowLeaveNothingBehindInTheCoordinator() throws Exception {
        GatedSource source = source(2, 20_000, 10);
        ProcessCluster cluster =
                startCluster(
                        1,
                        2,
                        Map.of(
                                "execution.checkpointing.interval", "10 ms",
                                "execution.checkpointing.num-retained", "10",
                                "execution.checkpointing.dir",
                                        directory.resolve("checkpoints").toUri().toString()));
        ClusterJob job = submit(source, cluster);
        List<Long> sizes = new ArrayList<>();
        for (int count = CHECKPOINTS / 10; count <= CHECKPOINTS; count += CHECKPOINTS / 10) {
            int wanted = count;
            job.await(
                    count + " checkpoints have completed",
                    () ->
                            job.checkpoints().getCounts().getNumberCompletedCheckpoints() >= wanted
                                    && sizes.add(metadataBytes(job)));
            cluster.jobManager().jcmd("GC.run");
            System.out.printf(
                    "%d checkpoints, %d snapshots; metadata %d bytes; job manager: %s%n",
                    count,
                    table.identifiers().size(),
                    sizes.get(sizes.size() - 1),
                    Footprint.of(cluster.jobManager()));
        }
        source.openAll();
        job.awaitFinished();

        table.assertHolds(source.ids());
        table.assertIdentifiersAscend();
        assertEquals(1, table.commitUsers().size());
        assertTrue(sizes.stream().allMatch(size -> size < 64 << 10), () -> "" + sizes);
    }

    private GatedSource source(int splits, long rowsPerSplit, long pauseMillis) throws Exception {
        table = createTable();
        Gates gates = new Gates(directory.resolve("gates"));
        return new GatedSource("rows", gates, splits, rowsPerSplit, pauseMillis);
    }

    private ClusterJob submit(GatedSource source, ProcessCluster cluster) throws Exception {
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        write(source, table, LocalFileIO.create(), environment);
        return cluster.submit(environment);
    }

    private void awaitSnapshots(ClusterJob job, int count) {
        job.await(count + " snapshots", () -> table.identifiers().size() >= count);
    }

    /** What the newest checkpoint holds beside the files of its tasks: the coordinator's part. */
    private static long metadataBytes(ClusterJob job) throws Exception {
        return Files.size(Path.of(URI.create(job.latestCheckpoint())).resolve("_metadata"));
    }
}
