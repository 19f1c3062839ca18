package io.paimonwriter.coordinator.demo;

import io.paimonwriter.coordinator.job.AppendTable;
import io.paimonwriter.coordinator.job.RunningJob;
import io.paimonwriter.coordinator.job.TestCluster;

import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.util.FileUtils;
import org.apache.paimon.Snapshot;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/**
 * Writes a stream into a Paimon table while one writer task fails: once with the commit in the
 * JobManager, once with Paimon's own committer. Shows which tasks restarted and what is in the
 * tables, and ends with status 0 only if all is as it should be.
 */
public final class Demo {

    private static final int PARALLELISM = 4;
    private static final int FAILING_SUBTASK = 2;
    private static final long ROWS = 301_234;
    private static final long ROWS_PER_SECOND = 20_000;
    private static final Duration CHECKPOINT_INTERVAL = Duration.ofSeconds(2);
    private static final Duration LIMIT = Duration.ofSeconds(70);

    private final TestCluster cluster;
    private final Path warehouse;
    private final List<String> problems = new ArrayList<>();

    private Demo(TestCluster cluster, Path warehouse) {
        this.cluster = cluster;
        this.warehouse = warehouse;
    }

    public static void main(String[] arguments) {
        boolean asExpected = false;
        try {
            Path warehouse = Files.createTempDirectory("paimon-writer-coordinator-demo");
            try (TestCluster cluster = TestCluster.start(PARALLELISM)) {
                Demo demo = new Demo(cluster, warehouse);
                demo.run();
                asExpected = demo.problems.isEmpty();
            } finally {
                FileUtils.deleteDirectoryQuietly(warehouse.toFile());
            }
        } catch (Exception e) {
            System.err.println("The demo itself broke:");
            e.printStackTrace();
        }
        System.exit(asExpected ? 0 : 1);
    }

    private void run() throws Exception {
        print("Paimon Writer Coordinator: one writer task fails, one region restarts");
        print("");
        print(
                "  stream      %,d rows, %,d a second, %d subtasks",
                ROWS, ROWS_PER_SECOND, PARALLELISM);
        print("  failure     subtask %d fails on purpose, once, in the middle", FAILING_SUBTASK);
        print("  checkpoint  every %d s", CHECKPOINT_INTERVAL.getSeconds());
        print("  warehouse   %s (removed at the end)", warehouse);

        print(
                "%n1. The JobManager commits ('sink.committer-coordinator-operator.enabled' ="
                        + " 'true')");
        List<Integer> oneRegion = List.of(0, 0, 1, 0);
        writeAndCheck("coordinated", true, oneRegion);

        print("");
        print(
                "2. For contrast, the same job without the option: a committer task joins all"
                        + " writers");
        List<Integer> everything = List.of(1, 1, 1, 1);
        writeAndCheck("uncoordinated", false, everything);

        print("");
        if (problems.isEmpty()) {
            print("All is as expected.");
        } else {
            print("NOT as expected:");
            problems.forEach(problem -> print("  - %s", problem));
        }
    }

    private void writeAndCheck(String name, boolean coordinated, List<Integer> expectedRestarts)
            throws Exception {
        AppendTable table = AppendTable.at(warehouse.resolve("default.db").resolve(name));
        PayloadOf.failureIsDue.set(true);
        try (RunningJob job = submit(name, coordinated)) {
            JobStatus status = watch(job, table);
            if (status != JobStatus.FINISHED) {
                problems.add(name + ": " + job.describe());
            }
            showVertices(name, job, coordinated, expectedRestarts);
        }
        showSnapshots(name, table);
        showRows(name, table);
    }

