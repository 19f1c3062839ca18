package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What a process of a cluster holds at one moment, after a collection of its garbage. */
final class Footprint {

    private static final Pattern METASPACE = Pattern.compile("Metaspace +used (\\d+)K");
    private static final Pattern IMAGE = Pattern.compile("/[^ ]*paimon_writer_coordinator.*");

    final long metaspaceKb;

    /** Class loaders of user jars. */
    final long jobLoaders;

    final long threads;

    /** Memory that belongs to the process alone: heap and native. */
    final long residentKb;

    /** Copies of our native library that are mapped. */
    final long images;

    private Footprint(JavaProcess process) throws Exception {
        process.jcmd("GC.run");
        metaspaceKb = number(METASPACE, process.jcmd("GC.heap_info"));
        jobLoaders =
                process.jcmd("VM.classloader_stats")
                        .lines()
                        .filter(line -> line.contains("ChildFirstClassLoader"))
                        .count();
        String status = Files.readString(proc(process, "status"));
        threads = number(Pattern.compile("Threads:\\s+(\\d+)"), status);
        residentKb = number(Pattern.compile("RssAnon:\\s+(\\d+)"), status);
        images =
                Files.readAllLines(proc(process, "maps")).stream()
                        .map(IMAGE::matcher)
                        .filter(Matcher::find)
                        .map(Matcher::group)
                        .distinct()
                        .count();
    }

    static Footprint of(JavaProcess process) throws Exception {
        return new Footprint(process);
    }

    /** How many files are below a directory of temporary files. */
    static long files(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile)
                    // Flink shows jobs that have ended for an hour.
                    .filter(file -> !file.toString().contains("executionGraphStore"))
                    .count();
        }
    }

    private static Path proc(JavaProcess process, String file) {
        return Path.of("/proc", Long.toString(process.pid()), file);
    }

    private static long number(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        if (!matcher.find()) {
            throw new IllegalArgumentException("No " + pattern + " in " + text);
        }
        return Long.parseLong(matcher.group(1));
    }

    @Override
    public String toString() {
        return String.format(
                "metaspace %d KB, %d class loaders of jobs, %d threads, resident %d KB, %d images",
                metaspaceKb, jobLoaders, threads, residentKb, images);
    }
}
