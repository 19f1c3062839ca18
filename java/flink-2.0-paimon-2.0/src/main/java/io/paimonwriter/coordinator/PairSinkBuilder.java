package io.paimonwriter.coordinator;

import static org.apache.paimon.flink.sink.FlinkStreamPartitioner.partition;

import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.source.legacy.InputFormatSourceFunction;
import org.apache.flink.streaming.api.transformations.LegacySourceTransformation;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.CoreOptions.PartitionSinkStrategy;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.FlinkConnectorOptions;
import org.apache.paimon.flink.FlinkRowWrapper;
import org.apache.paimon.flink.sink.FlinkSink;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.flink.sink.RowDataHashPartitionChannelComputer;
import org.apache.paimon.flink.sink.partition.DataStatisticsOperatorFactory;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecord;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecordChannelComputer;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecordTypeInfo;
import org.apache.paimon.flink.sorter.TableSortInfo;
import org.apache.paimon.flink.sorter.TableSorter;
import org.apache.paimon.flink.utils.InternalTypeInfo;
import org.apache.paimon.flink.utils.ParallelismUtils;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.BlobDescriptorReaderFactory;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.Table;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.UriReaderFactory;

import java.util.Collections;
import java.util.List;
import java.util.Set;

import javax.annotation.Nullable;

/**
 * What the sink builder needs of this pair of Flink and Paimon: the steps between the input and the
 * sink of an append table, which Paimon's builder keeps to itself.
 */
abstract class PairSinkBuilder extends FlinkSinkBuilder {

    PairSinkBuilder(Table table) {
        super(table);
    }

    /**
     * Whether a source reads an input format, as SQL's VALUES does. It ends, but in streaming mode
     * Flink does not say so.
     */
    @SuppressWarnings("deprecation")
    static boolean readsInputFormat(Transformation<?> source) {
        return source instanceof LegacySourceTransformation
                && ((LegacySourceTransformation<?>) source).getOperator().getUserFunction()
                        instanceof InputFormatSourceFunction;
    }

    /** Whether Paimon sorts the rows of this job by these columns before it writes them. */
    boolean clusters(DataStream<?> input, String columns) {
        return !CoreOptions.clusteringColumns(columns).isEmpty()
                && !FlinkSink.isStreaming(input)
                && table.bucketMode() == BucketMode.BUCKET_UNAWARE;
    }

    /** How Paimon sorts them: into as many ranges as there are writers. */
    TableSortInfo sortInfo(
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

    /** The rows, shuffled into ranges and sorted inside each. */
    DataStream<RowData> sorted(DataStream<RowData> input, TableSortInfo sortInfo) {
        return TableSorter.getSorter(
                        input.getExecutionEnvironment(),
                        input,
                        table.coreOptions(),
                        table.rowType(),
                        sortInfo)
                .sort();
    }

    /** The rows in Paimon's form. */
    DataStream<InternalRow> internalRows(DataStream<RowData> input) {
        CoreOptions options = table.coreOptions();
        RowType rowType = table.rowType();
        UriReaderFactory blobReaders = BlobDescriptorReaderFactory.create(table);
        boolean nullForMissingFile = options.blobWriteNullOnMissingFile();
        boolean nullForFailedFetch = options.blobWriteNullOnFetchFailure();
        Set<Integer> blobFields =
                nullForMissingFile
                        ? FlinkRowWrapper.blobFieldIndexes(rowType)
                        : Collections.emptySet();
        SingleOutputStreamOperator<InternalRow> rows =
                input.map(
                                (MapFunction<RowData, InternalRow>)
                                        row ->
                                                FlinkRowWrapper.fromUriReaderFactory(
                                                        row,
                                                        blobReaders,
                                                        nullForMissingFile,
                                                        nullForFailedFetch,
                                                        blobFields))
                        .returns(InternalTypeInfo.fromRowType(rowType));
        ParallelismUtils.forwardParallelism(rows, input);
        return rows;
    }

    /**
     * The rows, shuffled if the table has partitions and asks for it. A shuffle makes one failover
     * region of the whole job; what is committed stays right.
     */
    DataStream<InternalRow> shuffledByPartition(
            DataStream<InternalRow> rows, @Nullable Integer parallelism) {
        PartitionSinkStrategy strategy =
                table.partitionKeys().isEmpty()
                        ? PartitionSinkStrategy.NONE
                        : table.coreOptions().partitionSinkStrategy();
        switch (strategy) {
            case NONE:
                return rows;
            case HASH:
                return partition(
                        rows, new RowDataHashPartitionChannelComputer(table.schema()), parallelism);
            case PARTITION_DYNAMIC:
                return shuffledByStatistics(rows, parallelism);
            default:
                throw new UnsupportedOperationException(
                        "Unknown partition sink strategy: " + strategy);
        }
    }

    private DataStream<InternalRow> shuffledByStatistics(
            DataStream<InternalRow> rows, @Nullable Integer parallelism) {
        SingleOutputStreamOperator<StatisticsOrRecord> counted =
                rows.transform(
                                "Collect Statistics: " + table.name(),
                                new StatisticsOrRecordTypeInfo(table.schema().logicalRowType()),
                                new DataStatisticsOperatorFactory(table.schema()))
                        .setParallelism(rows.getParallelism());
        return partition(
                        counted, new StatisticsOrRecordChannelComputer(table.schema()), parallelism)
                .flatMap(
                        (FlatMapFunction<StatisticsOrRecord, InternalRow>)
                                (element, out) -> {
                                    if (element.isRecord()) {
                                        out.collect(element.record());
                                    }
                                })
                .name("Strip Statistics")
                .setParallelism(parallelism != null ? parallelism : rows.getParallelism())
                .returns(rows.getType());
    }
}
