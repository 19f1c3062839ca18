package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder;
import io.paimonwriter.coordinator.job.AppendTable;
import io.paimonwriter.coordinator.job.Await;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.util.FileUtils;
import org.apache.paimon.Snapshot;
import org.apache.paimon.fs.local.LocalFileIO;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * What the loss of one task manager costs a streaming job on a cluster of processes, for each way
 * of committing: tasks that restart, time, rows.
 */
public final class TaskManagerLoss {

    private static final int WRITERS = 3;
    private static final long ROWS_PER_SECOND = 30_000;
    private static final long SECONDS_BEFORE = 15;
    private static final long SECONDS_AFTER = 25;
    private static final Duration LIMIT = Duration.ofSeconds(90);

    /** Flink's defaults wherever these matter for a recovery, but for a shorter heartbeat. */
    private static final Map<String, String> OPTIONS =
            Map.of(
                    "execution.checkpointing.interval", "1 s",
                    "heartbeat.interval", "1 s",
                    "heartbeat.timeout", "5 s",
                    "restart-strategy.fixed-delay.delay", "1 s");

    /** One job that lost a task manager. */
    private static final class Run {
        final Sink sink;
        int tasks;
        int restarted;

        /** From the kill until all tasks run. */
        long recoveryMillis;

        /** The longest time from one snapshot to the next, after the kill. */
        long longestGapMillis;

        /** Rows that would be in the table by now if nothing had happened. */
        long rowsBehind;

        /** Rows that the sources made, by second since the kill. */
        TreeMap<Long, Long> madeBySecond;

        /** Rows in the table, by milliseconds since the kill. */
        final TreeMap<Long, Long> inTableByMillis = new TreeMap<>();

        Run(Sink sink) {
            this.sink = sink;
        }
    }

    private TaskManagerLoss() {}

