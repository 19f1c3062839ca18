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

/** Reads entries' payloads with Paimon's serializer. Used by one thread. */
final class CommittableReader {

    private final CommittableSerializer serializer =
            new CommittableSerializer(new CommitMessageSerializer());

    /**
     * Reads the payloads of one commit; the three arrays have one element for each entry.
     *
     * @throws IOException if a payload is of another serializer version or is not whole
     */
    List<Committable> read(int[] serializerVersions, int[] committableCounts, ByteBuffer[] payloads)
            throws IOException {
        List<Committable> committables = new ArrayList<>();
        for (int i = 0; i < payloads.length; i++) {
            if (committableCounts[i] == 0) {
                continue;
            }
            if (serializerVersions[i] != serializer.getVersion()) {
                throw new IOException(
                        String.format(
                                "found committables of serializer version %d, expected version %d",
                                serializerVersions[i], serializer.getVersion()));
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
            committables.add(serializer.deserialize(version, bytes));
        }
        if (payload.hasRemaining()) {
            throw new IOException(
                    String.format(
                            "%d bytes are left after %d committables", payload.remaining(), count));
        }
    }
}
