package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.RowAppendTableSink;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.FileStoreTable;

import java.util.Map;

import javax.annotation.Nullable;

/** What the append sink needs of Paimon 1.4. */
abstract class PairAppendTableSink extends RowAppendTableSink {

    private static final long serialVersionUID = 1L;

    PairAppendTableSink(
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            @Nullable Integer parallelism) {
        super(table, overwritePartition, parallelism);
    }

    /** Paimon 1.4 resolves BLOB descriptors before the sink. */
    StoreSinkWrite.Provider resolvingBlobDescriptors(StoreSinkWrite.Provider writeProvider) {
        return writeProvider;
    }

    /** The end of the stream. */
    DiscardingSink<Committable> discardingSink() {
        return new DiscardingSink<>();
    }
}
