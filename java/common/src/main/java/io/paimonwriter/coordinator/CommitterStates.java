package io.paimonwriter.coordinator;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

import javax.annotation.Nullable;

/**
 * The named states of Paimon's committer as bytes: u8 version, i32 count, then for each state by
 * name i32 length, name in UTF-8, i32 length, bytes. Version 1 is the only one so far.
 */
final class CommitterStates {

    private static final int VERSION = 1;

    private CommitterStates() {}

    /** The states as bytes, null when there are none. */
    @Nullable
    static byte[] encode(Map<String, byte[]> states) {
        if (states.isEmpty()) {
            return null;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(VERSION);
            out.writeInt(states.size());
            for (Map.Entry<String, byte[]> state : new TreeMap<>(states).entrySet()) {
                write(out, state.getKey().getBytes(StandardCharsets.UTF_8));
                write(out, state.getValue());
            }
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory cannot fail", e);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @throws NonRecoverableCoordinatorException if the bytes are not whole or of another version;
     *     no IOException, because trying again would not help
     */
    static Map<String, byte[]> decode(@Nullable byte[] bytes) {
        Map<String, byte[]> states = new HashMap<>();
        if (bytes == null) {
            return states;
        }
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            int version = in.readUnsignedByte();
            if (version != VERSION) {
                throw new NonRecoverableCoordinatorException(
                        String.format(
                                "found committer state of version %d, expected at most %d; a newer"
                                        + " release wrote it, so use that release",
                                version, VERSION));
            }
            for (int left = in.readInt(); left > 0; left--) {
                String name = new String(read(in), StandardCharsets.UTF_8);
                states.put(name, read(in));
            }
        } catch (IOException e) {
            throw new NonRecoverableCoordinatorException(
                    "committer state of " + bytes.length + " bytes ends too early: " + e);
        }
        return states;
    }

    private static void write(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static byte[] read(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new IOException("a length of " + length + " with " + in.available() + " left");
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }
}
