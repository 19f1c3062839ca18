package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.PwcProcess;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the jar's {@code inspect} shows of checkpoints and savepoints of real jobs, beside an
 * operator with keyed state. The command runs in a JVM of its own, with nothing but the jar.
 */
class InspectJobTest extends JobTest {

    private static final int WRITERS = 3;

    private final SourceScript script = SourceScript.create(WRITERS);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "in the metadata, execution.checkpointing.data-inline-threshold, 1 mb",
        "in files of their own, execution.checkpointing.data-inline-threshold, 0 kb",
        "in merged files, execution.checkpointing.file-merging.enabled, true",
        "in the metadata with a changelog, state.changelog.enabled, true",
    })
    void whatWaitsIsCounted(String states, String key, String value) throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = start(table, key, value)) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.hold();
            script.allow(0, 50).allow(1, 20).awaitDrained();
            long second = job.checkpoint();
            script.allow(2, 30).awaitDrained();
            long third = job.checkpoint();
            Set<String> onDisk = dataFilesOnDisk(3 + WRITERS);

            JsonNode report = inspect(pathOf(job, third));

            assertEquals("checkpoint", report.get("kind").asText());
            assertEquals(third, report.get("checkpoint_id").asLong());
            JsonNode sink = onlySink(report);
            JsonNode coordinator = sink.get("coordinator");
            assertEquals(WRITERS, coordinator.get("parallelism").asInt());
            assertEquals(first, coordinator.get("committed_through").asLong());
            assertEquals(
                    table.commitUsers(),
                    Set.of(coordinator.at("/commit_users/0/commit_user").asText()));
            assertAmount("[6,3,3,100]", sink.get("waiting"));
            List<JsonNode> units = waitingUnits(sink);
            assertEquals(2, units.size(), sink::toPrettyString);
            assertEquals(second, units.get(0).get("checkpoint_id").asLong());
            assertAmount("[3,3,2,70]", units.get(0).get("amount"));
            assertEquals(third, units.get(1).get("checkpoint_id").asLong());
            assertAmount("[3,3,1,30]", units.get(1).get("amount"));
            assertEquals("[0,1,2]", units.get(1).get("reported").toString());
            assertTrue(onDisk.containsAll(dataFiles(sink)), onDisk + "\n" + sink);
            assertEquals(3, dataFiles(sink).size());

            JsonNode savepoint = inspect(job.savepoint(directory.resolve("s").toUri().toString()));

            assertEquals("savepoint", savepoint.get("kind").asText());
            assertAmount("[9,3,3,100]", onlySink(savepoint).get("waiting"));
            assertTrue(waitingUnits(onlySink(savepoint)).get(2).get("savepoint").asBoolean());
            gate.release();
            table.awaitIdentifier(third);
        }
    }

    @Test
    void aFinishedWriterIsKnownFromTheCoordinatorAlone() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job =
                start(table, "execution.checkpointing.data-inline-threshold", "0 kb")) {
            table.awaitIdentifier(checkpointAfterRows(script, job, 100));
            script.allow(0, 10).end(0).awaitDrained();
            job.await(
                    "the writer is FINISHED after a checkpoint",
                    () -> {
                        job.checkpointWhenPossible();
                        return job.writerState(0) == ExecutionState.FINISHED;
                    });
            script.allow(1, 5).awaitDrained();
            long last = job.checkpointWhenPossible();

            JsonNode sink = onlySink(inspect(pathOf(job, last)));

            assertEquals(2, sink.at("/waiting/files").asInt(), sink::toPrettyString);
            assertEquals(15, sink.at("/waiting/rows").asInt());
            assertEquals("finished", sink.at("/writers/0/status").asText());
            assertEquals("running", sink.at("/writers/1/status").asText());
            // Empty entries of checkpoints before may be there or not.
            List<JsonNode> units = children(sink.get("units"));
            JsonNode lastUnit = units.get(units.size() - 2);
            assertEquals(last, lastUnit.get("checkpoint_id").asLong(), sink::toPrettyString);
            assertAmount("[2,2,1,5]", lastUnit.get("amount"));
            JsonNode end = units.get(units.size() - 1);
            assertTrue(end.get("end_of_input").asBoolean(), sink::toPrettyString);
            assertTrue(end.at("/entries/0/sealed").asBoolean(), sink::toPrettyString);
            assertEquals(0, end.at("/entries/0/subtask").asInt());
            assertEquals("[1,2]", end.get("not_reported").toString());
            assertEquals(10, end.at("/amount/rows").asInt());
        }
    }

    private RunningJob start(AppendTable table, String key, String value) throws Exception {
        WriteJob writeJob =
                new WriteJob(script, table)
                        .through(gate)
                        .retainCheckpointsIn(directory.resolve("c").toUri().toString())
                        .flinkOption("state.backend.type", "rocksdb")
                        .flinkOption("execution.checkpointing.storage", "filesystem")
                        .flinkOption("execution.checkpointing.incremental", "true")
                        .flinkOption(key, value);
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        DataStream<RowData> rows = WriteJob.rows(environment, script);
        writeJob.write(rows);
        rows.keyBy(row -> row.getLong(0) % 8)
                .process(new Counting())
                .sinkTo(new DiscardingSink<>());
        return cluster.submit(environment).awaitRunning();
    }

    /** Flink's statistics, which know the path, come a little later than the checkpoint. */
    private static String pathOf(RunningJob job, long checkpoint) throws Exception {
        job.await(
                "the path of checkpoint " + checkpoint,
                () -> job.latestCheckpointPath().endsWith("/chk-" + checkpoint));
        return job.latestCheckpointPath();
    }

    private JsonNode inspect(String path) throws Exception {
        String json = PwcProcess.run(directory, 0, List.of("inspect", path, "--json", "--files"));
        return new ObjectMapper().readTree(json);
    }

    private static JsonNode onlySink(JsonNode report) {
        assertEquals(1, report.get("sinks").size(), report::toPrettyString);
        assertEquals(0, report.get("problems").size(), report::toPrettyString);
        assertTrue(report.get("other_operators").size() >= 2, report::toPrettyString);
        return report.get("sinks").get(0);
    }

    private static void assertAmount(String entriesWritersFilesRows, JsonNode amount) {
        List<JsonNode> found =
                Stream.of("entries", "writers", "files", "rows")
                        .map(amount::get)
                        .collect(Collectors.toList());
        assertEquals(entriesWritersFilesRows, found.toString().replace(" ", ""));
    }

    /** A writer that has not been told yet may hold what is in the table already. */
    private static List<JsonNode> waitingUnits(JsonNode sink) {
        List<JsonNode> units = children(sink.get("units"));
        units.removeIf(unit -> unit.get("in_table").asBoolean());
        return units;
    }

    private static List<JsonNode> children(JsonNode array) {
        List<JsonNode> children = new ArrayList<>();
        array.forEach(children::add);
        return children;
    }

    /** Name and size of each data file of a sink that waits. */
    private static Set<String> dataFiles(JsonNode sink) {
        Set<String> files = new TreeSet<>();
        for (JsonNode unit : waitingUnits(sink)) {
            for (JsonNode file : unit.findValues("data_files")) {
                file.forEach(
                        f -> files.add(f.get("name").asText() + " " + f.get("bytes").asLong()));
            }
        }
        return files;
    }

    /** The same of all data files of the table, of which there must be so many. */
    private Set<String> dataFilesOnDisk(int count) throws Exception {
        Set<String> files = new TreeSet<>();
        try (Stream<Path> paths = Files.list(directory.resolve("table").resolve("bucket-0"))) {
            for (Path path : paths.collect(Collectors.toList())) {
                if (path.getFileName().toString().startsWith("data-")) {
                    files.add(path.getFileName() + " " + Files.size(path));
                }
            }
        }
        assertEquals(count, files.size());
        return files;
    }

    /** Counts rows in keyed state. */
    private static final class Counting extends KeyedProcessFunction<Long, RowData, Long> {

        private static final long serialVersionUID = 1L;

        private transient ValueState<Long> count;

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Long.class));
        }

        @Override
        public void processElement(RowData row, Context context, Collector<Long> out)
                throws Exception {
            Long before = count.value();
            count.update(before == null ? 1 : before + 1);
            out.collect(count.value());
        }
    }
}
