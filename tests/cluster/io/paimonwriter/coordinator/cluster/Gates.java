package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

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

    /** Notes that a reader of this source starts. */
    void markStart(String source, int subtask) {
        try {
            Files.createTempFile(Path.of(directory), startPrefix(source, subtask), "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** How often the reader of each subtask has started. */
    List<Integer> starts(String source, int parallelism) throws IOException {
        List<Integer> starts = new ArrayList<>();
        for (int subtask = 0; subtask < parallelism; subtask++) {
            String prefix = startPrefix(source, subtask);
            try (Stream<Path> files = Files.list(Path.of(directory))) {
                starts.add(
                        (int)
                                files.filter(
                                                file ->
                                                        file.getFileName()
                                                                .toString()
                                                                .startsWith(prefix))
                                        .count());
            }
        }
        return starts;
    }

    private static String startPrefix(String source, int subtask) {
        return "start-of-" + source + "-" + subtask + "-";
    }
}
