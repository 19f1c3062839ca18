package io.paimonwriter.coordinator;

import org.apache.flink.util.FileUtils;

import java.nio.file.Files;
import java.nio.file.Path;

/** Compares the coordinator with Paimon's own, and prints the ratios beside the goals. */
public final class Comparison {

    private Comparison() {}

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("paimon-writer-coordinator-bench");
        int status = 1;
        try {
            BenchTable.create(folder, 100_000);
            BenchReport report = new BenchReport();
            new CallbackTimes(folder).measure(report);
            report.print();
            status = 0;
        } finally {
            FileUtils.deleteDirectoryQuietly(folder.toFile());
        }
        System.exit(status);
    }
}
