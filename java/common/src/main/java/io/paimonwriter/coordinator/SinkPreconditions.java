package io.paimonwriter.coordinator;

import static org.apache.paimon.CoreOptions.BUCKET;
import static org.apache.paimon.CoreOptions.WRITE_ONLY;
import static org.apache.paimon.flink.FlinkConnectorOptions.PRECOMMIT_COMPACT;
import static org.apache.paimon.flink.FlinkConnectorOptions.SINK_COMMITTER_CPU;
import static org.apache.paimon.flink.FlinkConnectorOptions.SINK_COMMITTER_MEMORY;
import static org.apache.paimon.flink.FlinkConnectorOptions.SINK_COMMITTER_OPERATOR_CHAINING;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.CheckpointConfig;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.transformations.WithBoundedness;
import org.apache.flink.table.api.ValidationException;
import org.apache.paimon.flink.FlinkConnectorOptions;
import org.apache.paimon.flink.sink.FlinkSink;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.ConfigOptions;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * What must hold before a job with the coordinated sink may be planned.
 *
 * <p>Whoever sets the option has chosen it: what it cannot do is refused, never done in another
 * way. Every message names the table, the option, what was found and what to do about it.
 */
final class SinkPreconditions {

    private static final Logger LOG = LoggerFactory.getLogger(SinkPreconditions.class);

    /** Only some versions of Paimon have this option; its key is the same in all that do. */
    private static final ConfigOption<Boolean> PAIMON_COORDINATOR_COMMIT =
            ConfigOptions.key("sink.coordinator-commit.enabled").booleanType().defaultValue(false);

    /** Only some versions of Paimon have this option, and the others write to no log. */
    private static final ConfigOption<String> PAIMON_LOG_SYSTEM =
            ConfigOptions.key("log.system").stringType().defaultValue("none");

    private SinkPreconditions() {}

    /**
     * Checks everything that planning can know.
     *
     * @param overwritePartition what INSERT OVERWRITE replaces, null for INSERT INTO
     * @param input the rows that the job writes into the table
     * @throws ValidationException if the coordinated sink cannot write this table in this job
     */
    static void check(
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            DataStream<?> input) {
        String tableName = table.fullName();
        checkTable(tableName, table);
        checkLog(tableName, table, overwritePartition);
        checkMode(tableName, input.getExecutionEnvironment());
        checkNothingAfterWriter(tableName, table);
        if (FlinkSink.isStreaming(input)) {
            checkStreaming(tableName, table, overwritePartition, input);
        }
        checkNativeLibrary(tableName);
        warnOfCommitterOptions(tableName, table);
    }

    private static void checkTable(String tableName, FileStoreTable table) {
        String remedy =
                String.format(
                        "Only append tables without primary keys and with '%s' = '-1' have this"
                                + " sink; %s",
                        BUCKET.key(), withoutCoordinator());
        check(
                table.primaryKeys().isEmpty(),
                tableName,
                String.format("it has the primary keys %s", table.primaryKeys()),
                remedy);
        check(
                table.bucketMode() == BucketMode.BUCKET_UNAWARE,
                tableName,
                String.format(
                        "it has '%s' = '%d', which is bucket mode %s",
                        BUCKET.key(), table.coreOptions().bucket(), table.bucketMode()),
                remedy);
        check(
                !Options.fromMap(table.options()).get(PAIMON_COORDINATOR_COMMIT),
                tableName,
                String.format("'%s' is 'true' as well", PAIMON_COORDINATOR_COMMIT.key()),
                "Only one coordinator may commit; set one of the two to 'false'");
    }

    /** Paimon writes rows to a log by a sink function of its own, except those that overwrite. */
    private static void checkLog(
            String tableName,
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition) {
        String key = PAIMON_LOG_SYSTEM.key();
        String log = Options.fromMap(table.options()).get(PAIMON_LOG_SYSTEM);
        boolean hasLogs =
                FlinkConnectorOptions.getOptions().stream()
                        .anyMatch(option -> option.key().equals(key));
        check(
                !hasLogs
                        || overwritePartition != null
                        || log.equalsIgnoreCase(PAIMON_LOG_SYSTEM.defaultValue()),
                tableName,
                String.format("'%s' is '%s'", key, log),
                String.format(
                        "The rows would not be written to the log; set '%s' = '%s', or %s",
                        key, PAIMON_LOG_SYSTEM.defaultValue(), withoutCoordinator()));
    }

    /** Flink would choose only after planning, when writer and committer are already made. */
    private static void checkMode(String tableName, StreamExecutionEnvironment environment) {
        RuntimeExecutionMode mode =
                environment.getConfiguration().get(ExecutionOptions.RUNTIME_MODE);
        String key = ExecutionOptions.RUNTIME_MODE.key();
        check(
                mode != RuntimeExecutionMode.AUTOMATIC,
                tableName,
                String.format("'%s' is '%s'", key, mode),
                String.format(
                        "Planning must know the mode; set '%s' = '%s' or '%s'",
                        key, RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING));
    }

    /**
     * An operator between the writers and their commit joins the regions of all writers, and the
     * coordinator would not see what it produces.
     */
    private static void checkNothingAfterWriter(String tableName, FileStoreTable table) {
        Options options = Options.fromMap(table.options());
        check(
                !options.get(PRECOMMIT_COMPACT),
                tableName,
                String.format("'%s' is 'true'", PRECOMMIT_COMPACT.key()),
                String.format(
                        "Compaction before the commit would join the failover regions of all"
                                + " writers; set '%s' = 'false' and run a dedicated compaction job",
                        PRECOMMIT_COMPACT.key()));
    }

