package io.paimonwriter.coordinator.cluster;

import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.HANGING;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.COMMIT;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.paimon.Snapshot;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Writers whose report of one checkpoint is larger than what Flink's RPC carries at once. */
@Tag("one-pair")
class LargeReportsClusterTest extends ClusterTest {

    private static final int WRITERS = 2;
    private static final int ROWS = 200;

    /**
     * Each row is a file, in a partition of its own, and each file reports its full payload twice.
     */
    private static final Map<String, String> WIDE_REPORTS =
            Map.of("file.format", "avro", "metadata.stats-mode", "full");

    @Test
    void s11ReportsAboveFlinksDefaultFrameSizeArriveAlsoAfterALoss() throws Exception {
        writeAndLoseOneWriter(Map.of(), 10 << 20, 60_000);
    }

    /** The default chunk size is twice this frame size, and nobody has to know. */
    @Test
    void s11ChunksFitAFrameSizeBelowTheChunkSize() throws Exception {
        writeAndLoseOneWriter(Map.of("pekko.framesize", "1048576b"), 1 << 20, 15_000);
    }

    private void writeAndLoseOneWriter(
            Map<String, String> frameSize, int frameBytes, int payloadBytes) throws Exception {
        AppendTable table = AppendTable.create(directory.resolve("table"), WIDE_REPORTS, "id");
        Gates gates = new Gates(directory.resolve("gates"));
        GatedSource source = new GatedSource("rows", gates, WRITERS, ROWS);
        FaultyFileIO fileIO = new FaultyFileIO(gates);
        fileIO.begin(COMMIT, HANGING);
        Map<String, String> options = new HashMap<>(frameSize);
        options.put("execution.checkpointing.interval", "1 s");
        options.put("execution.checkpointing.dir", directory.resolve("chk").toUri().toString());
        options.put("heartbeat.interval", "1 s");
        options.put("heartbeat.timeout", "5 s");
        ProcessCluster cluster = startCluster(WRITERS + 1, 1, options);
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        write(wide(source.rows(environment), payloadBytes), table.open(fileIO), WRITERS);
        ClusterJob job = cluster.submit(environment);
        job.await(
                "all rows but the last are in completed checkpoints",
                () ->
                        fileIO.hits(COMMIT, HANGING) > 0
                                && stateBytes(job) > WRITERS * ROWS * payloadBytes);

        // Its state has to be replayed, because nothing of it is in the table.
        cluster.taskManager(job.writerTaskManagers().get(1)).kill();
        job.await("the lost writer runs again", () -> source.starts().equals(List.of(1, 2)));
        assertEquals(List.of(), table.identifiers());
        fileIO.end(COMMIT, HANGING);
        source.openAll();
        job.awaitFinished();

        table.assertHolds(source.ids());
        assertEquals(List.of(0, 1), job.writerAttempts());
        long mostRows =
                table.snapshots().stream().mapToLong(Snapshot::deltaRecordCount).max().orElse(0);
        long reportBytes = mostRows / WRITERS * 2 * payloadBytes;
        System.out.printf("reports of at least %d bytes, frames of %d%n", reportBytes, frameBytes);
        assertTrue(reportBytes > frameBytes, () -> "the largest report: " + reportBytes);
    }

    private static long stateBytes(ClusterJob job) throws Exception {
        var latest = job.checkpoints().getLatestCheckpoints().getCompletedCheckpointStatistics();
        return latest == null ? 0 : latest.getStateSize();
    }

    private static DataStream<RowData> wide(DataStream<RowData> rows, int payloadBytes) {
        return rows.map(
                        row ->
                                (RowData)
                                        GenericRowData.of(
                                                row.getLong(0),
                                                row.getInt(1),
                                                StringData.fromString("x".repeat(payloadBytes))))
                .returns(rows.getType())
                .setParallelism(WRITERS);
    }
}
