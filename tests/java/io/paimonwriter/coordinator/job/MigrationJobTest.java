package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** A job moves from Paimon's committer to the coordinator and back: what docs/migration.md says. */
class MigrationJobTest extends JobTest {

    /** The option behind --allowNonRestoredState. */
    private static final String IGNORE_UNCLAIMED =
            "execution.state-recovery.ignore-unclaimed-state";

    private final SourceScript script = SourceScript.create(4);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    private WriteJob writeJob(AppendTable table, boolean coordinated) {
        WriteJob job = new WriteJob(script, table).through(gate);
        return coordinated ? job : job.withPaimonsCommitter();
    }

    private String savepoints() {
        return directory.resolve("savepoints").toUri().toString();
    }

    @ParameterizedTest(name = "first with the coordinator: {0}")
    @ValueSource(booleans = {false, true})
    void h26ThereAndBackThroughStopsWithSavepoint(boolean coordinatedFirst) throws Exception {
        AppendTable table = createTable();
        gate.delay(Duration.ofMillis(300));
        String path = null;
        for (int leg = 0; leg < 3; leg++) {
            WriteJob writeJob = writeJob(table, coordinatedFirst == (leg % 2 == 0));
            if (path != null) {
                writeJob.restoreFrom(path).flinkOption(IGNORE_UNCLAIMED, "true");
            }
            try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
                long first = checkpointAfterRestore(script, job, 50);
                script.allowAll(30).awaitDrained();
                script.failJob();
                job.awaitRestoredFrom(first);
                table.awaitIdentifier(checkpointAfterRestore(script, job, 20));
                script.allowAll(10).awaitDrained();
                path = job.stopWithSavepoint(savepoints(), false);
            }
            table.assertHolds(script.ids());
        }
        List<Long> identifiers = table.identifiers();
        assertEquals(List.copyOf(new TreeSet<>(identifiers)), identifiers, "ascending");
        assertEquals(3, table.commitUsers().size(), "one commit user for each leg");
    }

    @ParameterizedTest(name = "from the coordinator: {0}, {1}")
    @CsvSource({
        "false, savepoint",
        "true, savepoint",
        "false, checkpoint",
        "true, checkpoint",
        "false, stop",
        "true, stop",
    })
    void h26WithoutTheFlagTheOtherSinkIsRefusedAndNothingIsLost(boolean coordinated, String kind)
            throws Exception {
        AppendTable table = createTable();
        String path;
        WriteJob first =
                writeJob(table, coordinated)
                        .retainCheckpointsIn(directory.resolve("checkpoints").toUri().toString());
        try (RunningJob job = first.submitTo(cluster).awaitRunning()) {
            table.awaitIdentifier(checkpointAfterRows(script, job, 100));
            script.allowAll(50).awaitDrained();
            if (kind.equals("savepoint")) {
                // Flink tells nobody that a plain savepoint has completed, so it is not committed.
                path = job.savepoint(savepoints());
            } else if (kind.equals("checkpoint")) {
                gate.hold();
                job.checkpoint();
                Await.until("its commit has begun", () -> gate.inFlight() == 1);
                path = job.latestCheckpointPath();
            } else {
                path = job.stopWithSavepoint(savepoints(), false);
            }
            if (!kind.equals("stop")) {
                gate.breakDown();
                job.cancel();
            }
        }
        List<Long> identifiers = table.identifiers();
        gate.repair();

        WriteJob other = writeJob(table, !coordinated).restoreFrom(path);
        String refusal = stackTrace(assertThrows(Exception.class, () -> other.submitTo(cluster)));
        assertTrue(refusal.contains("Cannot map checkpoint/savepoint state for operator"), refusal);
        assertTrue(refusal.contains("--allowNonRestoredState"), refusal);
        assertEquals(identifiers, table.identifiers());

        WriteJob same = writeJob(table, coordinated).restoreFrom(path);
        try (RunningJob job = same.submitTo(cluster).awaitRunning()) {
            table.awaitIdentifier(checkpointAfterRestore(script, job, 10));
            table.assertHolds(script.ids());
        }
    }

    private static String stackTrace(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    /** Flink names the savepoint that it has taken, and only the same sink may go on from it. */
    @ParameterizedTest(name = "with the coordinator: {0}")
    @ValueSource(booleans = {false, true})
    void h26AStopWhoseCommitFailsIsReportedAndTheSameSinkCommits(boolean coordinated)
            throws Exception {
        AppendTable table = createTable();
        WriteJob failing =
                writeJob(table, coordinated)
                        .tableOption("commit.max-retries", "0")
                        .option("commit-retries", "0");
        String path;
        try (RunningJob job = failing.submitTo(cluster).awaitRunning()) {
            table.awaitIdentifier(checkpointAfterRows(script, job, 100));
            gate.breakDown();
            script.allowAll(50).awaitDrained();
            Exception stop =
                    assertThrows(
                            ExecutionException.class,
                            () -> job.stopWithSavepoint(savepoints(), false));
            Matcher savepoint =
                    Pattern.compile("A savepoint has been created at: ([^ ,]+)")
                            .matcher(stackTrace(stop));
            assertTrue(savepoint.find(), () -> stackTrace(stop));
            path = savepoint.group(1);
            job.awaitFailed();
        }
        assertEquals(1, table.identifiers().size());
        gate.repair();
        try (RunningJob job =
                writeJob(table, coordinated).restoreFrom(path).submitTo(cluster).awaitRunning()) {
            table.awaitIdentifier(checkpointAfterRestore(script, job, 10));
            table.assertHolds(script.ids());
        }
    }

    /** The source has no uid: Flink's generated ids are the same with both sinks. */
    @Test
    void h26SqlThereAndBackThroughStopsWithSavepoint() throws Exception {
        // More than the test takes: the source must not end while the job is being stopped.
        long rows = 200_000;
        AppendTable table = AppendTable.at(directory.resolve("default.db").resolve("t"));
        String path = null;
        for (int leg = 0; leg < 3; leg++) {
            StreamTableEnvironment tables = sqlEnvironment(path);
            tables.executeSql(
                    "CREATE TABLE IF NOT EXISTS t (id BIGINT) WITH ('bucket' = '-1', 'write-only'"
                            + " = 'true')");
            tables.executeSql(
                    String.format(
                            "ALTER TABLE t SET ('sink.committer-coordinator-operator.enabled' ="
                                    + " '%s')",
                            leg % 2 == 1));
            tables.executeSql(
                    String.format(
                            "CREATE TEMPORARY TABLE numbers (id BIGINT) WITH ('connector' ="
                                    + " 'datagen', 'rows-per-second' = '2000', 'fields.id.kind' ="
                                    + " 'sequence', 'fields.id.start' = '1', 'fields.id.end' ="
                                    + " '%d')",
                            rows));
            long before = path == null ? 0 : ids(table).size();
            try (RunningJob job =
                    cluster.attach(
                            tables.executeSql("INSERT INTO t SELECT id FROM numbers")
                                    .getJobClient()
                                    .get())) {
                job.awaitRunning();
                Await.until(
                        "some rows are in the table",
                        () -> !table.snapshots().isEmpty() && ids(table).size() > before);
                path = job.stopWithSavepoint(savepoints(), false);
            }
        }
        List<Long> ids = ids(table);
        assertEquals(
                LongStream.rangeClosed(1, ids.size()).boxed().collect(Collectors.toList()), ids);
        assertEquals(3, table.commitUsers().size(), "one commit user for each leg");
    }

    private StreamTableEnvironment sqlEnvironment(String path) throws Exception {
        var configuration = cluster.jobConfiguration(1, Duration.ofMillis(300));
        if (path != null) {
            TestCluster.restoreFrom(configuration, path);
            configuration.setString(IGNORE_UNCLAIMED, "true");
        }
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(new StreamExecutionEnvironment(configuration));
        tables.executeSql(
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon-coordinated', 'warehouse' ="
                                + " '%s')",
                        directory.toUri()));
        tables.useCatalog("lake");
        return tables;
    }

    /** The ids in the table, sorted, each as often as it is there. */
    private static List<Long> ids(AppendTable table) throws Exception {
        List<Long> ids = new ArrayList<>();
        table.forEachRow(row -> ids.add(row.getLong(0)));
        ids.sort(null);
        return ids;
    }
}
