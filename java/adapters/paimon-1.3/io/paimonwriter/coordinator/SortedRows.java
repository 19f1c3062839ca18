package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.flink.sorter.TableSortInfo;
import org.apache.paimon.flink.sorter.TableSorter;
import org.apache.paimon.table.FileStoreTable;

/** Rows, shuffled into ranges and sorted inside each. */
final class SortedRows {

    private SortedRows() {}

    static DataStream<RowData> of(
            FileStoreTable table, DataStream<RowData> input, TableSortInfo sortInfo) {
        return TableSorter.getSorter(input.getExecutionEnvironment(), input, table, sortInfo)
                .sort();
    }
}
