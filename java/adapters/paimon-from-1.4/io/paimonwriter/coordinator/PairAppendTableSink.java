package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.RowAppendTableSink;
import org.apache.paimon.table.FileStoreTable;

import java.util.Map;

import javax.annotation.Nullable;

/** Paimon's append sink. */
abstract class PairAppendTableSink extends RowAppendTableSink {

    private static final long serialVersionUID = 1L;

    PairAppendTableSink(
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            @Nullable Integer parallelism) {
        super(table, overwritePartition, parallelism);
    }
}
