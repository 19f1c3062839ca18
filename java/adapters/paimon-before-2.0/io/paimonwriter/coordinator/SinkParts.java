package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.FileStoreTable;

/** What Paimon's sinks had at their two ends before 2.0. */
final class SinkParts {

    private SinkParts() {}

    /** What BLOB descriptors point to, if this version has them, is read before the sink. */
    static StoreSinkWrite.Provider resolvingBlobDescriptors(
            FileStoreTable table, StoreSinkWrite.Provider writeProvider) {
        return writeProvider;
    }

    /** The end of the stream. */
    static DiscardingSink<Committable> discardingSink(FileStoreTable table) {
        return new DiscardingSink<>();
    }
}
