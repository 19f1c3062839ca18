package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

/** The ways in from SQL. */
class SqlJobTest extends JobTest {

    private static final String ENABLED = "'sink.committer-coordinator-operator.enabled' = 'true'";

    private final SourceScript script = SourceScript.create(2);

    private StreamTableEnvironment tables;

    @Test
    void s100WithoutTheOptionPaimonCommits() throws Exception {
        openCatalog();
        createTable("'write-only' = 'true'");
        List<String> vertices =
                insertAndFinish("INSERT INTO lake.`default`.t SELECT * FROM scripted");

        assertTrue(vertices.toString().contains("Global Committer"), vertices.toString());
    }

    @Test
    void s01TheOptionInTheTableMovesTheCommit() throws Exception {
        openCatalog();
        createTable("'write-only' = 'true', " + ENABLED);
        assertNoCommitter(insertAndFinish("INSERT INTO lake.`default`.t SELECT * FROM scripted"));
    }

    @Test
    void s01TheOptionInAHintMovesTheCommit() throws Exception {
        openCatalog();
        createTable("'write-only' = 'true'");
        assertNoCommitter(
                insertAndFinish(
                        "INSERT INTO lake.`default`.t /*+ OPTIONS("
                                + ENABLED
                                + ") */ SELECT * FROM scripted"));
    }

    @Test
    void s01TheOptionSetByAlterTableMovesTheCommit() throws Exception {
        openCatalog();
        createTable("'write-only' = 'true'");
        tables.executeSql("ALTER TABLE lake.`default`.t SET (" + ENABLED + ")");
        assertNoCommitter(insertAndFinish("INSERT INTO lake.`default`.t SELECT * FROM scripted"));
    }

    private void openCatalog() throws Exception {
        StreamExecutionEnvironment environment =
                new StreamExecutionEnvironment(
                        cluster.jobConfiguration(script.splitCount(), Duration.ofMillis(300)));
        tables = StreamTableEnvironment.create(environment);
        tables.createTemporaryView("scripted", WriteJob.rows(environment, script));
        tables.executeSql(
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon-coordinated', 'warehouse' ="
                                + " '%s')",
                        directory.toUri()));
    }

    private void createTable(String options) {
        tables.executeSql(
                "CREATE TABLE lake.`default`.t (id BIGINT, subtask INT, payload STRING) WITH"
                        + " ('bucket' = '-1', "
                        + options
                        + ")");
    }

    private List<String> insertAndFinish(String statement) throws Exception {
        try (RunningJob job = cluster.attach(tables.executeSql(statement).getJobClient().get())) {
            script.allowAll(1_234).endAll();
            job.awaitFinished();
            AppendTable.at(directory.resolve("default.db").resolve("t")).assertHolds(script.ids());
            return job.vertexNames();
        }
    }

    private static void assertNoCommitter(List<String> vertices) {
        assertEquals(1, vertices.size(), "only the writers: " + vertices);
    }
}
