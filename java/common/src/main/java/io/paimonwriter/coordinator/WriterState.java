package io.paimonwriter.coordinator;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/**
 * What one writer was given when it was restored: pieces and entries of one or more former writers.
 *
 * <p>Every element of the operator state is a version byte, a kind byte and a piece or an entry.
 * Version 1 is the only one so far.
 */
final class WriterState {

    private static final int VERSION = 1;
    private static final int KIND_PIECE = 1;
    private static final int KIND_ENTRY = 2;

    final List<WriterPiece> pieces = new ArrayList<>();
    final List<WriterEntry> entries = new ArrayList<>();

    /** The state elements of one writer: its own piece and every entry that may be replayed. */
    static List<byte[]> encode(WriterPiece own, List<WriterEntry> entries) {
        List<byte[]> elements = new ArrayList<>(1 + entries.size());
        elements.add(element(KIND_PIECE, own::write));
        for (WriterEntry entry : entries) {
            elements.add(element(KIND_ENTRY, entry::write));
        }
        return elements;
    }

    /**
     * Reads state elements in any order, also those of several former writers.
     *
     * @throws IOException if an element is not of a known version and kind; says what was found
     */
    static WriterState decode(Iterable<byte[]> elements) throws IOException {
        WriterState state = new WriterState();
        for (byte[] element : elements) {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(element));
            int version = in.readUnsignedByte();
            int kind = in.readUnsignedByte();
            if (version == VERSION && kind == KIND_PIECE) {
                state.pieces.add(WriterPiece.read(in));
            } else if (version == VERSION && kind == KIND_ENTRY) {
                state.entries.add(WriterEntry.read(in));
            } else {
                throw new IOException(
                        String.format(
                                "found a state element of version %d and kind %d, expected version"
                                        + " %d and kind %d or %d",
                                version, kind, VERSION, KIND_PIECE, KIND_ENTRY));
            }
            if (in.available() > 0) {
                throw new IOException(
                        String.format(
                                "found %d bytes after the end of a state element of %d bytes",
                                in.available(), element.length));
            }
        }
        return state;
    }

    /** The body of a RESTORE event. */
    byte[] encodeRestoreBody() {
        return bytes(
                out -> {
                    out.writeInt(pieces.size());
                    for (WriterPiece piece : pieces) {
                        piece.write(out);
                    }
                    out.writeInt(entries.size());
                    for (WriterEntry entry : entries) {
                        entry.write(out);
                    }
                });
    }

    private static byte[] element(int kind, Writing content) {
        return bytes(
                out -> {
                    out.writeByte(VERSION);
                    out.writeByte(kind);
                    content.writeTo(out);
                });
    }

    private static byte[] bytes(Writing content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            content.writeTo(out);
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory cannot fail", e);
        }
        return bytes.toByteArray();
    }

    private interface Writing {
        void writeTo(DataOutputStream out) throws IOException;
    }
}
