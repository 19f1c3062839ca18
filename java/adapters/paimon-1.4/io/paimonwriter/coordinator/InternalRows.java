package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.utils.BlobDescriptorUtils;

/** Paimon 1.4's form of Flink's rows. */
final class InternalRows {

    private InternalRows() {}

    static DataStream<InternalRow> of(FileStoreTable table, DataStream<RowData> input) {
        return FlinkSinkBuilder.mapToInternalRow(
                input,
                table.rowType(),
                BlobDescriptorUtils.getCatalogContext(
                        table.catalogEnvironment().catalogContext(),
                        table.coreOptions().toConfiguration()));
    }
}
