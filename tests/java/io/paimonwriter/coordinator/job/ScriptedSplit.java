package io.paimonwriter.coordinator.job;

import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A split of a source of rows with the row that comes next: the checkpointed position. */
public final class ScriptedSplit implements SourceSplit {

    public final int index;
    public long nextRow;

    public ScriptedSplit(int index, long nextRow) {
        this.index = index;
        this.nextRow = nextRow;
    }

    /** So many splits of which no row has been read. */
    public static List<ScriptedSplit> unread(int count) {
        List<ScriptedSplit> splits = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            splits.add(new ScriptedSplit(index, 0));
        }
        return splits;
    }

    @Override
    public String splitId() {
        return Integer.toString(index);
    }

    public static final class Serializer implements SimpleVersionedSerializer<ScriptedSplit> {

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

    /** The splits one after another, each with a fixed length. */
    public static final class ListSerializer
            implements SimpleVersionedSerializer<List<ScriptedSplit>> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(List<ScriptedSplit> splits) {
            ByteBuffer buffer = ByteBuffer.allocate(12 * splits.size());
            splits.forEach(split -> buffer.putInt(split.index).putLong(split.nextRow));
            return buffer.array();
        }

        @Override
        public List<ScriptedSplit> deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            List<ScriptedSplit> splits = new ArrayList<>();
            while (buffer.hasRemaining()) {
                splits.add(new ScriptedSplit(buffer.getInt(), buffer.getLong()));
            }
            return splits;
        }
    }
}
