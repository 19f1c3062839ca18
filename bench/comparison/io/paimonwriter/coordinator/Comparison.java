package io.paimonwriter.coordinator;

import io.paimonwriter.coordinator.bench.BatchInsert;

import org.apache.flink.util.FileUtils;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Compares the coordinator with the one that Paimon itself has, {@code
 * sink.coordinator-commit.enabled}, and prints the ratios beside the goals.
 *
 * <p>Both are made by the providers that a job graph carries, called through Flink's interface, and
 * given the same committables of the same files of the same table. After everything that is
 * measured the table, or what was handed to Paimon's commit, is compared with what was reported.
 */
public final class Comparison {

    /** The largest commit. */
    private static final int FILES = 100_000;

    private Comparison() {}

    /**
     * Runs the sections that are named, or all of them.
     *
     * @param arguments names of sections
     */
    public static void main(String[] arguments) {
        int status = 1;
        try {
            Path folder = Files.createTempDirectory("paimon-writer-coordinator-bench");
            try {
                run(BenchTable.create(folder, FILES), folder, Arrays.asList(arguments));
                status = 0;
            } finally {
                FileUtils.deleteDirectoryQuietly(folder.toFile());
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
        System.exit(status);
    }

    private static void run(BenchTable table, Path folder, List<String> names) throws Exception {
        CommitTimes commits = new CommitTimes(table);
        Map<String, Section> sections = new LinkedHashMap<>();
        sections.put("callbacks", new CallbackTimes(folder)::measure);
        sections.put("delay", commits::checkpointsDuringCommits);
        sections.put("heap", new HeapTimes(folder)::measure);
        sections.put(
                "commit",
                report -> {
                    commits.commits(report, FILES / 100);
                    commits.commits(report, FILES / 10);
                    commits.commits(report, FILES);
                });
        sections.put("recovery", new RecoveryTimes(table)::measure);
        sections.put("core", CoreTimes::report);
        sections.put("job", Comparison::batchJobs);
        if (!sections.keySet().containsAll(names)) {
            throw new IllegalArgumentException("There are " + sections.keySet());
        }
        if (!names.isEmpty()) {
            sections.keySet().retainAll(names);
        }
        BenchReport report = new BenchReport();
        for (Section section : sections.values()) {
            section.measure(report);
        }
        report.print();
    }

    private static void batchJobs(BenchReport report) throws Exception {
        List<double[]> rounds = BatchInsert.measure();
        double[] committer = secondsOf(rounds, 1);
        report.add(
                "a batch insert, to Paimon's committer",
                "s",
                secondsOf(rounds, 0),
                committer,
                1.05);
        report.noise(secondsOf(rounds, 2), committer);
    }

    private static double[] secondsOf(List<double[]> rounds, int side) {
        return rounds.stream().mapToDouble(seconds -> seconds[side]).toArray();
    }

    private interface Section {
        void measure(BenchReport report) throws Exception;
    }
}
