package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.cluster.Chaos.Round;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.util.FileUtils;

import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What each kind of fault costs a streaming job on a cluster of processes, for each way of
 * committing: restarts of writers, and the longest time without a snapshot.
 */
public final class FaultCosts {

    private static final long ANY_SEED = 0;

    private FaultCosts() {}

    /** The folder for the clusters and tables. */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]).toAbsolutePath();
        FileUtils.deleteDirectory(directory.toFile());
        Map<Sink, List<Round>> rounds = new EnumMap<>(Sink.class);
        List<String> tallies = new ArrayList<>();
        for (Sink sink : Sink.values()) {
            System.out.printf("%n%s%n", sink.title);
            Path own = directory.resolve(sink.name().toLowerCase());
            try (ProcessCluster cluster =
                    ProcessCluster.start(own, Chaos.TASK_MANAGERS, Chaos.SLOTS, Chaos.OPTIONS)) {
                Chaos chaos = new Chaos(cluster, own, sink.options, ANY_SEED);
                rounds.put(sink, chaos.meetEachKind());
                tallies.add(sink.title + ": " + chaos.end());
            }
        }
        printTable(rounds);
        System.out.printf("%nRows. %s%n", String.join("; ", tallies));
    }

    private static void printTable(Map<Sink, List<Round>> rounds) {
        System.out.printf(
                "%n%s, %d processors, Flink %s: 4 writers, a checkpoint each 0.5 s,"
                        + " heartbeat.timeout %d s; restarts of writers, and the longest time"
                        + " without a snapshot%n%n",
                LocalDate.now(),
                Runtime.getRuntime().availableProcessors(),
                EnvironmentInformation.getVersion(),
                FaultPlan.HEARTBEAT_TIMEOUT_MILLIS / 1000);
        String titles =
                rounds.keySet().stream().map(sink -> sink.title).collect(Collectors.joining(" | "));
        System.out.printf("| fault | lasts | %s |%n", titles);
        System.out.println("| --- | --- |" + " --- |".repeat(rounds.size()));
        int kinds = rounds.get(Sink.COORDINATOR).size();
        for (int kind = 0; kind < kinds; kind++) {
            int index = kind;
            FaultPlan.Fault fault = rounds.get(Sink.COORDINATOR).get(kind).faults.get(0);
            String cells =
                    rounds.values().stream()
                            .map(each -> describe(each.get(index)))
                            .collect(Collectors.joining(" | "));
            System.out.printf("| %s | %d s | %s |%n", fault.kind, fault.millis / 1000, cells);
        }
    }

    private static String describe(Round round) {
        int restarts = round.restarts.stream().mapToInt(Integer::intValue).sum();
        return String.format("%d, %.1f s", restarts, round.longestGapMillis / 1000.0);
    }
}
