package io.paimonwriter.coordinator;

import static org.apache.paimon.flink.FlinkConnectorOptions.END_INPUT_WATERMARK;
import static org.apache.paimon.options.ConfigOptions.key;

import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.CoreOptions.TagCreationMode;
import org.apache.paimon.flink.sink.FlinkSink;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.MemorySize;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The table options of the coordinated sink.
 *
 * <p>They are options of a Paimon table like any other: a property of the table, a hint of one
 * statement, or a dynamic option in the configuration of the job.
 */
public final class CoordinatorOptions {

    /** What the key of every option begins with. */
    public static final String PREFIX = "sink.committer-coordinator-operator.";

    /** A whole event must fit into an RPC frame, which Flink limits to 10 mb by default. */
    private static final MemorySize LARGEST_CHUNK = MemorySize.ofMebiBytes(8);

    /** Half of the default timeout; a longer timeout is no reason to let a writer wait longer. */
    private static final Duration LONGEST_REQUEST_HOLD = Duration.ofSeconds(5);

    /** Flink's class for this option differs between its lines; the key does not. */
    private static final org.apache.flink.configuration.ConfigOption<Duration> ASK_TIMEOUT =
            org.apache.flink.configuration.ConfigOptions.key("pekko.ask.timeout")
                    .durationType()
                    .defaultValue(Duration.ofSeconds(10))
                    .withDeprecatedKeys("akka.ask.timeout");

    private static final org.apache.flink.configuration.ConfigOption<
                    org.apache.flink.configuration.MemorySize>
            FRAME_SIZE =
                    org.apache.flink.configuration.ConfigOptions.key("pekko.framesize")
                            .memoryType()
                            .defaultValue(org.apache.flink.configuration.MemorySize.ofMebiBytes(10))
                            .withDeprecatedKeys("akka.framesize");

    public static final ConfigOption<Boolean> ENABLED =
            key(PREFIX + "enabled")
                    .booleanType()
                    .defaultValue(false)
                    .withDescription(
                            "Commits the table from a coordinator in the JobManager instead of from"
                                    + " a committer task, so that the pipelines of the writers stay"
                                    + " separate failover regions.");

    public static final ConfigOption<Integer> MAX_DUE_COMMITS =
            key(PREFIX + "max-due-commits")
                    .intType()
                    .defaultValue(10)
                    .withDescription(
                            "How many commits may be due and not yet done before checkpoints are"
                                    + " held back. At least 1.");

    public static final ConfigOption<MemorySize> CHUNK_SIZE =
            key(PREFIX + "chunk-size")
                    .memoryType()
                    .defaultValue(MemorySize.ofMebiBytes(2))
                    .withDescription(
                            "How much of a checkpoint's committables one event to the coordinator"
                                + " carries; what is larger goes in several events. At most 8 mb,"
                                + " and never more than four fifths of 'pekko.framesize'.");

    public static final ConfigOption<Duration> CONFIRM_TIMEOUT =
            key(PREFIX + "confirm-timeout")
                    .durationType()
                    .defaultValue(Duration.ofMinutes(1))
                    .withDescription(
                            "How long a writer waits for the coordinator to confirm that it holds"
                                    + " the committables of a checkpoint before the writer's task"
                                    + " fails.");

    public static final ConfigOption<Duration> LATE_EVENT_TIMEOUT =
            key(PREFIX + "late-event-timeout")
                    .durationType()
                    .defaultValue(Duration.ofMinutes(1))
                    .withDescription(
                            "How long the coordinator waits for a running writer's missing event of"
                                    + " a completed checkpoint before the job fails over.");

    public static final ConfigOption<Integer> COMMIT_RETRIES =
            key(PREFIX + "commit-retries")
                    .intType()
                    .defaultValue(5)
                    .withDescription(
                            "How often a commit that failed with an IO error is tried again before"
                                    + " the job fails over. 0 turns this off.");

    public static final ConfigOption<Duration> COMMIT_RETRY_INITIAL_BACKOFF =
            key(PREFIX + "commit-retry-initial-backoff")
                    .durationType()
                    .defaultValue(Duration.ofSeconds(1))
                    .withDescription(
                            "Wait before the first retry of a commit; it doubles each time.");

    public static final ConfigOption<Duration> COMMIT_RETRY_MAX_BACKOFF =
            key(PREFIX + "commit-retry-max-backoff")
                    .durationType()
                    .defaultValue(Duration.ofSeconds(30))
                    .withDescription("Longest wait between two retries of a commit.");

    private static final List<ConfigOption<?>> ALL =
            List.of(
                    ENABLED,
                    MAX_DUE_COMMITS,
                    CHUNK_SIZE,
                    CONFIRM_TIMEOUT,
                    LATE_EVENT_TIMEOUT,
                    COMMIT_RETRIES,
                    COMMIT_RETRY_INITIAL_BACKOFF,
                    COMMIT_RETRY_MAX_BACKOFF);

    private final String tableName;
    private final Options tableOptions;

    private CoordinatorOptions(String tableName, Map<String, String> tableOptions) {
        this.tableName = tableName;
        this.tableOptions = Options.fromMap(tableOptions);
    }

    /**
     * Whether the table asks for the coordinated sink.
     *
     * @throws org.apache.flink.table.api.ValidationException if the value is not a boolean
     */
    static boolean isEnabled(String tableName, Map<String, String> tableOptions) {
        CoordinatorOptions options = new CoordinatorOptions(tableName, tableOptions);
        // Also when it is off: the key that was mistyped may be the one that turns it on.
        options.checkKeys();
        return options.read(ENABLED, "true or false", any -> true);
    }

