package io.paimonwriter.coordinator;

import static io.paimonwriter.coordinator.SinkPlans.APPEND;
import static io.paimonwriter.coordinator.SinkPlans.ENABLED;
import static io.paimonwriter.coordinator.SinkPlans.ON;
import static io.paimonwriter.coordinator.SinkPlans.assertCoordinated;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.paimon.flink.FlinkCatalog;
import org.apache.paimon.table.FileStoreTable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What the coordinated sink cannot do is refused while the job is planned. */
class SinkPreconditionsTest {

    private static final String MODE = "execution.runtime-mode";
    private static final String INTERVAL = "execution.checkpointing.interval";

    @TempDir Path warehouse;

    private static void assertContains(String message, String... parts) {
        for (String part : parts) {
            assertTrue(message.contains(part), () -> "'" + part + "' is missing in: " + message);
        }
    }

    @Test
    void theFormOfEveryMessage() {
        assertEquals(
                "Table d.t cannot be written with option"
                        + " 'sink.committer-coordinator-operator.enabled': it rains. Wait.",
                SinkPreconditions.refusal("d.t", "it rains", "Wait").getMessage());
    }

    @ParameterizedTest
    @CsvSource({"-1", "4", "-2"})
    void s101PrimaryKeysAreRefused(String bucket) {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.sql(
                "CREATE TABLE t (id BIGINT PRIMARY KEY NOT ENFORCED, word STRING) WITH"
                        + " ('bucket' = '%s', %s)",
                bucket, ON);
        assertContains(plans.refusal(), "default.t", "primary keys [id]", "'bucket' = '-1'");
    }

