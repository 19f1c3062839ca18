package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.CoordinationRequest;

import java.nio.ByteBuffer;

import javax.annotation.Nullable;

/**
 * A question of a writer to the coordinator. Flink's request carries neither subtask nor attempt,
 * so the bytes do (h25).
 */
public final class WriterRequest implements CoordinationRequest {

    private static final long serialVersionUID = 1L;

    private static final int MAGIC = 0x50574352;
    private static final byte VERSION = 1;
    private static final byte KIND_CONFIRM = 1;
    private static final byte KIND_MAY_FINISH = 2;
    private static final int LENGTH_BYTES = 47;

    private final byte[] bytes;

    private WriterRequest(byte[] bytes) {
        this.bytes = bytes;
    }

    /** The request as the native coordinator reads it. */
    byte[] bytes() {
        return bytes;
    }

    /** Does the coordinator hold this entry whole? */
    static WriterRequest confirm(WriterIdentity asker, WriterEntry entry) {
        return encode(
                KIND_CONFIRM, asker, entry.checkpointId, entry.isEndOfInput(), entry.encode());
    }

    /**
     * May the asker finish?
     *
     * @param completedCheckpointId last checkpoint whose completion the task was told of, -1 if
     *     none
     * @param endOfInput the asker's entry of its end of input; null if its input has not ended
     */
    static WriterRequest mayFinish(
            WriterIdentity asker, long completedCheckpointId, @Nullable WriterEntry endOfInput) {
        return encode(
                KIND_MAY_FINISH,
                asker,
                completedCheckpointId,
                endOfInput != null,
                endOfInput != null ? endOfInput.encode() : null);
    }

    private static WriterRequest encode(
            byte kind,
            WriterIdentity asker,
            long checkpointId,
            boolean ended,
            @Nullable byte[] body) {
        ByteBuffer request = ByteBuffer.allocate(LENGTH_BYTES);
        request.putInt(MAGIC).put(VERSION).put(kind);
        request.putInt(asker.subtask).putInt(asker.attempt);
        request.putLong(asker.incarnation.getMostSignificantBits());
        request.putLong(asker.incarnation.getLeastSignificantBits());
        request.putLong(checkpointId).put((byte) (ended ? 1 : 0));
        request.putInt(body != null ? body.length : 0);
        request.putInt(body != null ? WriterEvent.checksum(body) : 0);
        return new WriterRequest(request.array());
    }

    @Override
    public String toString() {
        return "WriterRequest of " + bytes.length + " bytes";
    }
}
