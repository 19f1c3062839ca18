package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.cluster.FaultPlan.Fault;
import io.paimonwriter.coordinator.cluster.FaultPlan.Step;
import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.FileUtils;
import org.apache.paimon.Snapshot;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * A streaming job on a cluster of processes, and faults drawn from a seed, round after round. After
 * each round everything that was due by then has to come into the table; in the end the job has to
 * finish, and the table has to hold every row once.
 */
public final class Chaos {

    static final int TASK_MANAGERS = 3;
    static final int SLOTS = 2;

    /** So that the loss of any one task manager leaves enough slots. */
    private static final int WRITERS = 4;

    private static final long ROWS_PER_SECOND = 250;

    static final Map<String, String> OPTIONS =
            Map.of(
                    "execution.checkpointing.interval", "500 ms",
                    "execution.checkpointing.timeout", "30 s",
                    "restart-strategy.fixed-delay.attempts", Integer.toString(Integer.MAX_VALUE),
                    "heartbeat.interval", "1 s",
                    "heartbeat.timeout", FaultPlan.HEARTBEAT_TIMEOUT_MILLIS + " ms");

    private static final Map<String, String> TABLE_OPTIONS =
            Map.of(
                    // All snapshots are looked at in the end.
                    "snapshot.num-retained.min", Integer.toString(Integer.MAX_VALUE),
                    // A fault may last longer than the tries in place, or shorter.
                    "sink.committer-coordinator-operator.commit-retries", "3",
                    "sink.committer-coordinator-operator.commit-retry-initial-backoff", "200 ms");

    /** The timeouts of writers and coordinator are a minute; two of them may follow each other. */
    private static final Duration RECOVERY_LIMIT = Duration.ofMinutes(5);

    private static final long STATUS_POLLS = 200;

    private final ProcessCluster cluster;
    private final AppendTable table;
    private final PacedSource source;
    private final FaultPlan plan;
    private final ClusterJob job;

    private final Map<String, Integer> faults = new TreeMap<>();
    private final List<Long> recoveryMillis = new ArrayList<>();
    private int rounds;
    private int diedByThemselves;
    private long polls;

    /** Starts the job on a cluster with these numbers of task managers and slots and options. */
    Chaos(ProcessCluster cluster, Path directory, long seed) throws Exception {
        this.cluster = cluster;
        Gates gates = new Gates(directory.resolve("gates"));
        FaultyFileIO fileIO = new FaultyFileIO(gates);
        table = AppendTable.create(directory.resolve("table"), TABLE_OPTIONS);
        source = new PacedSource("rows", gates, WRITERS, ROWS_PER_SECOND);
        plan = new FaultPlan(seed, cluster, fileIO, cluster.taskManagers());
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        ClusterTest.write(source, table, fileIO, environment);
        job = cluster.submit(environment);
    }

    /** The folder, minutes, and a seed. */
    public static void main(String[] arguments) {
        Path directory = Path.of(arguments[0]).toAbsolutePath();
        long nanos = TimeUnit.MINUTES.toNanos(Long.parseLong(arguments[1]));
        long seed = Long.parseLong(arguments[2]);
        int status = 1;
        try {
            FileUtils.deleteDirectory(directory.toFile());
            try (ProcessCluster cluster =
                    ProcessCluster.start(directory, TASK_MANAGERS, SLOTS, OPTIONS)) {
                long startNanos = System.nanoTime();
                new Chaos(cluster, directory, seed)
                        .run(() -> System.nanoTime() - startNanos < nanos);
                status = 0;
            }
        } catch (Throwable t) {
            t.printStackTrace(System.out);
            System.out.printf("%nNOT well. The logs and the table are in %s%n", directory);
        }
        System.exit(status);
    }

    /** One round of faults, more of them for as long as {@code goesOn}, and the check. */
    void run(BooleanSupplier goesOn) throws Exception {
        awaitCaughtUp();
        do {
            round();
        } while (goesOn.getAsBoolean());
        long rowsPerSplit = source.end();
        job.await(
                "the job has ended", RECOVERY_LIMIT, () -> job.status().isGloballyTerminalState());
        if (job.status() != JobStatus.FINISHED) {
            throw new AssertionError("The job is " + job.status());
        }
        report(rowsPerSplit);
    }

    private void round() throws Exception {
        List<Fault> next = plan.next();
        rounds++;
        next.forEach(fault -> print("round %d: %s", rounds, fault));
        next.forEach(fault -> faults.merge(fault.kind, 1, Integer::sum));
        List<Integer> starts = source.starts();
        TreeMap<Integer, List<Step>> schedule = new TreeMap<>();
        for (Fault fault : next) {
            schedule.computeIfAbsent(fault.delayMillis, at -> new ArrayList<>()).add(fault::begin);
            schedule.computeIfAbsent(fault.delayMillis + fault.millis, at -> new ArrayList<>())
                    .add(fault::end);
        }
        long startNanos = System.nanoTime();
        for (Map.Entry<Integer, List<Step>> entry : schedule.entrySet()) {
            long dueNanos = startNanos + TimeUnit.MILLISECONDS.toNanos(entry.getKey());
            TimeUnit.NANOSECONDS.sleep(dueNanos - System.nanoTime());
            for (Step step : entry.getValue()) {
                step.run();
            }
        }
        long millis = awaitCaughtUp();
        recoveryMillis.add(millis);
        print("  recovered in %d ms, restarts by subtask %s", millis, restartsSince(starts));
        cluster.killOldJobManagers();
        awaitCaughtUp();
    }