    private static void checkStreaming(
            String tableName,
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            DataStream<?> input) {
        check(
                overwritePartition == null,
                tableName,
                "the job overwrites in streaming mode",
                String.format(
                        "Each checkpoint would replace what the one before it wrote; use INSERT"
                                + " INTO, or set '%s' = '%s'",
                        ExecutionOptions.RUNTIME_MODE.key(), RuntimeExecutionMode.BATCH));
        // Paimon's batch jobs do not compact.
        check(
                table.coreOptions().writeOnly(),
                tableName,
                String.format("'%s' is not 'true'", WRITE_ONLY.key()),
                String.format(
                        "Compaction inside the job would join the failover regions of all writers;"
                                + " set '%s' = 'true' and run a dedicated compaction job",
                        WRITE_ONLY.key()));
        StreamExecutionEnvironment environment = input.getExecutionEnvironment();
        check(
                !environment.getCheckpointConfig().isApproximateLocalRecoveryEnabled(),
                tableName,
                "approximate local recovery is on",
                "It may lose rows on their way to the writers; set"
                        + " 'execution.state-recovery.approximate-local-recovery' = 'false'");
        if (environment.getCheckpointConfig().isCheckpointingEnabled()) {
            checkCheckpoints(tableName, environment);
        } else {
            checkBounded(tableName, input);
        }
    }

    /** Without checkpoints the only commit is that of the end of input, so there must be one. */
    private static void checkBounded(String tableName, DataStream<?> input) {
        for (Transformation<?> step : input.getTransformation().getTransitivePredecessors()) {
            check(
                    !(step instanceof WithBoundedness)
                            || ((WithBoundedness) step).getBoundedness() == Boundedness.BOUNDED
                            || InputFormatSources.contain(step),
                    tableName,
                    String.format(
                            "the job takes no checkpoints and its source '%s' has no end",
                            step.getName()),
                    String.format(
                            "Nothing would ever be committed; set '%s', or use a bounded source",
                            CheckpointingOptions.CHECKPOINTING_INTERVAL.key()));
        }
    }

    private static void checkCheckpoints(String tableName, StreamExecutionEnvironment environment) {
        CheckpointConfig config = environment.getCheckpointConfig();
        CheckpointingMode mode = config.getCheckpointingConsistencyMode();
        check(
                mode == CheckpointingMode.EXACTLY_ONCE,
                tableName,
                String.format(
                        "'%s' is '%s'",
                        CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE.key(), mode),
                String.format(
                        "Rows would be written twice; set '%s' = '%s'",
                        CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE.key(),
                        CheckpointingMode.EXACTLY_ONCE));
        String afterFinish = CheckpointingOptions.ENABLE_CHECKPOINTS_AFTER_TASKS_FINISH.key();
        check(
                environment
                        .getConfiguration()
                        .get(CheckpointingOptions.ENABLE_CHECKPOINTS_AFTER_TASKS_FINISH),
                tableName,
                String.format("'%s' is 'false'", afterFinish),
                String.format(
                        "What is written at the end of input would never be committed; set '%s' ="
                                + " 'true'",
                        afterFinish));
    }

    /** On the client, where the message is read, rather than first in the JobManager. */
    private static void checkNativeLibrary(String tableName) {
        try {
            NativeLibrary.load();
        } catch (CoordinatorException e) {
            // Its text says itself what was looked for and what to do, and ends with a full stop.
            String remedy = e.getMessage().replaceFirst("\\.$", "");
            ValidationException refusal =
                    refusal(tableName, "the native library cannot be loaded", remedy);
            refusal.addSuppressed(e);
            throw refusal;
        }
    }

    /** These size a task that does not exist here; losing them loses nothing but a wish. */
    private static void warnOfCommitterOptions(String tableName, FileStoreTable table) {
        for (ConfigOption<?> option :
                List.of(
                        SINK_COMMITTER_CPU,
                        SINK_COMMITTER_MEMORY,
                        SINK_COMMITTER_OPERATOR_CHAINING)) {
            if (table.options().containsKey(option.key())) {
                LOG.warn(
                        "Table {} is committed in the JobManager, so option '{}' has no effect.",
                        tableName,
                        option.key());
            }
        }
    }

    /** For a format table, which has no snapshots and so no sink of this kind at all. */
    static ValidationException formatTable(String tableName) {
        return refusal(
                tableName,
                "it is a format table",
                String.format("Nothing is committed to it; %s", withoutCoordinator()));
    }

    /**
     * The one form of every planning error. It has no cause: Flink's SQL client shows the innermost
     * one alone, and that would not say what to do.
     *
     * @param found what was found, as a clause
     * @param remedy what to do, as a sentence without its full stop
     */
    static ValidationException refusal(String tableName, String found, String remedy) {
        return new ValidationException(
                String.format(
                        "Table %s cannot be written with option '%s': %s. %s.",
                        tableName, CoordinatorOptions.ENABLED.key(), found, remedy));
    }

    private static void check(boolean holds, String tableName, String found, String remedy) {
        if (!holds) {
            throw refusal(tableName, found, remedy);
        }
    }

    private static String withoutCoordinator() {
        return String.format("set '%s' = 'false'", CoordinatorOptions.ENABLED.key());
    }
}
