package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.PaimonDiscardingSink;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.BlobDescriptorReaderFactory;
import org.apache.paimon.table.FileStoreTable;

/** What Paimon 2.0's sinks have at their two ends. */
final class SinkParts {

    private SinkParts() {}

    /**
     * Writers that can read what a BLOB descriptor points to. Paimon's builder hands the reader to
     * the sink with a method that is closed to others; this does what the sink then does with it.
     */
    static StoreSinkWrite.Provider resolvingBlobDescriptors(
            FileStoreTable table, StoreSinkWrite.Provider writeProvider) {
        return StoreSinkWrite.withBlobDescriptorReaderFactory(
                writeProvider, BlobDescriptorReaderFactory.create(table));
    }

    /** The end of the stream, which also tells Flink's lineage which table is written. */
    static DiscardingSink<Committable> discardingSink(FileStoreTable table) {
        return new PaimonDiscardingSink<>(table);
    }
}
