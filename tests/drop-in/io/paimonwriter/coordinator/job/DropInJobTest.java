package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.fs.local.LocalFileIO;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Jobs that know nothing but Paimon, on the drop-in jar. */
class DropInJobTest extends JobTest {

    private static final String ENABLED = "sink.committer-coordinator-operator.enabled";

    @Test
    void s20AWriterOfPaimonsSinkBuilderFailsAlone() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        StreamExecutionEnvironment environment = new WriteJob(script, table).environment(cluster);
        new FlinkSinkBuilder(table.open(LocalFileIO.create()).copy(Map.of(ENABLED, "true")))
                .forRowData(WriteJob.rows(environment, script))
                .build();
        try (RunningJob job = cluster.submit(environment).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            script.failTask(2);
            job.awaitWriterAttempts(0, 0, 1, 0);
            long second = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(second);

            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s01AnInsertIntoPaimonsOwnCatalog() throws Exception {
        SourceScript script = SourceScript.create(2);
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(
                        cluster.jobConfiguration(script.splitCount(), Duration.ofMillis(300)));
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.createTemporaryView("scripted", WriteJob.rows(environment, script));
        tables.executeSql(
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '%s')",
                        directory.toUri()));
        tables.executeSql(
                String.format(
                        "CREATE TABLE lake.`default`.t (id BIGINT, subtask INT, payload STRING)"
                                + " WITH ('bucket' = '-1', 'write-only' = 'true', '%s' = 'true')",
                        ENABLED));
        try (RunningJob job =
                cluster.attach(
                        tables.executeSql("INSERT INTO lake.`default`.t SELECT * FROM scripted")
                                .getJobClient()
                                .get())) {
            script.allowAll(1_234).endAll();
            job.awaitFinished();

            assertEquals(1, job.vertexNames().size(), "only the writers: " + job.vertexNames());
            AppendTable.at(directory.resolve("default.db/t")).assertHolds(script.ids());
        }
    }
}
