package io.paimonwriter.coordinator.job;

import io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.table.FileStoreTable;

import java.net.URL;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** The job of most tests: a scripted source, chained with the writers of one append table. */
final class WriteJob {

    static final String OPTION_PREFIX = "sink.committer-coordinator-operator.";

    /** So long that only the test takes checkpoints, and the end of all input. */
    private static final Duration ON_REQUEST = Duration.ofHours(1);

    private final SourceScript script;
    private final AppendTable table;
    private final Map<String, String> tableOptions = new HashMap<>();
    private final Map<String, String> flinkOptions = new HashMap<>();
    private LocalFileIO fileIO = LocalFileIO.create();
    private Duration checkpointInterval = ON_REQUEST;
    private String checkpointDirectory;
    private String restorePath;
    private int parallelism;
    private boolean coordinated = true;
    private boolean checkpoints = true;
    private Consumer<FlinkSinkBuilder> sinkOptions = builder -> {};
    private LossyLink link;
    private URL userJar;

    WriteJob(SourceScript script, AppendTable table) {
        this.script = script;
        this.table = table;
        parallelism = script.splitCount();
    }

    /** Commit with Paimon's own committer task, for contrast. */
    WriteJob withPaimonsCommitter() {
        coordinated = false;
        return this;
    }

    WriteJob through(SnapshotCommitGate gate) {
        fileIO = gate.fileIO();
        return this;
    }

    WriteJob through(LossyLink lossyLink) {
        link = lossyLink;
        return this;
    }

    WriteJob checkpointEvery(Duration interval) {
        checkpointInterval = interval;
        return this;
    }

    WriteJob withoutCheckpoints() {
        checkpoints = false;
        return this;
    }

    /** A batch job. Its script must be bounded. */
    WriteJob batch() {
        return flinkOption("execution.runtime-mode", "BATCH");
    }

    /** What else to call on the builder of the sink, once it has its input. */
    WriteJob sink(Consumer<FlinkSinkBuilder> calls) {
        sinkOptions = calls;
        return this;
    }

    WriteJob retainCheckpointsIn(String directory) {
        checkpointDirectory = directory;
        return this;
    }

    WriteJob restoreFrom(String path) {
        restorePath = path;
        return this;
    }

    WriteJob parallelism(int value) {
        parallelism = value;
        return this;
    }

    /** Sets an option of the coordinator, named without the prefix. */
    WriteJob option(String name, String value) {
        return tableOption(OPTION_PREFIX + name, value);
    }

    /** A commit that fails is not tried again for longer than any test takes. */
    WriteJob withoutCommitRetries() {
        return tableOption("commit.max-retries", "0")
                .option("commit-retry-initial-backoff", "10 min")
                .option("commit-retry-max-backoff", "10 min");
    }

    WriteJob tableOption(String key, String value) {
        tableOptions.put(key, value);
        return this;
    }

    /** Sets an option of Flink's for this job. */
    WriteJob flinkOption(String key, String value) {
        flinkOptions.put(key, value);
        return this;
    }

    /** Ships this jar with the job, so that the cluster gives the job a class loader of its own. */
    WriteJob userJar(URL jar) {
        userJar = jar;
        return this;
    }

    RunningJob submitTo(TestCluster cluster) throws Exception {
        StreamExecutionEnvironment environment = environment(cluster);
        write(rows(environment, script));
        if (link == null) {
            return cluster.submit(environment);
        }
        return cluster.attach(environment.executeAsync(link.insertInto(environment)));
    }

    /** An environment with the settings of this job, for jobs of another shape. */
    StreamExecutionEnvironment environment(TestCluster cluster) throws Exception {
        Configuration configuration = cluster.jobConfiguration(parallelism, checkpointInterval);
        configuration.addAll(Configuration.fromMap(flinkOptions));
        if (!checkpoints) {
            configuration.removeConfig(CheckpointingOptions.CHECKPOINTING_INTERVAL);
        }
        if (checkpointDirectory != null) {
            TestCluster.retainCheckpoints(configuration, checkpointDirectory);
        }
        if (restorePath != null) {
            TestCluster.restoreFrom(configuration, restorePath);
        }
        if (userJar != null) {
            configuration.set(PipelineOptions.JARS, List.of(userJar.toString()));
        }
        return new StreamExecutionEnvironment(configuration);
    }

    /** Puts the table's writers behind these rows. */
    void write(DataStream<RowData> rows) {
        FlinkSinkBuilder builder = sinkBuilder().forRowData(rows);
        sinkOptions.accept(builder);
        builder.build();
    }

    private FlinkSinkBuilder sinkBuilder() {
        if (coordinated) {
            tableOptions.put(OPTION_PREFIX + "enabled", "true");
        }
        FileStoreTable opened = table.open(fileIO).copy(tableOptions);
        return coordinated
                ? new PaimonCoordinatedSinkBuilder(opened)
                : new FlinkSinkBuilder(opened);
    }

    /** The rows of the script as a stream. Its ids stay the same from job to job. */
    static DataStream<RowData> rows(StreamExecutionEnvironment environment, SourceScript script) {
        return rows(environment, script, "scripted");
    }

    /** The same for one of several sources of a job, told apart by {@code uid}. */
    static DataStream<RowData> rows(
            StreamExecutionEnvironment environment, SourceScript script, String uid) {
        return environment
                .fromSource(
                        new ScriptedSource(script),
                        WatermarkStrategy.noWatermarks(),
                        "scripted",
                        InternalTypeInfo.ofFields(
                                new BigIntType(),
                                new IntType(),
                                new VarCharType(VarCharType.MAX_LENGTH)))
                .uid(uid);
    }
}