    private RunningJob submit(String name, boolean coordinated) throws Exception {
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(
                        new StreamExecutionEnvironment(
                                cluster.jobConfiguration(PARALLELISM, CHECKPOINT_INTERVAL)));
        tables.executeSql(
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon-coordinated', 'warehouse' ="
                                + " '%s')",
                        warehouse.toUri()));
        tables.executeSql(
                String.format(
                        "CREATE TABLE lake.`default`.%s (id BIGINT, payload STRING) WITH ('bucket'"
                                + " = '-1', 'write-only' = 'true',"
                                + " 'sink.committer-coordinator-operator.enabled' = '%b')",
                        name, coordinated));
        tables.executeSql(
                String.format(
                        "CREATE TEMPORARY TABLE numbers (id BIGINT) WITH ('connector' = 'datagen',"
                                + " 'rows-per-second' = '%d', 'fields.id.kind' = 'sequence',"
                                + " 'fields.id.start' = '0', 'fields.id.end' = '%d')",
                        ROWS_PER_SECOND, ROWS - 1));
        tables.createTemporarySystemFunction("payload_of", PayloadOf.class);
        String insert =
                String.format(
                        "INSERT INTO lake.`default`.%s SELECT id, payload_of(id) FROM numbers",
                        name);
        print("   %s", insert);
        return cluster.attach(tables.executeSql(insert).getJobClient().get());
    }

    /** Prints how far the job is until it ends by itself or the time is up. */
    private JobStatus watch(RunningJob job, AppendTable table) throws Exception {
        boolean terminal = System.console() != null;
        long startNanos = System.nanoTime();
        long nextSecond = 0;
        JobStatus status = job.status();
        while (!status.isGloballyTerminalState()) {
            long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNanos);
            if (seconds > LIMIT.getSeconds()) {
                return status;
            }
            if (seconds >= nextSecond) {
                nextSecond = seconds + (terminal ? 1 : 4);
                System.out.printf(
                        "%s   %2d s  %-10s  %,9d rows committed%s",
                        terminal ? "\r" : "",
                        seconds,
                        status,
                        committedRows(table),
                        terminal ? "" : "\n");
                System.out.flush();
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            status = job.status();
        }
        if (terminal) {
            System.out.println();
        }
        return status;
    }

    private static long committedRows(AppendTable table) throws Exception {
        List<Snapshot> snapshots = table.snapshots();
        return snapshots.isEmpty() ? 0 : snapshots.get(snapshots.size() - 1).totalRecordCount();
    }

    private void showVertices(
            String name, RunningJob job, boolean coordinated, List<Integer> expectedRestarts)
            throws Exception {
        boolean hasCommitter = false;
        Set<Integer> restartedSubtasks = new TreeSet<>();
        print("%n   restarts of each subtask   vertex");
        for (AccessExecutionJobVertex vertex : job.vertices()) {
            boolean isCommitter = vertex.getName().contains("Global Committer");
            hasCommitter |= isCommitter;
            List<Integer> restarts = RunningJob.attempts(vertex);
            for (int subtask = 0; subtask < restarts.size(); subtask++) {
                if (restarts.get(subtask) > 0) {
                    restartedSubtasks.add(subtask);
                }
            }
            print("   %-24s   %s", restarts, vertex.getName());
            expect(
                    name,
                    "restarts of " + vertex.getName(),
                    expectedRestarts.subList(0, isCommitter ? 1 : PARALLELISM),
                    restarts);
        }
        print("   restarted: the pipelines of subtasks %s", restartedSubtasks);
        expect(name, "the job has a committer task", !coordinated, hasCommitter);
    }

    private void showSnapshots(String name, AppendTable table) throws Exception {
        print("%n   snapshot   identifier     kind        rows added   rows in total");
        long previous = 0;
        for (Snapshot snapshot : table.snapshots()) {
            long identifier = snapshot.commitIdentifier();
            print(
                    "   %8d   %-12s   %-9s   %,10d   %,13d",
                    snapshot.id(),
                    identifier == Long.MAX_VALUE ? "end of input" : Long.toString(identifier),
                    snapshot.commitKind(),
                    snapshot.deltaRecordCount(),
                    snapshot.totalRecordCount());
            expect(name, "identifier " + identifier + " is new", true, identifier > previous);
            previous = identifier;
        }
        expect(name, "the last snapshot's identifier", Long.MAX_VALUE, previous);
    }

    private void showRows(String name, AppendTable table) throws Exception {
        Content sent = new Content();
        for (long id = 0; id < ROWS; id++) {
            sent.add(id, PayloadOf.payload(id));
        }
        Content found = new Content();
        table.forEachRow(row -> found.add(row.getLong(0), row.getString(1).toString()));
        print("%n   sent       %s", sent);
        print("   in table   %s", found);
        expect(name, "content", sent.toString(), found.toString());
    }

    private void expect(String name, String what, Object expected, Object actual) {
        if (!expected.equals(actual)) {
            problems.add(
                    String.format("%s: %s: expected %s, found %s", name, what, expected, actual));
        }
    }

    private static void print(String format, Object... arguments) {
        System.out.println(String.format(format, arguments));
    }

    /** Count and checksums of rows in any order: a lost, repeated or changed row shows. */
    private static final class Content {

        private final CRC32 crc = new CRC32();
        private long rows;
        private long idSum;
        private long rowChecksum;

        void add(long id, String payload) {
            rows++;
            idSum += id;
            crc.reset();
            crc.update((id + payload).getBytes(StandardCharsets.UTF_8));
            rowChecksum += crc.getValue();
        }

        @Override
        public String toString() {
            return String.format(
                    "%,d rows, sum of ids %,d, checksum %016x", rows, idSum, rowChecksum);
        }
    }

    /** SQL function payload_of(id). In one subtask, in the middle of the stream, it fails once. */
    public static final class PayloadOf extends ScalarFunction {

        private static final long serialVersionUID = 1L;

        /** Outlives the task that fails, so that its successor does not fail again. */
        static final AtomicBoolean failureIsDue = new AtomicBoolean();

        public String eval(Long id) {
            // The source deals its numbers out, one to each subtask in turn.
            boolean failing = id % PARALLELISM == FAILING_SUBTASK && id >= ROWS / 2;
            if (failing && failureIsDue.getAndSet(false)) {
                throw new IllegalStateException("This task fails on purpose.");
            }
            return payload(id);
        }

        static String payload(long id) {
            return "payload of row " + id;
        }
    }
}
