package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.paimon.Snapshot;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Others write, compact or alter the table while the job runs. */
class SharedTableJobTest extends JobTest {

    /** Where the ids of rows that are not the job's begin. */
    private static final long FOREIGN = 900_000_000L;

    private final SourceScript script = SourceScript.create(2);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @Test
    void s93AWriterAndACompactionThatComeFirstWhileACommitIsUnderWay() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job =
                new WriteJob(script, table).through(gate).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(checkpointAfterRows(script, job, 50));
            gate.hold();
            checkpointAfterRows(script, job, 25);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            table.append(FOREIGN);
            assertTrue(table.compact() > 0, "nothing was compacted");
            long last = checkpointAfterRows(script, job, 10);
            gate.release();
            table.awaitIdentifier(last);

            assertEquals(List.of(0, 0), job.writerAttempts());
            table.assertHolds(and(script.ids(), List.of(FOREIGN)));
        }
    }

    @Test
    void s93AWriterAndACompactionRaceWithEveryCommit() throws Exception {
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table).checkpointEvery(Duration.ofMillis(50));
        List<Long> foreign = new ArrayList<>();
        int compactions = 0;
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            script.rowsPerSecond(2_000).allowAll(4_000);
            for (long id = FOREIGN; id < FOREIGN + 15; id++) {
                table.append(id);
                foreign.add(id);
                compactions += table.compact();
                if (id == FOREIGN + 5) {
                    script.failTask(1);
                }
            }
            script.awaitDrained();
            script.endAll();
            job.awaitFinished();
        }
        assertTrue(compactions > 0, "nothing was compacted");
        table.assertHolds(and(script.ids(), foreign));
    }

    @ParameterizedTest(name = "into one table: {0}")
    @ValueSource(booleans = {false, true})
    void s110TwoSinksOfOneJobCommitEachForItself(boolean oneTable) throws Exception {
        AppendTable table = createTable();
        AppendTable other =
                oneTable ? table : AppendTable.create(directory.resolve("other"), Map.of());
        WriteJob writeJob = new WriteJob(script, table);
        StreamExecutionEnvironment environment = writeJob.environment(cluster);
        DataStream<RowData> rows = WriteJob.rows(environment, script);
        writeJob.write(rows.filter(row -> row.getLong(0) % 2 == 0));
        new WriteJob(script, other).write(rows.filter(row -> row.getLong(0) % 2 == 1));
        try (RunningJob job = cluster.submit(environment).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            script.failTask(1);
            job.awaitWriterAttempts(0, 1);
            long last = checkpointAfterRows(script, job, 25);
            script.failJob();
            job.awaitRestoredFrom(last);
            script.allowAll(6).endAll();
            job.finishWithCheckpoints();
        }
        Set<Long> even =
                script.ids().stream().filter(id -> id % 2 == 0).collect(Collectors.toSet());
        Set<Long> odd = script.ids().stream().filter(id -> id % 2 == 1).collect(Collectors.toSet());
        table.assertHolds(oneTable ? script.ids() : even);
        other.assertHolds(oneTable ? script.ids() : odd);
        Set<String> users = new TreeSet<>(table.commitUsers());
        users.addAll(other.commitUsers());
        assertEquals(2, users.size(), "a commit user for each sink");
    }

    @Test
    void s111AnAlteredTableIsWrittenAsByPaimonsCommitter() throws Exception {
        assertEquals(
                writeWhileTheTableIsAltered("paimon", false),
                writeWhileTheTableIsAltered("coordinated", true));
    }

    /** Returns the schema of each snapshot and the rows that it added. */
    private List<String> writeWhileTheTableIsAltered(String name, boolean coordinated)
            throws Exception {
        SourceScript rows = SourceScript.create(2);
        AppendTable table = AppendTable.create(directory.resolve(name), Map.of());
        WriteJob writeJob = new WriteJob(rows, table);
        if (!coordinated) {
            writeJob.withPaimonsCommitter();
        }
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            table.awaitIdentifier(checkpointAfterRows(rows, job, 100));
            rows.allowAll(50).awaitDrained();
            table.open(LocalFileIO.create())
                    .schemaManager()
                    .commitChanges(
                            SchemaChange.addColumn("note", DataTypes.STRING()),
                            SchemaChange.setOption("file.format", "avro"));
            long second = job.checkpoint();
            table.awaitIdentifier(second);
            rows.failJob();
            job.awaitRestoredFrom(second);
            table.awaitIdentifier(checkpointAfterRestore(rows, job, 25));
            rows.allowAll(5).endAll();
            job.awaitFinished();
        }
        table.assertHolds(rows.ids());
        List<String> outcome = new ArrayList<>();
        for (Snapshot snapshot : table.snapshots()) {
            outcome.add(snapshot.schemaId() + ": " + snapshot.deltaRecordCount());
        }
        return outcome;
    }

    private static Set<Long> and(Collection<Long> own, Collection<Long> foreign) {
        Set<Long> all = new TreeSet<>(own);
        all.addAll(foreign);
        return all;
    }
}
