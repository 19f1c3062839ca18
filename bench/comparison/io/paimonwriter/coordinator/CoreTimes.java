package io.paimonwriter.coordinator;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

import java.io.IOException;
import java.nio.file.Path;

/**
 * What the Rust benchmarks below {@code bench/rust} have measured, which have to run first. They
 * look at the native core alone, so there is no other side: its snapshot is compared with copying
 * as many bytes, and the cost of an event with that of an event in a small job.
 */
final class CoreTimes {

    /** Where the Rust benchmarks leave their results. */
    private static final Path RESULTS = Path.of(System.getProperty("bench.criterion", "criterion"));

    private static final double HALF_THE_SPEED = 2;

    /** A logarithm at most: trees of 10 and of 10,000 entries are four times as deep. */
    private static final double GROWTH = 4;

    private CoreTimes() {}

    static void report(BenchReport report) throws IOException {
        double[] copy = {nanos("snapshot/copy") / 1e6};
        for (String what : new String[] {"encode", "decode"}) {
            double[] millis = {nanos("snapshot/" + what) / 1e6};
            report.add(
                    "snapshot of 100 MB: " + what + ", to a copy",
                    "ms",
                    millis,
                    copy,
                    HALF_THE_SPEED);
        }
        growth(report, "event, 10,000 to 10 writers", "event-by-writers", 10_000, 10, true);
        growth(
                report,
                "event during a commit, 10,000 to 10 writers",
                "event-during-commit-by-writers",
                10_000,
                10,
                true);
        growth(
                report,
                "event, 1,000 to 1 pending checkpoints",
                "event-by-checkpoints",
                1_000,
                1,
                false);
        double[] many = {nanos("checkpoint-by-entries/10/1000") / 10_000};
        double[] few = {nanos("checkpoint-by-entries/10/1") / 10};
        report.add("checkpoint, for each of 10,000 to 10 entries", "ns", many, few, GROWTH);
    }

    private static void growth(
            BenchReport report, String what, String group, int large, int small, boolean writers)
            throws IOException {
        // Each measurement is one event of each writer; where the checkpoints vary, of 10 writers.
        double[] ofLarge = {nanos(group + "/" + large) / (writers ? large : 10)};
        double[] ofSmall = {nanos(group + "/" + small) / (writers ? small : 10)};
        report.add(what, "ns", ofLarge, ofSmall, GROWTH);
    }

    private static double nanos(String benchmark) throws IOException {
        return new ObjectMapper()
                .readTree(RESULTS.resolve(benchmark).resolve("new/estimates.json").toFile())
                .get("median")
                .get("point_estimate")
                .asDouble();
    }
}