    private List<Integer> restartsSince(List<Integer> before) throws Exception {
        List<Integer> restarts = new ArrayList<>(source.starts());
        for (int subtask = 0; subtask < WRITERS; subtask++) {
            restarts.set(subtask, restarts.get(subtask) - before.get(subtask));
        }
        return restarts;
    }

    /** Returns, once all rows are in the table that are due now, how many milliseconds it took. */
    private long awaitCaughtUp() {
        long startNanos = System.nanoTime();
        long due = source.due() * WRITERS;
        job.await(
                due + " rows are in the table",
                RECOVERY_LIMIT,
                () -> {
                    if (table.rowCount() >= due) {
                        return true;
                    }
                    if (++polls % STATUS_POLLS == 0) {
                        superviseAndLook();
                    }
                    return false;
                });
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    }

    private void superviseAndLook() throws Exception {
        for (String name : cluster.startTheDead()) {
            print("  %s has ended by itself and is started again", name);
            diedByThemselves++;
        }
        JobStatus status = job.status();
        if (status.isGloballyTerminalState()) {
            throw new AssertionError("The job is " + status);
        }
    }

    /** Prints the numbers. Throws when they are not all right. */
    private void report(long rowsPerSplit) throws Exception {
        int[][] counts = new int[WRITERS][Math.toIntExact(rowsPerSplit)];
        List<Long> unexpected = new ArrayList<>();
        table.forEachRow(
                row -> {
                    long id = row.getLong(0);
                    long split = id / GatedSource.STRIDE;
                    long position = id % GatedSource.STRIDE;
                    if (split < WRITERS && position < rowsPerSplit) {
                        counts[(int) split][(int) position]++;
                    } else {
                        unexpected.add(id);
                    }
                });
        List<Long> lost = new ArrayList<>();
        List<Long> repeated = new ArrayList<>();
        for (int split = 0; split < WRITERS; split++) {
            for (int position = 0; position < rowsPerSplit; position++) {
                int count = counts[split][position];
                if (count != 1) {
                    (count == 0 ? lost : repeated).add(split * GatedSource.STRIDE + position);
                }
            }
        }
        Collections.sort(recoveryMillis);
        int total = faults.values().stream().mapToInt(Integer::intValue).sum();
        System.out.printf("%n%d faults survived in %d rounds:%n", total, rounds);
        faults.forEach((kind, count) -> System.out.printf("%6d  %s%n", count, kind));
        System.out.printf("%6d  processes ended by themselves%n", diedByThemselves);
        System.out.printf(
                "until the table had all that was due when the faults ended: median %d ms, longest"
                        + " %d ms%n",
                recoveryMillis.get(recoveryMillis.size() / 2),
                recoveryMillis.get(recoveryMillis.size() - 1));
        System.out.printf("starts of the subtasks: %s%n", source.starts());
        System.out.printf(
                "rows: %d emitted, %d lost, %d twice, %d unexpected%n",
                WRITERS * rowsPerSplit, lost.size(), repeated.size(), unexpected.size());
        List<Snapshot> snapshots = table.snapshots();
        System.out.printf(
                "snapshots: %d of %d commit users%n",
                snapshots.size(), snapshots.stream().map(Snapshot::commitUser).distinct().count());
        // What attempts that failed or were killed leave; Paimon's orphan cleaning is for that.
        System.out.printf("files of no snapshot: %s%n", byKind(table.orphanFiles()));
        if (!lost.isEmpty() || !repeated.isEmpty() || !unexpected.isEmpty()) {
            throw new AssertionError(
                    String.format(
                            "lost %s, twice %s, unexpected %s",
                            some(lost), some(repeated), some(unexpected)));
        }
        table.assertIdentifiersAscend();
    }

    private static String some(List<Long> ids) {
        return ids.subList(0, Math.min(ids.size(), 10)).toString();
    }

    /** How many of them have each beginning, up to the first "-". */
    private static Map<String, Long> byKind(List<String> names) {
        return names.stream()
                .collect(
                        Collectors.groupingBy(
                                name -> name.split("-")[0], TreeMap::new, Collectors.counting()));
    }

    private static void print(String format, Object... arguments) {
        System.out.printf("%tT %s%n", System.currentTimeMillis(), String.format(format, arguments));
    }
}
