package io.paimonwriter.coordinator;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.UUID;

/**
 * What one writer prepared for one checkpoint: Paimon's serialized committables with the writer's
 * watermark and idleness, frozen when the barrier arrived.
 *
 * <p>The key of an entry is its incarnation (the writer that prepared it) and its checkpoint id. It
 * never changes, also when another writer replays the entry after a restore or a rescale (h05).
 */
final class WriterEntry {

    /** Checkpoint id of the entry that a writer prepares at the end of its input. */
    static final long END_OF_INPUT = Long.MAX_VALUE;

    /** Value of {@link #endedAfter} in every entry that is not of the end of input. */
    static final long NOT_ENDED = Long.MIN_VALUE;

    private static final int FLAG_IDLE = 1;
    private static final int FLAG_SAVEPOINT = 2;

    final UUID incarnation;
    final long checkpointId;

    /** Last checkpoint that the writer had snapshotted before its input ended, -1 if none. */
    final long endedAfter;

    final long watermark;
    final boolean idle;
    final boolean savepoint;
    final CommittableBytes committables;

    private WriterEntry(
            UUID incarnation,
            long checkpointId,
            long endedAfter,
            long watermark,
            boolean idle,
            boolean savepoint,
            CommittableBytes committables) {
        this.incarnation = incarnation;
        this.checkpointId = checkpointId;
        this.endedAfter = endedAfter;
        this.watermark = watermark;
        this.idle = idle;
        this.savepoint = savepoint;
        this.committables = committables;
    }

    /** The entry of an ordinary checkpoint; whether it is a savepoint is not known yet (h20). */
    static WriterEntry ofCheckpoint(
            UUID incarnation,
            long checkpointId,
            long watermark,
            boolean idle,
            CommittableBytes committables) {
        return new WriterEntry(
                incarnation, checkpointId, NOT_ENDED, watermark, idle, false, committables);
    }

    /** The entry of the end of input. */
    static WriterEntry ofEndOfInput(
            UUID incarnation,
            long endedAfter,
            long watermark,
            boolean idle,
            CommittableBytes committables) {
        return new WriterEntry(
                incarnation, END_OF_INPUT, endedAfter, watermark, idle, false, committables);
    }

    /** The same entry, known to belong to a savepoint. */
    WriterEntry asSavepoint() {
        return new WriterEntry(
                incarnation, checkpointId, endedAfter, watermark, idle, true, committables);
    }

    /** Whether this is the entry of the end of input. */
    boolean isEndOfInput() {
        return checkpointId == END_OF_INPUT;
    }

    /** The body of an ENTRY event, and what the writer's state stores. */
    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(64 + committables.payload.length);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            write(out);
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory cannot fail", e);
        }
        return bytes.toByteArray();
    }

    void write(DataOutputStream out) throws IOException {
        out.writeLong(checkpointId);
        out.writeLong(incarnation.getMostSignificantBits());
        out.writeLong(incarnation.getLeastSignificantBits());
        out.writeLong(endedAfter);
        out.writeLong(watermark);
        out.writeByte((idle ? FLAG_IDLE : 0) | (savepoint ? FLAG_SAVEPOINT : 0));
        out.writeInt(committables.count);
        out.writeInt(committables.serializerVersion);
        out.writeInt(committables.payload.length);
        out.write(committables.payload);
    }

    static WriterEntry read(DataInputStream in) throws IOException {
        long checkpointId = in.readLong();
        UUID incarnation = new UUID(in.readLong(), in.readLong());
        long endedAfter = in.readLong();
        long watermark = in.readLong();
        int flags = in.readUnsignedByte();
        int count = in.readInt();
        int serializerVersion = in.readInt();
        int length = in.readInt();
        if (checkpointId < 0 || count < 0 || length < 0 || length > in.available()) {
            throw new IOException(
                    String.format(
                            "found an entry of checkpoint %d with %d committables and a payload of"
                                    + " %d bytes, of which %d are there",
                            checkpointId, count, length, in.available()));
        }
        byte[] payload = new byte[length];
        in.readFully(payload);
        return new WriterEntry(
                incarnation,
                checkpointId,
                endedAfter,
                watermark,
                (flags & FLAG_IDLE) != 0,
                (flags & FLAG_SAVEPOINT) != 0,
                new CommittableBytes(count, serializerVersion, payload));
    }

    @Override
    public String toString() {
        return String.format(
                "entry of %s by %s with %d committables in %d bytes",
                isEndOfInput() ? "the end of input" : "checkpoint " + checkpointId,
                incarnation,
                committables.count,
                committables.payload.length);
    }

    /** Serialized committables, each with its length before it, and the version that wrote them. */
    static final class CommittableBytes {

        final int count;
        final int serializerVersion;
        final byte[] payload;

        CommittableBytes(int count, int serializerVersion, byte[] payload) {
            this.count = count;
            this.serializerVersion = serializerVersion;
            this.payload = payload;
        }

        static CommittableBytes of(int serializerVersion, List<byte[]> serialized) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (DataOutputStream out = new DataOutputStream(bytes)) {
                for (byte[] committable : serialized) {
                    out.writeInt(committable.length);
                    out.write(committable);
                }
            } catch (IOException e) {
                throw new UncheckedIOException("writing to memory cannot fail", e);
            }
            return new CommittableBytes(serialized.size(), serializerVersion, bytes.toByteArray());
        }
    }
}
