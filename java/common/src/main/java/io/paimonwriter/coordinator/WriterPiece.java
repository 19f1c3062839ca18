package io.paimonwriter.coordinator;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.UUID;

/**
 * What a writer says about itself in its own state: after a rescale the coordinator counts the
 * pieces to learn whether every writer of the old parallelism had ended (h06).
 */
final class WriterPiece {

    final UUID incarnation;

    /** Parallelism of the writer operator when the state was stored. */
    final int parallelism;

    /** Whether the writer had reached the end of its input. */
    final boolean ended;

    WriterPiece(UUID incarnation, int parallelism, boolean ended) {
        this.incarnation = incarnation;
        this.parallelism = parallelism;
        this.ended = ended;
    }

    void write(DataOutputStream out) throws IOException {
        out.writeLong(incarnation.getMostSignificantBits());
        out.writeLong(incarnation.getLeastSignificantBits());
        out.writeInt(parallelism);
        out.writeByte(ended ? 1 : 0);
    }

    static WriterPiece read(DataInputStream in) throws IOException {
        return new WriterPiece(
                new UUID(in.readLong(), in.readLong()), in.readInt(), in.readUnsignedByte() != 0);
    }
}
