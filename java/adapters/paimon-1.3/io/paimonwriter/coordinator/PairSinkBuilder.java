package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.flink.sink.LogFlinkSinkBuilder;
import org.apache.paimon.flink.sorter.TableSortInfo;
import org.apache.paimon.flink.sorter.TableSorter;
import org.apache.paimon.table.Table;

/**
 * What the sink builder needs of Paimon 1.3: the steps between the input and the sink of an append
 * table, which Paimon's builder keeps to itself. Paimon's table sink asks for a builder that can
 * write a log as well.
 */
abstract class PairSinkBuilder extends LogFlinkSinkBuilder {

    PairSinkBuilder(Table table) {
        super(table);
    }

    /** The rows, shuffled into ranges and sorted inside each. */
    DataStream<RowData> sorted(DataStream<RowData> input, TableSortInfo sortInfo) {
        return TableSorter.getSorter(input.getExecutionEnvironment(), input, table, sortInfo)
                .sort();
    }

    /** The rows in Paimon's form. */
    DataStream<InternalRow> internalRows(DataStream<RowData> input) {
        return FlinkSinkBuilder.mapToInternalRow(input, table.rowType());
    }
}
