package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.flink.sorter.TableSortInfo;
import org.apache.paimon.flink.sorter.TableSorter;
import org.apache.paimon.table.Table;
import org.apache.paimon.utils.BlobDescriptorUtils;

/**
 * What the sink builder needs of Paimon 1.4: the steps between the input and the sink of an append
 * table, which Paimon's builder keeps to itself.
 */
abstract class PairSinkBuilder extends FlinkSinkBuilder {

    PairSinkBuilder(Table table) {
        super(table);
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
        return FlinkSinkBuilder.mapToInternalRow(
                input,
                table.rowType(),
                BlobDescriptorUtils.getCatalogContext(
                        table.catalogEnvironment().catalogContext(),
                        table.coreOptions().toConfiguration()));
    }
}
