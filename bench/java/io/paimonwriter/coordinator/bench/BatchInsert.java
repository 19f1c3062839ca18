package io.paimonwriter.coordinator.bench;

import io.paimonwriter.coordinator.job.AppendTable;
import io.paimonwriter.coordinator.job.TestCluster;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.util.FileUtils;
import org.apache.paimon.Snapshot;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A batch insert of some millions of rows, once with the commit in the JobManager and twice with
 * Paimon's committer, in rounds whose order rotates. Prints the times of each round, the ratio of
 * the two, and that of the committer to itself, which is the noise.
 */
public final class BatchInsert {

    private static final int PARALLELISM = 2;
    private static final long ROWS = 12_000_000;
    private static final int WARM_UP_ROUNDS = 1;
    private static final int ROUNDS = 5;

    /** The sides of a round: the coordinator, the committer, and the committer once more. */
    private static final int SIDES = 3;

    private static final int COORDINATOR = 0;

    private final TestCluster cluster;
    private final Path warehouse;
    private int tables;

    private BatchInsert(TestCluster cluster, Path warehouse) {
        this.cluster = cluster;
        this.warehouse = warehouse;
    }

    /**
     * Runs all rounds.
     *
     * @return for each round the seconds of the coordinator, of the committer, and of the committer
     *     once more
     */
    public static List<double[]> measure() throws Exception {
        Path warehouse = Files.createTempDirectory("paimon-writer-coordinator-bench");
        try (TestCluster cluster = TestCluster.start(PARALLELISM)) {
            return new BatchInsert(cluster, warehouse).run();
        } finally {
            FileUtils.deleteDirectoryQuietly(warehouse.toFile());
        }
    }

    private List<double[]> run() throws Exception {
        List<double[]> rounds = new ArrayList<>();
        System.out.printf(
                "Batch insert of %,d rows by %d writers; %d rounds after %d to warm up%n%n",
                ROWS, PARALLELISM, ROUNDS, WARM_UP_ROUNDS);
        System.out.println("  coordinator   committer   again    ratio   noise");
        for (int round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
            double[] seconds = new double[SIDES];
            for (int turn = 0; turn < SIDES; turn++) {
                int side = (round + turn) % SIDES;
                seconds[side] = secondsOf(side == COORDINATOR);
            }
            double committer = (seconds[1] + seconds[2]) / 2;
            if (round >= WARM_UP_ROUNDS) {
                rounds.add(seconds);
            }
            System.out.printf(
                    "  %9.2f s   %7.2f s   %4.2f s   %5.3f   %5.3f%s%n",
                    seconds[COORDINATOR],
                    seconds[1],
                    seconds[2],
                    seconds[COORDINATOR] / committer,
                    seconds[2] / seconds[1],
                    round >= WARM_UP_ROUNDS ? "" : "   (warm-up)");
        }
        return rounds;
    }

    /** From the submission to FINISHED, with the rows in the table checked. */
    private double secondsOf(boolean coordinated) throws Exception {
        String name = "t" + tables++;
        Configuration configuration = cluster.jobConfiguration(PARALLELISM, Duration.ofMinutes(10));
        configuration.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.BATCH);
        StreamExecutionEnvironment environment = new StreamExecutionEnvironment(configuration);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.executeSql(
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon-coordinated', 'warehouse' ="
                                + " '%s')",
                        warehouse.toUri()));
        tables.executeSql(
                String.format(
                        "CREATE TABLE lake.`default`.%s (id BIGINT, payload STRING) WITH ('bucket'"
                                + " = '-1', 'sink.committer-coordinator-operator.enabled' = '%b')",
                        name, coordinated));
        tables.createTemporaryView("numbers", environment.fromSequence(0, ROWS - 1));
        long startNanos = System.nanoTime();
        tables.executeSql(
                        String.format(
                                "INSERT INTO lake.`default`.%s SELECT f0, CONCAT('payload of row ',"
                                        + " CAST(f0 AS STRING)) FROM numbers",
                                name))
                .await();
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        Path table = warehouse.resolve("default.db").resolve(name);
        List<Snapshot> snapshots = AppendTable.at(table).snapshots();
        long rows = snapshots.get(snapshots.size() - 1).totalRecordCount();
        if (snapshots.size() != 1 || rows != ROWS) {
            throw new IllegalStateException(
                    String.format("found %d rows in %d snapshots", rows, snapshots.size()));
        }
        FileUtils.deleteDirectoryQuietly(table.toFile());
        return seconds;
    }
}
