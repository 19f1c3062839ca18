package io.paimonwriter.coordinator;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.CommittableSerializer;
import org.apache.paimon.table.sink.CommitMessageSerializer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads entries' payloads with Paimon's serializer, also those that an older version of Paimon
 * wrote. Used by one thread.
 *
 * <p>A committable is its checkpoint id, then in version 2 (Paimon 1.3) a byte for its kind, then
 * Paimon's commit message, and last the i32 version of the message. Paimon reads the messages of
 * all its older versions, but the committables of its own alone, and it does not notice a message
 * that is newer than itself.
 */
final class CommittableReader {

    private static final int VERSION_WITH_KIND = 2;
    private static final int VERSION_WITHOUT_KIND = 3;
    private static final byte KIND_FILE = 0;

    private final CommittableSerializer serializer =
            new CommittableSerializer(new CommitMessageSerializer());

    /**
     * Reads the payloads of one commit; the three arrays have one element for each entry.
     *
     * @throws IOException if a newer version of Paimon wrote a payload, or if it is not whole
     */
    List<Committable> read(int[] serializerVersions, int[] committableCounts, ByteBuffer[] payloads)
            throws IOException {
        List<Committable> committables = new ArrayList<>();
        for (int i = 0; i < payloads.length; i++) {
            if (committableCounts[i] == 0) {
                continue;
            }
            if (!isReadable(serializerVersions[i])) {
                throw tooNew("serializer", serializerVersions[i], serializer.getVersion());
            }
            readPayload(
                    serializerVersions[i],
                    committableCounts[i],
                    payloads[i].duplicate().order(ByteOrder.BIG_ENDIAN),
                    committables);
        }
        return committables;
    }

    List<Committable> read(CommittableBytes committables) throws IOException {
        return read(
                new int[] {committables.serializerVersion},
                new int[] {committables.count},
                new ByteBuffer[] {ByteBuffer.wrap(committables.payload)});
    }

    private void readPayload(
            int version, int count, ByteBuffer payload, List<Committable> committables)
            throws IOException {
        for (int i = 0; i < count; i++) {
            int length = payload.remaining() >= Integer.BYTES ? payload.getInt() : -1;
            if (length < 0 || length > payload.remaining()) {
                throw new IOException(
                        String.format(
                                "committable %d of %d has length %d, but %d bytes are left",
                                i + 1, count, length, payload.remaining()));
            }
            byte[] bytes = new byte[length];
            payload.get(bytes);
            committables.add(readCommittable(version, bytes));
        }
        if (payload.hasRemaining()) {
            throw new IOException(
                    String.format(
                            "%d bytes are left after %d committables", payload.remaining(), count));
        }
    }

    private boolean isReadable(int version) {
        return version == serializer.getVersion()
                || version == VERSION_WITH_KIND && serializer.getVersion() == VERSION_WITHOUT_KIND;
    }

    private Committable readCommittable(int version, byte[] bytes) throws IOException {
        int afterMessage = bytes.length - Integer.BYTES;
        if (afterMessage < Long.BYTES) {
            throw new IOException("found a committable of " + bytes.length + " bytes");
        }
        int messageVersion = ByteBuffer.wrap(bytes).getInt(afterMessage);
        if (messageVersion > CommitMessageSerializer.CURRENT_VERSION) {
            throw tooNew("message", messageVersion, CommitMessageSerializer.CURRENT_VERSION);
        }
        if (version == VERSION_WITH_KIND && bytes[Long.BYTES] != KIND_FILE) {
            throw new IOException(
                    String.format(
                            "found a committable of kind %d, expected %d for files",
                            bytes[Long.BYTES], KIND_FILE));
        }
        return serializer.deserialize(
                serializer.getVersion(),
                version == serializer.getVersion() ? bytes : withoutKind(bytes));
    }

    private static byte[] withoutKind(byte[] bytes) {
        byte[] rest = new byte[bytes.length - 1];
        System.arraycopy(bytes, 0, rest, 0, Long.BYTES);
        System.arraycopy(bytes, Long.BYTES + 1, rest, Long.BYTES, rest.length - Long.BYTES);
        return rest;
    }

    private static IOException tooNew(String what, int found, int readable) {
        return new IOException(
                String.format(
                        "found committables of %s version %d, expected at most %d; a newer version"
                                + " of Paimon wrote them",
                        what, found, readable));
    }
}
