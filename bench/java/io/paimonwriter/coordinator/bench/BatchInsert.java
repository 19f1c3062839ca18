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
import java.util.Collections;
import java.util.List;

/**
 * A batch insert of some millions of rows, once with the commit in the JobManager and once with
 * Paimon's committer, in pairs whose order alternates. Prints the times and their ratio.
 */
public final class BatchInsert {

    private static final int PARALLELISM = 2;
    private static final long ROWS = 4_000_000;
    private static final int WARM_UP_PAIRS = 1;
    private static final int PAIRS = 7;

    private final TestCluster cluster;
    private final Path warehouse;
    private int tables;

    private BatchInsert(TestCluster cluster, Path warehouse) {
        this.cluster = cluster;
        this.warehouse = warehouse;
    }

    public static void main(String[] arguments) {
        int status = 1;
        try {
            Path warehouse = Files.createTempDirectory("paimon-writer-coordinator-bench");
            try (TestCluster cluster = TestCluster.start(PARALLELISM)) {
                new BatchInsert(cluster, warehouse).run();
                status = 0;
            } finally {
                FileUtils.deleteDirectoryQuietly(warehouse.toFile());
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
        System.exit(status);
    }

    private void run() throws Exception {
        System.out.printf(
                "Batch insert of %,d rows by %d writers; %d pairs after %d to warm up%n%n",
                ROWS, PARALLELISM, PAIRS, WARM_UP_PAIRS);
        System.out.println("  coordinator   committer   ratio");
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < WARM_UP_PAIRS + PAIRS; pair++) {
            boolean coordinatorFirst = pair % 2 == 0;
            double first = secondsOf(coordinatorFirst);
            double second = secondsOf(!coordinatorFirst);
            double coordinator = coordinatorFirst ? first : second;
            double committer = coordinatorFirst ? second : first;
            boolean counts = pair >= WARM_UP_PAIRS;
            if (counts) {
                ratios.add(coordinator / committer);
            }
            System.out.printf(
                    "  %9.2f s   %7.2f s   %5.3f%s%n",
                    coordinator, committer, coordinator / committer, counts ? "" : "  (warm-up)");
        }
        Collections.sort(ratios);
        System.out.printf(
                "%nratio of the whole job, coordinator to committer: median %.3f, from %.3f to"
                        + " %.3f%n",
                ratios.get(ratios.size() / 2), ratios.get(0), ratios.get(ratios.size() - 1));
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
