package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.PaimonDiscardingSink;
import org.apache.paimon.flink.sink.RowAppendTableSink;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.BlobDescriptorReaderFactory;
import org.apache.paimon.table.FileStoreTable;

import java.util.Map;

import javax.annotation.Nullable;

/** What the append sink needs of Paimon 2.0. */
abstract class PairAppendTableSink extends RowAppendTableSink {

    private static final long serialVersionUID = 1L;

    PairAppendTableSink(
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            @Nullable Integer parallelism) {
        super(table, overwritePartition, parallelism);
    }

    /**
     * Writers that can read what a BLOB descriptor points to. Paimon's builder hands the reader to
     * the sink with a method that is closed to others; this does what the sink then does with it.
     */
    StoreSinkWrite.Provider resolvingBlobDescriptors(StoreSinkWrite.Provider writeProvider) {
        return StoreSinkWrite.withBlobDescriptorReaderFactory(
                writeProvider, BlobDescriptorReaderFactory.create(table));
    }

    /** The end of the stream, which also tells Flink's lineage which table is written. */
    DiscardingSink<Committable> discardingSink() {
        return new PaimonDiscardingSink<>(table);
    }
}
