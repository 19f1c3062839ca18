package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarFile;

/**
 * The jar's command, in a JVM with nothing but the jar; the binary is tested with the same texts.
 */
class PwcTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "flink-1.20-paimon-1.3",
                "flink-2.0-paimon-1.4",
                "flink-2.0-paimon-2.0",
                "flink-2.1-paimon-1.3"
            })
    void theJarShowsWhatTheBinaryShows(String pair) throws Exception {
        Path folder = Golden.file("inspect").resolve(pair);

        String text = PwcProcess.run(folder, 0, List.of("inspect", "chk-3", "--files"));

        assertEquals(Files.readString(folder.resolve("chk-3.txt")), text);
    }

    /** The command for the jar in the documentation, beside the first one for the binary. */
    @Test
    void theDocumentationNamesTheCommand() throws Exception {
        Path folder = Golden.file("inspect").resolve("flink-2.0-paimon-2.0");
        Path root = Golden.file("inspect").getParent().getParent().getParent();
        String documentation = Files.readString(root.resolve("docs").resolve("inspect.md"));
        String prefix =
                "$ java -cp paimon-writer-coordinator-flink-2.0-paimon-2.0-0.1.0.jar "
                        + Pwc.class.getName()
                        + " ";
        int begin = documentation.indexOf(prefix) + prefix.length();
        assertTrue(begin > prefix.length());
        String arguments = documentation.substring(begin, documentation.indexOf('\n', begin));

        String text = PwcProcess.run(folder, 0, List.of(arguments.split(" ")));

        assertTrue(documentation.contains("$ pwc " + arguments + "\n" + text), text);
    }

    @Test
    void whatCannotBeReadIsAnErrorWithItsStatus() throws Exception {
        String text = PwcProcess.run(Golden.file("inspect"), 2, List.of("inspect", "nowhere"));

        assertTrue(text.startsWith("pwc: nowhere cannot be read"), text);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void outputThatCannotBeWrittenIsAnError() throws Exception {
        Process process =
                new ProcessBuilder(PwcProcess.command(List.of("inspect", "chk-3")))
                        .directory(Golden.file("inspect").resolve("flink-2.0-paimon-2.0").toFile())
                        .redirectOutput(new File("/dev/full"))
                        .start();
        String text = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));

        assertTrue(text.startsWith("pwc: the output cannot be written: "), text);
        assertEquals(2, process.exitValue());
    }

    /** The status of the report stays, and nobody is told. */
    @Test
    void aReaderThatHasGoneIsNoError() throws Exception {
        Process process =
                new ProcessBuilder(PwcProcess.command(List.of("inspect", "chk-3")))
                        .directory(Golden.file("inspect").resolve("flink-2.0-paimon-2.0").toFile())
                        .start();
        process.getInputStream().close();
        String text = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));

        assertEquals("", text);
        assertEquals(0, process.exitValue());
    }

    /** Java itself would end with 1, which says that something was read. */
    @Test
    void whatTheHeapIsTooSmallForIsAnErrorWithItsStatus(@TempDir Path folder) throws Exception {
        Files.write(folder.resolve("_metadata"), metadataOfFinishedWriters(500_000));
        List<String> command = PwcProcess.command(List.of("inspect", folder.toString(), "--json"));
        command.add(1, "-Xmx32m");
        Process process =
                new ProcessBuilder(command)
                        .redirectOutput(folder.resolve("output").toFile())
                        .start();
        String text = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));

        assertTrue(text.startsWith("pwc: java.lang."), text);
        assertEquals(2, process.exitValue());
        assertEquals(0, Files.size(folder.resolve("output")));
    }

    /** Version 3 of Flink's metadata, with a coordinator whose bytes are cut. */
    private static byte[] metadataOfFinishedWriters(int writers) {
        ByteBuffer bytes = ByteBuffer.allocate(128 + 4 * writers);
        bytes.putInt(0x4960672d).putInt(3).putLong(9).putInt(0).putInt(1);
        bytes.putLong(1).putLong(2).putInt(writers).putInt(writers);
        bytes.put((byte) 1)
                .putShort((short) 0)
                .putInt(4)
                .put("PWCS".getBytes(StandardCharsets.US_ASCII));
        bytes.putInt(writers);
        for (int subtask = 0; subtask < writers; subtask++) {
            bytes.putInt(-(subtask + 1));
        }
        return Arrays.copyOf(bytes.array(), bytes.position());
    }

    /** Flink would take the jar for a job's. */
    @Test
    void theJarNamesNoMainClass() throws Exception {
        try (JarFile jar = new JarFile(PwcProcess.jar().toFile())) {
            assertNull(jar.getManifest().getMainAttributes().getValue(Attributes.Name.MAIN_CLASS));
        }
    }
}