    @Test
    void s101FixedBucketsAreRefused() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable("'bucket' = '4', 'bucket-key' = 'id', 'write-only' = 'true', " + ON);
        assertContains(
                plans.refusal(), "'bucket' = '4'", "HASH_FIXED", "'" + ENABLED + "' = 'false'");
    }

    @Test
    void s101FormatTablesAreRefused() {
        SinkPlans plans = SinkPlans.of(warehouse);
        FlinkCatalog catalog = (FlinkCatalog) plans.tables.getCatalog("coordinated").get();
        DynamicTableSinkFactory factory = (DynamicTableSinkFactory) catalog.getFactory().get();
        assertContains(
                SinkPlans.refusal(() -> factory.createDynamicTableSink(plans.formatTable("true"))),
                "coordinated.default.t",
                "format table");
        try {
            assertFalse(
                    factory.createDynamicTableSink(plans.formatTable("false"))
                            instanceof CoordinatedFlinkTableSink);
        } catch (ValidationException e) {
            // Paimon 1.3 leaves these tables to Flink, whose Parquet format is not here.
            assertContains(e.getMessage(), "'parquet'");
        }
    }

    @Test
    void s102PaimonsOwnCoordinatorIsRefused() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", 'sink.coordinator-commit.enabled' = 'true', " + ON);
        assertContains(plans.refusal(), "'sink.coordinator-commit.enabled' is 'true'");
    }

    @Test
    void s103MissingLibraryIsRefusedOnTheClient() throws Exception {
        Path missing = warehouse.resolve("no-such-library.so");
        Path output = warehouse.resolve("output");
        Process client =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Dpaimon.writer.coordinator.library=" + missing,
                                "-cp",
                                System.getProperty("java.class.path"),
                                PlanInAnotherProcess.class.getName(),
                                warehouse.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        assertTrue(client.waitFor(2, TimeUnit.MINUTES));
        String printed = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
        assertContains(
                printed,
                "Table default.t cannot be written with option '" + ENABLED + "'",
                "the native library cannot be loaded",
                missing.toString());
    }

    /** The library is loaded once for each class loader, so its absence needs a fresh process. */
    static final class PlanInAnotherProcess {
        public static void main(String[] arguments) {
            SinkPlans plans = SinkPlans.of(Path.of(arguments[0]));
            plans.createTable(APPEND + ", " + ON);
            System.out.println(plans.refusal());
        }
    }

    @Test
    void s109TableThatIsNotWriteOnlyIsRefused() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable("'bucket' = '-1', " + ON);
        assertContains(plans.refusal(), "set 'write-only' = 'true'", "dedicated compaction job");
    }

    @Test
    void s109ATableOfABatchJobNeedNotBeWriteOnly() {
        SinkPlans plans = SinkPlans.of(warehouse, MODE, "BATCH");
        plans.createTable("'bucket' = '-1', " + ON);
        assertCoordinated(plans.plan("INSERT INTO t VALUES (1, 'a')"));
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void s109AStreamingJobNeedsWriteOnlyWithOrWithoutCheckpoints(boolean checkpoints) {
        SinkPlans plans = SinkPlans.of(warehouse, INTERVAL, checkpoints ? "1 s" : null);
        plans.createTable("'bucket' = '-1', " + ON);
        assertContains(SinkPlans.refusal(bounded(plans)), "set 'write-only' = 'true'");
    }

    @Test
    void s70WithoutCheckpointsABoundedSourceIsAccepted() {
        SinkPlans plans = SinkPlans.of(warehouse, INTERVAL, null);
        plans.createTable(APPEND + ", " + ON);
        assertCoordinated(plans.plan("INSERT INTO t VALUES (1, 'a')"));
    }

    @Test
    void s70WithoutCheckpointsOneSourceWithoutAnEndIsEnoughForARefusal() {
        SinkPlans plans = SinkPlans.of(warehouse, INTERVAL, null);
        plans.createTable(APPEND + ", " + ON);
        assertContains(
                SinkPlans.refusal(
                        () ->
                                plans.plan(
                                        "INSERT INTO t SELECT * FROM (VALUES (1, 'a')) UNION ALL"
                                                + " SELECT id, word FROM "
                                                + plans.numbers())),
                "takes no checkpoints",
                "numbers",
                "'execution.checkpointing.interval'");
    }

    @ParameterizedTest
    @CsvSource({"precommit-compact, STREAMING", "precommit-compact, BATCH"})
    void tableOptionThatNeedsACommitterIsRefused(String key, String mode) {
        SinkPlans plans = SinkPlans.of(warehouse, MODE, mode);
        plans.createTable(APPEND + ", '" + key + "' = 'true', " + ON);
        assertContains(
                SinkPlans.refusal(bounded(plans)),
                "'" + key + "' is 'true'",
                "'" + key + "' = 'false'");
    }

    /** Without SQL: not every jar of Paimon that knows the option brings a log system. */
    @Test
    void aLogOfTheTableIsRefusedByThePaimonThatWritesIt() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        FileStoreTable table =
                LocalTable.create(warehouse.resolve("t"), Map.of("log.system", "kafka")).table;
        DataStream<Long> input = plans.environment.fromSequence(1, 2);
        Executable check = () -> SinkPreconditions.check(table, null, input);

        boolean hasLogs =
                SinkPreconditionsTest.class.getResource(
                                "/org/apache/paimon/flink/log/LogStoreTableFactory.class")
                        != null;

        if (hasLogs) {
            assertContains(
                    assertThrows(ValidationException.class, check).getMessage(),
                    "'log.system' is 'kafka'",
                    "set 'log.system' = 'none', or set '" + ENABLED + "' = 'false'");
        } else {
            // It ignores what an older version has left in the table.
            assertDoesNotThrow(check);
        }
    }

    @ParameterizedTest
    @CsvSource({
        // h22
        "execution.checkpointing.checkpoints-after-tasks-finish, false, end of input",
        "execution.checkpointing.mode, AT_LEAST_ONCE, written twice",
        "execution.checkpointing.approximate-local-recovery, true, lose rows",
    })
    void h22JobConfigurationIsRefused(String key, String value, String reason) {
        SinkPlans plans = SinkPlans.of(warehouse, key, value);
        plans.createTable(APPEND + ", " + ON);
        assertContains(SinkPlans.refusal(bounded(plans)), reason);
    }

    @ParameterizedTest
    @CsvSource({
        "execution.checkpointing.checkpoints-after-tasks-finish, false",
        "execution.checkpointing.mode, AT_LEAST_ONCE",
        "execution.checkpointing.approximate-local-recovery, true",
    })
    void h22WhatConcernsCheckpointsDoesNotConcernBatchJobs(String key, String value) {
        SinkPlans plans = SinkPlans.of(warehouse, MODE, "BATCH", key, value);
        plans.createTable(APPEND + ", " + ON);
        assertCoordinated(plans.plan("INSERT INTO t VALUES (1, 'a')"));
    }

    private static Runnable bounded(SinkPlans plans) {
        return () -> plans.plan("INSERT INTO t VALUES (1, 'a')");
    }

    @ParameterizedTest
    @CsvSource({
        // h28
        "execution.checkpointing.unaligned.enabled, true",
        "execution.checkpointing.max-concurrent-checkpoints, 3",
    })
    void whatPaimonsOwnSinksRefuseIsAccepted(String key, String value) {
        SinkPlans plans = SinkPlans.of(warehouse, key, value);
        plans.createTable(APPEND + ", " + ON);
        assertCoordinated(plans.insert());
    }

    @Test
    void overwriteIsRefusedByPaimonInStreamingSql() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        assertThrows(
                UnsupportedOperationException.class,
                () -> plans.plan("INSERT OVERWRITE t SELECT id, word FROM " + plans.numbers()));
    }

    @Test
    void unknownOptionIsRefusedWithTheListOfKnownOnes() {
        SinkPlans plans = SinkPlans.of(warehouse);
        String mistyped = CoordinatorOptions.PREFIX + "chunksize";
        plans.createTable(APPEND + ", '" + mistyped + "' = '1 mb', " + ON);
        assertContains(
                plans.refusal(),
                "no option '" + mistyped + "'",
                CoordinatorOptions.CHUNK_SIZE.key(),
                CoordinatorOptions.CONFIRM_TIMEOUT.key());
    }

    @Test
    void mistypedKeyThatWouldTurnItOnIsRefused() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", '" + CoordinatorOptions.PREFIX + "enable' = 'true'");
        assertContains(plans.refusal(), "'" + CoordinatorOptions.PREFIX + "enable'", "enabled");
    }

    @ParameterizedTest
    @CsvSource({
        "max-due-commits, 0, at least 1",
        "max-due-commits, many, at least 1",
        "chunk-size, 0 b, at most 8 mb",
        "chunk-size, 9 mb, at most 8 mb",
        "chunk-size, big, at most 8 mb",
        "confirm-timeout, 0 s, at least 1 ms",
        "late-event-timeout, soon, at least 1 ms",
        "commit-retries, -1, at least 0",
        "commit-retry-initial-backoff, 0 s, at least 1 ms",
        "commit-retry-max-backoff, 10 ms, which is 1000 ms",
        "enabled, yes please, true or false",
    })
    void badValueIsRefused(String name, String value, String expected) {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        plans.sql("ALTER TABLE t SET (%s)", ON);
        String key = CoordinatorOptions.PREFIX + name;
        plans.sql("ALTER TABLE t SET ('%s' = '%s')", key, value);
        assertContains(plans.refusal(), "'" + key + "' has the value '" + value + "'", expected);
    }

    @Test
    void largestValuesAreAccepted() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(
                APPEND
                        + ", '"
                        + CoordinatorOptions.CHUNK_SIZE.key()
                        + "' = '8 mb', '"
                        + CoordinatorOptions.COMMIT_RETRIES.key()
                        + "' = '0', "
                        + ON);
        assertCoordinated(plans.insert());
    }
}
