package io.paimonwriter.coordinator;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.FlinkRowWrapper;
import org.apache.paimon.flink.utils.InternalTypeInfo;
import org.apache.paimon.flink.utils.ParallelismUtils;
import org.apache.paimon.table.BlobDescriptorReaderFactory;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.UriReaderFactory;

import java.util.Collections;
import java.util.Set;

/** Paimon 2.0's form of Flink's rows. */
final class InternalRows {

    private InternalRows() {}

    static DataStream<InternalRow> of(FileStoreTable table, DataStream<RowData> input) {
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
}
