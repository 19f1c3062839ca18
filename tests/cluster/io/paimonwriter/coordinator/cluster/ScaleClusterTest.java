package io.paimonwriter.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.job.AppendTable;

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
import java.util.TreeSet;

/** Many checkpoints. */
@Tag("one-pair")
class ScaleClusterTest extends ClusterTest {

    private static final int CHECKPOINTS = 1000;

    private AppendTable table;

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
        assertIdentifiersAscend();
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

    private void assertIdentifiersAscend() throws Exception {
        List<Long> identifiers = table.identifiers();
        assertEquals(new ArrayList<>(new TreeSet<>(identifiers)), identifiers);
    }

    /** What the newest checkpoint holds beside the files of its tasks: the coordinator's part. */
    private static long metadataBytes(ClusterJob job) throws Exception {
        return Files.size(Path.of(URI.create(job.latestCheckpoint())).resolve("_metadata"));
    }
}
