package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The jar's command as users run it: in a JVM with nothing but the jar. */
public final class PwcProcess {

    private PwcProcess() {}

    static Path jar() throws Exception {
        return Paths.get(Pwc.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    static List<String> command(List<String> arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-cp", jar().toString(), Pwc.class.getName()));
        command.addAll(arguments);
        return command;
    }

    /** Runs it in a folder, checks its status, and returns all that it printed. */
    public static String run(Path folder, int status, List<String> arguments) throws Exception {
        File output = File.createTempFile("pwc", ".out");
        Process process =
                new ProcessBuilder(command(arguments))
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(output)
                        .start();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        String text = Files.readString(output.toPath());
        assertTrue(output.delete());
        assertEquals(status, process.exitValue(), text);
        return text;
    }
}