    /**
     * The settings that the job graph carries, from the options of the table and, for what depends
     * on Flink's own timeouts, from the configuration of the job.
     *
     * @throws org.apache.flink.table.api.ValidationException if an option is unknown or its value
     *     is not allowed
     */
    static CoordinatorSettings settings(
            FileStoreTable table, String commitUser, String operatorName, DataStream<?> input) {
        return new CoordinatorOptions(table.fullName(), table.options())
                .toSettings(commitUser, operatorName, input);
    }

    private CoordinatorSettings toSettings(
            String commitUser, String operatorName, DataStream<?> input) {
        StreamExecutionEnvironment environment = input.getExecutionEnvironment();
        List<Transformation<?>> steps = input.getTransformation().getTransitivePredecessors();
        Duration initialBackoff = readPositive(COMMIT_RETRY_INITIAL_BACKOFF);
        return CoordinatorSettings.builder(commitUser, tableName, operatorName)
                .maxDueCommits(read(MAX_DUE_COMMITS, "an integer of at least 1", n -> n >= 1))
                .chunkSizeBytes((int) readChunkSize().getBytes())
                .confirmTimeout(readPositive(CONFIRM_TIMEOUT))
                .lateEventTimeout(readPositive(LATE_EVENT_TIMEOUT))
                .commitRetries(read(COMMIT_RETRIES, "an integer of at least 0", n -> n >= 0))
                .commitRetryInitialBackoff(initialBackoff)
                .commitRetryMaxBackoff(readMaxBackoff(initialBackoff))
                .streaming(FlinkSink.isStreaming(environment))
                .checkpointingEnabled(takesCheckpoints(environment))
                .batchTag(createsBatchTag(environment))
                .batchSnapshots(steps.stream().noneMatch(InputFormatSources::contain))
                .checkpointHold(checkpointHold(environment))
                .requestHold(requestHold(environment.getConfiguration()))
                .endInputWatermark(tableOptions.get(END_INPUT_WATERMARK))
                .build();
    }

    /**
     * The chunk size that fits the frames of this cluster, which the client that planned the job
     * need not know. A frame above its limit would vanish without a word, again and again.
     *
     * @param taskManager the configuration that this process was started with
     */
    static int chunkSizeBytes(CoordinatorSettings settings, ReadableConfig taskManager) {
        // The rest is for what Flink puts around an event.
        long mostBytes = Math.max(1, taskManager.get(FRAME_SIZE).getBytes() / 5 * 4);
        return (int) Math.min(settings.chunkSizeBytes(), mostBytes);
    }

    /** In batch mode Flink takes none, whatever their options say. */
    private static boolean takesCheckpoints(StreamExecutionEnvironment environment) {
        return FlinkSink.isStreaming(environment)
                && environment.getCheckpointConfig().isCheckpointingEnabled();
    }

    private boolean createsBatchTag(StreamExecutionEnvironment environment) {
        return !FlinkSink.isStreaming(environment)
                && new CoreOptions(tableOptions).tagCreationMode() == TagCreationMode.BATCH;
    }

    /** A mistyped key would otherwise leave its option at the default without a word. */
    private void checkKeys() {
        TreeSet<String> known =
                ALL.stream().map(ConfigOption::key).collect(Collectors.toCollection(TreeSet::new));
        for (String key : new TreeSet<>(tableOptions.keySet())) {
            if (key.startsWith(PREFIX) && !known.contains(key)) {
                throw SinkPreconditions.refusal(
                        tableName,
                        String.format("there is no option '%s'", key),
                        String.format("The options are %s", String.join(", ", known)));
            }
        }
    }

    private MemorySize readChunkSize() {
        return read(
                CHUNK_SIZE,
                String.format("a size above 0 and at most %s", LARGEST_CHUNK),
                size -> size.getBytes() > 0 && size.compareTo(LARGEST_CHUNK) <= 0);
    }

    private Duration readMaxBackoff(Duration initialBackoff) {
        return read(
                COMMIT_RETRY_MAX_BACKOFF,
                String.format(
                        "a duration of at least '%s', which is %d ms",
                        COMMIT_RETRY_INITIAL_BACKOFF.key(), initialBackoff.toMillis()),
                duration -> duration.compareTo(initialBackoff) >= 0);
    }

    private Duration readPositive(ConfigOption<Duration> option) {
        return read(option, "a duration of at least 1 ms", duration -> duration.toMillis() >= 1);
    }

    private <T> T read(ConfigOption<T> option, String expected, Predicate<T> allowed) {
        T value;
        try {
            value = tableOptions.get(option);
        } catch (RuntimeException e) {
            throw badValue(option, expected);
        }
        if (!allowed.test(value)) {
            throw badValue(option, expected);
        }
        return value;
    }

    private RuntimeException badValue(ConfigOption<?> option, String expected) {
        return SinkPreconditions.refusal(
                tableName,
                String.format(
                        "option '%s' has the value '%s'",
                        option.key(), tableOptions.toMap().get(option.key())),
                String.format("Expected is %s", expected));
    }

    /** A share of the timeout, so that a held checkpoint is declined before it expires (h13). */
    private static Duration checkpointHold(StreamExecutionEnvironment environment) {
        long timeoutMillis = environment.getCheckpointConfig().getCheckpointTimeout();
        return Duration.ofMillis(Math.max(1, timeoutMillis / 2));
    }

    /** A share of the timeout, so that a held request is answered before it expires (h25). */
    private static Duration requestHold(ReadableConfig job) {
        long half = Math.max(1, job.get(ASK_TIMEOUT).toMillis() / 2);
        return Duration.ofMillis(Math.min(half, LONGEST_REQUEST_HOLD.toMillis()));
    }
}
