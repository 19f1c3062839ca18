package io.paimonwriter.coordinator;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Runs {@link HeapHeld} in JVMs of its own, the sides by turns. */
final class HeapTimes {

    private static final int ROUNDS = 2;

    private static final int HEAP = 0;
    private static final int NATIVE = 1;
    private static final int COLLECTION = 2;

    private final Path table;

    HeapTimes(Path table) {
        this.table = table;
    }

    void measure(BenchReport report) throws Exception {
        double[][] ours = new double[3][ROUNDS];
        double[][] theirs = new double[3][ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            run(Side.OURS, ours, round);
            run(Side.THEIRS, theirs, round);
        }
        report.add("Java heap of a pending file", "B", ours[HEAP], theirs[HEAP], 0.02);
        report.add(
                "native memory of a pending file, to their heap",
                "B",
                ours[NATIVE],
                theirs[HEAP],
                0.5);
        report.add(
                String.format("garbage collection while %,d files are reported", HeapHeld.FILES),
                "ms",
                ours[COLLECTION],
                theirs[COLLECTION],
                0.1);
    }

    private void run(Side side, double[][] values, int round) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("--add-") || option.startsWith("-Dlog4j2"))
                .forEach(command::add);
        command.addAll(
                Arrays.asList(
                        "-Xms4g",
                        "-Xmx4g",
                        "-XX:+AlwaysPreTouch",
                        "-XX:+UseG1GC",
                        HeapHeld.class.getName(),
                        side.name(),
                        table.toString()));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        // Too long for a command line.
        builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
        Process process = builder.start();
        String output =
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        if (process.waitFor() != 0) {
            throw new IOException(command + " failed: " + output);
        }
        String[] words = output.split("\\s+");
        for (int kind = 0; kind < values.length; kind++) {
            values[kind][round] = Double.parseDouble(words[words.length - 3 + kind]);
        }
    }
}
