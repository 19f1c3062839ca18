package io.paimonwriter.coordinator;

import static org.apache.paimon.flink.sink.FlinkStreamPartitioner.partition;

import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.paimon.CoreOptions.PartitionSinkStrategy;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.RowDataHashPartitionChannelComputer;
import org.apache.paimon.flink.sink.partition.DataStatisticsOperatorFactory;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecord;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecordChannelComputer;
import org.apache.paimon.flink.sink.partition.StatisticsOrRecordTypeInfo;
import org.apache.paimon.table.FileStoreTable;

import javax.annotation.Nullable;

/** The shuffles by partition that Paimon 2.0 has. */
final class PartitionShuffle {

    private PartitionShuffle() {}

    /**
     * The rows, shuffled if the table has partitions and asks for it. A shuffle makes one failover
     * region of the whole job; what is committed stays right.
     */
    static DataStream<InternalRow> of(
            FileStoreTable table, DataStream<InternalRow> rows, @Nullable Integer parallelism) {
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
                return byStatistics(table, rows, parallelism);
            default:
                throw new UnsupportedOperationException(
                        "Unknown partition sink strategy: " + strategy);
        }
    }

    private static DataStream<InternalRow> byStatistics(
            FileStoreTable table, DataStream<InternalRow> rows, @Nullable Integer parallelism) {
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
