package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.flink.FlinkConnectorOptions;
import org.apache.paimon.flink.sink.FlinkSink;
import org.apache.paimon.flink.sorter.TableSortInfo;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;

import java.util.List;

/**
 * How Paimon sorts the rows of a batch job before it writes them; its builder keeps it to itself.
 */
final class Clustering {

    private Clustering() {}

    /** Whether Paimon sorts the rows of this job by these columns. */
    static boolean applies(FileStoreTable table, DataStream<?> input, String columns) {
        return !CoreOptions.clusteringColumns(columns).isEmpty()
                && !FlinkSink.isStreaming(input)
                && table.bucketMode() == BucketMode.BUCKET_UNAWARE;
    }

    /** Into as many ranges as there are writers. */
    static TableSortInfo sortInfo(
            FileStoreTable table,
            DataStream<?> input,
            String columns,
            String strategy,
            boolean sortInCluster,
            int sampleFactor) {
        List<String> sortColumns = CoreOptions.clusteringColumns(columns);
        int inputParallelism = input.getParallelism();
        int writers =
                Options.fromMap(table.options())
                        .getOptional(FlinkConnectorOptions.SINK_PARALLELISM)
                        .orElse(inputParallelism);
        int globalSampleSize = writers * sampleFactor;
        int localSampleSize =
                inputParallelism > 0
                        ? Math.max(sampleFactor, globalSampleSize / inputParallelism)
                        : writers * FlinkConnectorOptions.MIN_CLUSTERING_SAMPLE_FACTOR;
        return new TableSortInfo.Builder()
                .setSortStrategy(CoreOptions.clusteringStrategy(strategy, sortColumns.size()))
                .setSortColumns(sortColumns)
                .setSortInCluster(sortInCluster)
                .setSinkParallelism(writers)
                .setRangeNumber(writers)
                .setGlobalSampleSize(globalSampleSize)
                .setLocalSampleSize(localSampleSize)
                .build();
    }
}