    /** The number of rounds, then the file for the curves of the last round. */
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        Path curves = Path.of(arguments[1]).toAbsolutePath();
        Path directory = Files.createTempDirectory("task-manager-loss");
        List<Run> runs = new ArrayList<>();
        try {
            for (int round = 1; round <= rounds; round++) {
                for (Sink sink : Sink.values()) {
                    System.out.printf("round %d of %d: %s%n", round, rounds, sink.title);
                    runs.add(measure(sink, directory.resolve(round + "-" + sink)));
                }
            }
        } finally {
            FileUtils.deleteDirectory(directory.toFile());
        }
        printTable(runs, rounds);
        writeCurves(runs.subList(runs.size() - Sink.values().length, runs.size()), curves);
    }

    private static Run measure(Sink sink, Path directory) throws Exception {
        AppendTable table = AppendTable.create(directory.resolve("table"), sink.options);
        MeteredRows rows = new MeteredRows(directory.resolve("meters"));
        Run run = new Run(sink);
        // One task manager is a spare.
        try (ProcessCluster cluster =
                ProcessCluster.start(directory.resolve("cluster"), WRITERS + 1, 1, OPTIONS)) {
            ClusterJob job = submit(cluster, table, rows);
            job.await("the first snapshot", () -> !table.identifiers().isEmpty());
            awaitTime(System.currentTimeMillis() + SECONDS_BEFORE * 1000);
            List<Integer> before = job.attempts();
            JavaProcess lost = cluster.taskManager(job.writerTaskManagers().get(1));
            long kill = System.currentTimeMillis();
            lost.kill();
            job.await(
                    "all tasks run again",
                    () -> !job.attempts().equals(before) && job.isWhollyRunning());
            run.recoveryMillis = System.currentTimeMillis() - kill;
            awaitTime(kill + SECONDS_AFTER * 1000);
            List<Integer> after = job.attempts();
            run.tasks = after.size();
            run.restarted =
                    (int)
                            IntStream.range(0, run.tasks)
                                    .filter(task -> !after.get(task).equals(before.get(task)))
                                    .count();
            job.cancel();
            read(run, table, rows, kill);
        }
        return run;
    }

    private static ClusterJob submit(ProcessCluster cluster, AppendTable table, MeteredRows rows)
            throws Exception {
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        environment.setParallelism(WRITERS);
        DataGeneratorSource<RowData> source =
                new DataGeneratorSource<>(
                        rows,
                        Long.MAX_VALUE,
                        RateLimiterStrategy.perSecond(ROWS_PER_SECOND),
                        InternalTypeInfo.ofFields(
                                new BigIntType(),
                                new IntType(),
                                new VarCharType(VarCharType.MAX_LENGTH)));
        new PaimonCoordinatedSinkBuilder(table.open(LocalFileIO.create()))
                .forRowData(
                        environment.fromSource(
                                source, WatermarkStrategy.noWatermarks(), "sequence"))
                .build();
        return cluster.submit(environment);
    }

    private static void read(Run run, AppendTable table, MeteredRows rows, long kill)
            throws Exception {
        run.madeBySecond = rows.bySecond(kill);
        long previous = 0;
        for (Snapshot snapshot : table.snapshots()) {
            long time = snapshot.timeMillis() - kill;
            if (time > 0) {
                run.longestGapMillis = Math.max(run.longestGapMillis, time - previous);
            }
            previous = time;
            run.inTableByMillis.put(time, snapshot.totalRecordCount());
        }
        // As if nothing had happened, from the last snapshot before the kill on.
        Map.Entry<Long, Long> last = run.inTableByMillis.floorEntry(0L);
        Map.Entry<Long, Long> end = run.inTableByMillis.lastEntry();
        long expected = last.getValue() + (end.getKey() - last.getKey()) * ROWS_PER_SECOND / 1000;
        run.rowsBehind = expected - end.getValue();
        checkRows(table);
    }

    /** The sequence is dealt out in one range for each reader; in the table none has a gap. */
    private static void checkRows(AppendTable table) throws Exception {
        LongStream.Builder ids = LongStream.builder();
        table.forEachRow(row -> ids.add(row.getLong(0)));
        long[] sorted = ids.build().sorted().toArray();
        long twice = 0;
        long ranges = 1;
        for (int i = 1; i < sorted.length; i++) {
            twice += sorted[i] == sorted[i - 1] ? 1 : 0;
            ranges += sorted[i] > sorted[i - 1] + 1 ? 1 : 0;
        }
        if (twice > 0 || ranges > WRITERS) {
            throw new AssertionError(
                    String.format(
                            "Of %d rows %d are there twice, and there are %d gaps",
                            sorted.length, twice, ranges - WRITERS));
        }
    }

    private static void awaitTime(long millis) {
        Await.until("time goes by", LIMIT, () -> System.currentTimeMillis() >= millis, () -> "");
    }

    private static void printTable(List<Run> runs, int rounds) {
        System.out.printf(
                "%n%s, %d processors, Flink %s, medians of %d rounds: %d writers, %d rows/s,"
                        + " a checkpoint each second, one task manager of %d killed%n%n",
                LocalDate.now(),
                Runtime.getRuntime().availableProcessors(),
                EnvironmentInformation.getVersion(),
                rounds,
                WRITERS,
                ROWS_PER_SECOND,
                WRITERS + 1);
        System.out.println(
                "| commits | tasks restarted | all run again | longest time without a snapshot |"
                        + " rows behind after "
                        + SECONDS_AFTER
                        + " s |");
        System.out.println("| --- | --- | --- | --- | --- |");
        for (Sink sink : Sink.values()) {
            List<Run> own =
                    runs.stream().filter(run -> run.sink == sink).collect(Collectors.toList());
            System.out.printf(
                    "| %s | %d of %d | %.1f s | %.1f s | %,d |%n",
                    sink.title,
                    median(own, run -> run.restarted),
                    median(own, run -> run.tasks),
                    median(own, run -> run.recoveryMillis) / 1000.0,
                    median(own, run -> run.longestGapMillis) / 1000.0,
                    median(own, run -> run.rowsBehind));
        }
    }

    private static long median(List<Run> runs, ToLongFunction<Run> figure) {
        long[] sorted = runs.stream().mapToLong(figure).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private static void writeCurves(List<Run> runs, Path file) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add("commits,curve,seconds since the kill,rows");
        for (Run run : runs) {
            run.madeBySecond.forEach(
                    (second, rows) ->
                            lines.add(run.sink.title + ",made per second," + second + "," + rows));
            run.inTableByMillis.forEach(
                    (millis, rows) ->
                            lines.add(
                                    run.sink.title + ",in table," + millis / 1000.0 + "," + rows));
        }
        Files.write(file, lines);
    }
}
