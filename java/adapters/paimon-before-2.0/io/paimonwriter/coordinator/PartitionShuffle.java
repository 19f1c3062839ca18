package io.paimonwriter.coordinator;

import static org.apache.paimon.flink.sink.FlinkStreamPartitioner.partition;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.paimon.CoreOptions.PartitionSinkStrategy;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.RowDataHashPartitionChannelComputer;
import org.apache.paimon.table.FileStoreTable;

import javax.annotation.Nullable;

/** The shuffle by partition that Paimon had before 2.0. */
final class PartitionShuffle {

    private PartitionShuffle() {}

    /**
     * The rows, shuffled if the table has partitions and asks for it. A shuffle makes one failover
     * region of the whole job; what is committed stays right.
     */
    static DataStream<InternalRow> of(
            FileStoreTable table, DataStream<InternalRow> rows, @Nullable Integer parallelism) {
        boolean shuffled =
                !table.partitionKeys().isEmpty()
                        && table.coreOptions().partitionSinkStrategy()
                                == PartitionSinkStrategy.HASH;
        return shuffled
                ? partition(
                        rows, new RowDataHashPartitionChannelComputer(table.schema()), parallelism)
                : rows;
    }
}
