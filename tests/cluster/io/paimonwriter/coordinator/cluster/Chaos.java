package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
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

    /** A fault may last longer than the tries in place, or shorter. */
    static final Map<String, String> FEW_RETRIES =
            Map.of(
                    "sink.committer-coordinator-operator.enabled", "true",
                    "sink.committer-coordinator-operator.commit-retries", "3",
                    "sink.committer-coordinator-operator.commit-retry-initial-backoff", "200 ms");

    /** The timeouts of writers and coordinator are a minute; two of them may follow each other. */
    private static final Duration RECOVERY_LIMIT = Duration.ofMinutes(5);

    private static final long STATUS_POLLS = 200;

    /** How often in a row, before a supervisor would take a job manager for dead. */
    private static final int UNANSWERED_LIMIT = 4;

    private final ProcessCluster cluster;
    private final AppendTable table;
    private final PacedSource source;
    private final FaultPlan plan;
    private final ClusterJob job;

    private final List<Round> rounds = new ArrayList<>();
    private int diedByThemselves;
    private int unanswered;
    private long polls;

    /** Starts the job on a cluster with these numbers of task managers and slots and options. */
    Chaos(ProcessCluster cluster, Path directory, Map<String, String> tableOptions, long seed)
            throws Exception {
        this.cluster = cluster;
        Gates gates = new Gates(directory.resolve("gates"));
        FaultyFileIO fileIO = new FaultyFileIO(gates);
        Map<String, String> options = new HashMap<>(tableOptions);
        // All snapshots are looked at in the end.
        options.put("snapshot.num-retained.min", Integer.toString(Integer.MAX_VALUE));
        table = AppendTable.create(directory.resolve("table"), options);
        source = new PacedSource("rows", gates, WRITERS, ROWS_PER_SECOND);
        plan = new FaultPlan(seed, cluster, fileIO, cluster.taskManagers());
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(cluster.configuration());
        new PaimonCoordinatedSinkBuilder(table.open(fileIO))
                .forRowData(source.rows(environment))
                .parallelism(WRITERS)
                .build();
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
                new Chaos(cluster, directory, FEW_RETRIES, seed)
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
            round(plan.next());
        } while (goesOn.getAsBoolean());
        RowTally tally = end();
        report(tally);
        tally.assertExact();
        table.assertIdentifiersAscend();
    }

    /** Lets the job meet a fault of each kind, one after the other. */
    List<Round> meetEachKind() throws Exception {
        awaitCaughtUp();
        for (Function<String, Fault> kind : plan.kinds()) {
            cluster.awaitTaskManagers();
            round(List.of(kind.apply(job.writerTaskManagers().get(0))));
        }
        return rounds;
    }

    /** Lets the sources end, and returns what became of their rows when the job has finished. */
    RowTally end() throws Exception {
        long rowsPerSplit = source.end();
        job.await(
                "the job has ended", RECOVERY_LIMIT, () -> job.status().isGloballyTerminalState());
        if (job.status() != JobStatus.FINISHED) {
            throw new AssertionError("The job is " + job.status());
        }
        return RowTally.of(table, WRITERS, rowsPerSplit);
    }

    private void round(List<Fault> faults) throws Exception {
        Round round = new Round(faults, table.snapshots().size());
        rounds.add(round);
        faults.forEach(fault -> print("round %d: %s", rounds.size(), fault));
        List<Integer> starts = source.starts();
        TreeMap<Integer, List<Step>> schedule = new TreeMap<>();
        for (Fault fault : faults) {
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
        round.recoveryMillis = awaitCaughtUp();
        round.restarts = restartsSince(starts);
        print("  recovered in %d ms, restarts by subtask %s", round.recoveryMillis, round.restarts);
        cluster.killOldJobManagers();
        awaitCaughtUp();
        round.longestGapMillis = longestGapMillis(round.snapshotsBefore);
    }

    /** The longest time from one snapshot to the next, from the last of so many on. */
    private long longestGapMillis(int snapshotsBefore) throws Exception {
        List<Snapshot> snapshots = table.snapshots();
        long longest = 0;
        for (int i = snapshotsBefore; i < snapshots.size(); i++) {
            long gap = snapshots.get(i).timeMillis() - snapshots.get(i - 1).timeMillis();
            longest = Math.max(longest, gap);
        }
        return longest;
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
        JobStatus[] status = new JobStatus[1];
        if (!ProcessCluster.answers(() -> (status[0] = job.status()) != null)) {
            // A job manager whose session with ZooKeeper has expired may never lead again.
            if (++unanswered == UNANSWERED_LIMIT) {
                print("  the job manager does not answer, is ended and started again");
                cluster.killJobManager();
                diedByThemselves++;
                unanswered = 0;
            }
            return;
        }
        unanswered = 0;
        if (status[0].isGloballyTerminalState()) {
            throw new AssertionError("The job is " + status[0]);
        }
    }

    private void report(RowTally tally) throws Exception {
        Map<String, Integer> faults = new TreeMap<>();
        List<Long> recoveryMillis = new ArrayList<>();
        for (Round round : rounds) {
            round.faults.forEach(fault -> faults.merge(fault.kind, 1, Integer::sum));
            recoveryMillis.add(round.recoveryMillis);
        }
        Collections.sort(recoveryMillis);
        int total = faults.values().stream().mapToInt(Integer::intValue).sum();
        System.out.printf("%n%d faults survived in %d rounds:%n", total, rounds.size());
        faults.forEach((kind, count) -> System.out.printf("%6d  %s%n", count, kind));
        System.out.printf(
                "%6d  processes ended, or stopped to answer, by themselves%n", diedByThemselves);
        System.out.printf(
                "until the table had all that was due when the faults ended: median %d ms, longest"
                        + " %d ms%n",
                recoveryMillis.get(recoveryMillis.size() / 2),
                recoveryMillis.get(recoveryMillis.size() - 1));
        System.out.printf("starts of the subtasks: %s%n", source.starts());
        System.out.printf("rows: %s%n", tally);
        List<Snapshot> snapshots = table.snapshots();
        System.out.printf(
                "snapshots: %d of %d commit users%n",
                snapshots.size(), snapshots.stream().map(Snapshot::commitUser).distinct().count());
        // What attempts that failed or were killed leave; Paimon's orphan cleaning is for that.
        System.out.printf("files of no snapshot: %s%n", byKind(table.orphanFiles()));
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

    /** Faults that came together, and what they did. */
    static final class Round {

        final List<Fault> faults;

        /** From the end of the last fault until the table had all that was due then. */
        long recoveryMillis;

        /** The longest time without a snapshot. */
        long longestGapMillis;

        /** By subtask of the writer. */
        List<Integer> restarts;

        private final int snapshotsBefore;

        private Round(List<Fault> faults, int snapshotsBefore) {
            this.faults = faults;
            this.snapshotsBefore = snapshotsBefore;
        }
    }
}
