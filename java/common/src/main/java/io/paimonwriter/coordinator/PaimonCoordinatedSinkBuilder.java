package io.paimonwriter.coordinator;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.util.DataFormatConverters.RowConverter;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.Row;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sorter.TableSortInfo;
import org.apache.paimon.flink.utils.ParallelismUtils;
import org.apache.paimon.table.Table;

import javax.annotation.Nullable;

/**
 * Paimon's sink builder, which builds the coordinated sink for a table whose options ask for it and
 * Paimon's own sink for every other.
 *
 * <p>It is used like Paimon's: {@code new PaimonCoordinatedSinkBuilder(table).forRowData(rows)
 * .build()}. What Paimon keeps to itself there, the input and the parallelism, is kept here once
 * more.
 */
public class PaimonCoordinatedSinkBuilder extends PairSinkBuilder {

    private final boolean coordinated;

    @Nullable private DataStream<RowData> input;
    @Nullable private Integer parallelism;
    @Nullable private TableSortInfo sortInfo;

    /**
     * @throws UnsupportedOperationException if the table has no snapshots, as Paimon's builder does
     * @throws org.apache.flink.table.api.ValidationException if the option that enables the
     *     coordinated sink is not a boolean
     */
    public PaimonCoordinatedSinkBuilder(Table table) {
        super(table);
        SupportedPair.check();
        this.coordinated =
                CoordinatorOptions.isEnabled(this.table.fullName(), this.table.options());
    }

    @Override
    public PaimonCoordinatedSinkBuilder forRow(DataStream<Row> rows, DataType rowDataType) {
        if (!coordinated) {
            super.forRow(rows, rowDataType);
            return this;
        }
        // Paimon's method would keep the converted stream to itself, and calling it in addition
        // would leave a second converter in the job that feeds nothing.
        RowType rowType = (RowType) rowDataType.getLogicalType();
        RowConverter converter =
                new RowConverter(rowDataType.getChildren().toArray(new DataType[0]));
        SingleOutputStreamOperator<RowData> converted =
                rows.map((MapFunction<Row, RowData>) converter::toInternal)
                        .returns(InternalTypeInfo.of(rowType));
        ParallelismUtils.setParallelism(converted, rows.getParallelism(), false);
        return forRowData(converted);
    }

    @Override
    public PaimonCoordinatedSinkBuilder forRowData(DataStream<RowData> rows) {
        super.forRowData(rows);
        this.input = rows;
        return this;
    }

    @Override
    public PaimonCoordinatedSinkBuilder parallelism(@Nullable Integer sinkParallelism) {
        super.parallelism(sinkParallelism);
        this.parallelism = sinkParallelism;
        return this;
    }

    @Override
    public PaimonCoordinatedSinkBuilder clusteringIfPossible(
            String columns, String strategy, boolean sortInCluster, int sampleFactor) {
        // Paimon's method decides, and refuses what is wrong; only the outcome is out of reach.
        super.clusteringIfPossible(columns, strategy, sortInCluster, sampleFactor);
        if (coordinated && Clustering.applies(table, input, columns)) {
            this.sortInfo =
                    Clustering.sortInfo(
                            table, input, columns, strategy, sortInCluster, sampleFactor);
        }
        return this;
    }

    /**
     * {@inheritDoc}
     *
     * <p>Of the steps of Paimon's own method the one that limits adaptive parallelism is not
     * needed: it concerns tables with dynamic buckets alone.
     *
     * @throws org.apache.flink.table.api.ValidationException if the coordinated sink is asked for
     *     and cannot write this table in this job
     */
    @Override
    public DataStreamSink<?> build() {
        if (!coordinated) {
            return super.build();
        }
        if (input == null) {
            throw new IllegalStateException("forRow or forRowData must be called before build");
        }
        SinkPreconditions.check(table, overwritePartition, input);
        DataStream<RowData> sorted =
                sortInfo == null ? input : SortedRows.of(table, input, sortInfo);
        DataStream<InternalRow> rows =
                PartitionShuffle.of(table, InternalRows.of(table, sorted), parallelism);
        return new CoordinatedAppendTableSink(table, overwritePartition, parallelism, input)
                .sinkFrom(rows);
    }
}
