package io.paimonwriter.coordinator;

import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs {@link CallbackBench}, each side in a JVM of its own, in rounds of one JVM of each. */
final class CallbackTimes {

    private static final int ROUNDS = 5;

    private static final double MEDIAN = 50;

    private final Path table;

    CallbackTimes(Path table) {
        this.table = table;
    }

    void measure(BenchReport report) throws Exception {
        measure(report, "event1KiB", "an event of 1 KiB", 15, 30);
        measure(report, "event64KiB", "an event of 64 KiB", 5, 10);
        measure(report, "event1MiB", "an event of 1 MiB", 3, 6);
        measure(report, "checkpoint", "a checkpoint", 15, 30);
        measure(report, "complete", "a completed checkpoint", 15, 30);
    }

    private void measure(BenchReport report, String name, String what, int warmUp, int times)
            throws Exception {
        Map<String, List<Double>> nanos = new TreeMap<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (RunResult result : run(name, warmUp, times)) {
                nanos.computeIfAbsent(result.getParams().getParam("side"), s -> new ArrayList<>())
                        .add(result.getPrimaryResult().getStatistics().getPercentile(MEDIAN));
            }
        }
        double[] ours = values(nanos.get("OURS"));
        double[] theirs = values(nanos.get("THEIRS"));
        double[] again = values(nanos.get("THEIRS_AGAIN"));
        report.add("main thread, " + what, "ns", ours, theirs, 1.0);
        report.noise(again, theirs);
    }

    private Iterable<RunResult> run(String name, int warmUp, int times) throws Exception {
        return new Runner(
                        new OptionsBuilder()
                                .include(CallbackBench.class.getName() + "\\." + name + "$")
                                .forks(1)
                                .warmupIterations(warmUp)
                                .measurementIterations(times)
                                .timeout(TimeValue.minutes(2))
                                .shouldFailOnError(true)
                                .verbosity(VerboseMode.SILENT)
                                .jvmArgsAppend("-da", "-D" + CallbackBench.FOLDER + "=" + table)
                                .build())
                .run();
    }

    private static double[] values(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).toArray();
    }
}
