package io.paimonwriter.coordinator;

import static org.apache.paimon.flink.sink.FlinkStreamPartitioner.partition;

import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.CoreOptions.PartitionSinkStrategy;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.FlinkRowWrapper;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.flink.sink.RowDataHashPartitionChannelComputer;
import org.apache.paimon.flink.sink.partition.DataStatisticsOperatorFactory;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecord;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecordChannelComputer;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecordTypeInfo;
import org.apache.paimon.flink.utils.InternalTypeInfo;
import org.apache.paimon.flink.utils.ParallelismUtils;
import org.apache.paimon.table.BlobDescriptorReaderFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.UriReaderFactory;

import java.util.Collections;
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
