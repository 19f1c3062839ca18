package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * One chunk of what a writer reports to the coordinator.
 *
 * <p>A body above the chunk size goes in several events, because Flink drops an RPC message above
 * the frame size without telling the sender. Each chunk says whose body it belongs to, so that the
 * coordinator never joins chunks of two attempts (h25).
 */
public final class WriterEvent implements OperatorEvent {

    private static final long serialVersionUID = 1L;

    static final int HEADER_BYTES = 50;

    private static final int MAGIC = 0x50574345;
    private static final byte VERSION = 1;

    private final byte[] bytes;

    WriterEvent(byte[] bytes) {
        this.bytes = bytes;
    }

    /** The chunk as the native coordinator reads it. */
    byte[] bytes() {
        return bytes;
    }

    /**
     * Splits a body into events.
     *
     * @param checkpointId checkpoint of the entry, or the restored checkpoint
     * @param chunkSizeBytes most body bytes of one event
     */
    static List<WriterEvent> split(
            Kind kind, WriterIdentity sender, long checkpointId, byte[] body, int chunkSizeBytes) {
        int chunkCount = Math.max(1, (int) ceilDiv(body.length, chunkSizeBytes));
        int checksum = checksum(body);
        List<WriterEvent> events = new ArrayList<>(chunkCount);
        for (int index = 0; index < chunkCount; index++) {
            int from = index * chunkSizeBytes;
            int length = Math.min(chunkSizeBytes, body.length - from);
            ByteBuffer chunk = ByteBuffer.allocate(HEADER_BYTES + length);
            chunk.putInt(MAGIC).put(VERSION).put(kind.code);
            chunk.putLong(sender.incarnation.getMostSignificantBits());
            chunk.putLong(sender.incarnation.getLeastSignificantBits());
            chunk.putInt(sender.attempt).putLong(checkpointId);
            chunk.putInt(index).putInt(chunkCount).putInt(body.length).putInt(checksum);
            chunk.put(body, from, length);
            events.add(new WriterEvent(chunk.array()));
        }
        return events;
    }

    /** CRC32C of a whole body; requests carry it to say which report they mean. */
    static int checksum(byte[] body) {
        CRC32C crc = new CRC32C();
        crc.update(body, 0, body.length);
        return (int) crc.getValue();
    }

    private static long ceilDiv(long dividend, long divisor) {
        return (dividend + divisor - 1) / divisor;
    }

    @Override
    public String toString() {
        return "WriterEvent of " + bytes.length + " bytes";
    }

    /** What the body holds. */
    enum Kind {
        ENTRY((byte) 1),
        RESTORE((byte) 2);

        private final byte code;

        Kind(byte code) {
            this.code = code;
        }
    }
}
