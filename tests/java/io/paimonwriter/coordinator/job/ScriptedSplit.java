package io.paimonwriter.coordinator.job;

import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.nio.ByteBuffer;

/** A split of a {@link ScriptedSource} with the row that comes next: the checkpointed position. */
final class ScriptedSplit implements SourceSplit {

    final int index;
    long nextRow;

    ScriptedSplit(int index, long nextRow) {
        this.index = index;
        this.nextRow = nextRow;
    }

    @Override
    public String splitId() {
        return Integer.toString(index);
    }

    static final class Serializer implements SimpleVersionedSerializer<ScriptedSplit> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(ScriptedSplit split) {
            return ByteBuffer.allocate(12).putInt(split.index).putLong(split.nextRow).array();
        }

        @Override
        public ScriptedSplit deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            return new ScriptedSplit(buffer.getInt(), buffer.getLong());
        }
    }
}
