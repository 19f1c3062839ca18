package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder;
import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.util.FileUtils;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.table.FileStoreTable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A cluster of processes for each test, and a directory that is kept until the next run: {@code
 * cluster/CLASS/TEST} below the build folder.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ClusterTest {

    Path directory;
    private ProcessCluster cluster;

    @RegisterExtension
    final AfterTestExecutionCallback logs =
            context -> {
                if (context.getExecutionException().isPresent() && cluster != null) {
                    cluster.printLogTails();
                }
            };

    @BeforeEach
    void makeDirectory(TestInfo test) throws Exception {
        String name = test.getTestMethod().orElseThrow().getName();
        directory = Path.of("cluster", getClass().getSimpleName(), name).toAbsolutePath();
        FileUtils.deleteDirectory(directory.toFile());
    }

    @AfterEach
    void closeCluster() throws Exception {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** Starts this test's cluster, with options of Flink's own. */
    ProcessCluster startCluster(int taskManagers, int slots, Map<String, String> options)
            throws Exception {
        cluster = ProcessCluster.start(directory, taskManagers, slots, options);
        return cluster;
    }

    AppendTable createTable() throws Exception {
        return AppendTable.create(directory.resolve("table"), Map.of());
    }

    /** Puts one writer of the table behind each split of the source. */
    static void write(
            GatedSource source,
            AppendTable table,
            FileIO fileIO,
            StreamExecutionEnvironment environment) {
        write(source.rows(environment), table.open(fileIO), source.splitCount);
    }

    /** Puts the writers of the table behind these rows. */
    static void write(DataStream<RowData> rows, FileStoreTable table, int parallelism) {
        Map<String, String> enabled = Map.of("sink.committer-coordinator-operator.enabled", "true");
        new PaimonCoordinatedSinkBuilder(table.copy(enabled))
                .forRowData(rows)
                .parallelism(parallelism)
                .build();
    }
}
