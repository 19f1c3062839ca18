package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/**
 * What test and tasks tell each other across processes, as files in a directory: a gate is open
 * when its file exists, and every start of a reader leaves a file.
 */
final class Gates implements Serializable {

    private static final long serialVersionUID = 1L;

    private final String directory;

    Gates(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory).toString();
    }

    /** Opens a gate, which may be open already. */
    void open(String gate) throws IOException {
        Files.write(Path.of(directory, gate), new byte[0]);
    }

    boolean isOpen(String gate) {
        return Files.exists(Path.of(directory, gate));
    }

    /** Closes a gate, which may be closed already. */
    void close(String gate) throws IOException {
        Files.deleteIfExists(Path.of(directory, gate));
    }

    /** Opens a gate with a text that who passes it can read. */
    void write(String gate, String text) throws IOException {
        Path whole = Files.writeString(Files.createTempFile(Path.of(directory), gate, ""), text);
        Files.move(whole, Path.of(directory, gate), StandardCopyOption.ATOMIC_MOVE);
    }

    String read(String gate) throws IOException {
        return Files.readString(Path.of(directory, gate));
    }

    /** Leaves one more mark of this name. */
    void mark(String name) throws IOException {
        Files.createTempFile(Path.of(directory), markPrefix(name), "");
    }

    /** How many marks of this name there are. */
    int marks(String name) throws IOException {
        try (DirectoryStream<Path> marks =
                Files.newDirectoryStream(Path.of(directory), markPrefix(name) + "*")) {
            int count = 0;
            for (Path mark : marks) {
                count++;
            }
            return count;
        }
    }

    private static String markPrefix(String name) {
        return "mark-of-" + name + "-";
    }

    /** Notes that a reader of this source starts. */
    void markStart(String source, int subtask) {
        try {
            mark(start(source, subtask));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** How often the reader of each subtask has started. */
    List<Integer> starts(String source, int parallelism) throws IOException {
        List<Integer> starts = new ArrayList<>();
        for (int subtask = 0; subtask < parallelism; subtask++) {
            starts.add(marks(start(source, subtask)));
        }
        return starts;
    }

    private static String start(String source, int subtask) {
        return "start-of-" + source + "-" + subtask;
    }
}
