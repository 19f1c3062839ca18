package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** The files in {@code tests/golden}: bytes that a release wrote, as hexadecimal digits. */
final class Golden {

    private Golden() {}

    /** Checks bytes that only a writer and its coordinator exchange, both of one jar. */
    static void assertMessage(String name, byte[] actual) throws IOException {
        assertEquals(
                read(name),
                hex(actual),
                name
                        + ": both sides of the message changed? Then give it a new version in"
                        + " WriterEvent or WriterRequest and in src/wire.rs, and write the file"
                        + " anew");
    }

    /** Checks bytes that go into checkpoints, which later releases must be able to read. */
    static void assertState(String name, byte[] actual) throws IOException {
        assertEquals(
                read(name),
                hex(actual),
                name
                        + " is in the savepoints of users. Leave it as it is: give the new bytes a"
                        + " new version and a golden file of their own, and keep the reader of"
                        + " this one");
    }

    static byte[] bytes(String name) throws IOException {
        String digits = read(name);
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    private static String read(String name) throws IOException {
        return new String(Files.readAllBytes(file(name)), StandardCharsets.US_ASCII).trim();
    }

    /** Gradle and an IDE start tests in different folders, all of them inside the repository. */
    static Path file(String name) {
        for (Path folder = Paths.get("").toAbsolutePath();
                folder != null;
                folder = folder.getParent()) {
            Path file = folder.resolve("tests").resolve("golden").resolve(name);
            if (Files.exists(file)) {
                return file;
            }
        }
        throw new IllegalStateException("there is no tests/golden/" + name);
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder(bytes.length * 2);
        for (byte b : bytes) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }
}
