package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.DistributionPattern;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.flink.FormatCatalogTable;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.table.FormatTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowType;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** Plans jobs on a warehouse of their own, runs none of them, and shows their graphs. */
final class SinkPlans {

    static final String ENABLED = "sink.committer-coordinator-operator.enabled";
    static final String ON = "'" + ENABLED + "' = 'true'";
    static final String APPEND = "'bucket' = '-1', 'write-only' = 'true'";

    static final int PARALLELISM = 4;

    final Path warehouse;
    final StreamExecutionEnvironment environment;
    final StreamTableEnvironment tables;

    private SinkPlans(Path warehouse, Configuration job) {
        this.warehouse = warehouse;
        environment = StreamExecutionEnvironment.getExecutionEnvironment(job);
        environment.setParallelism(PARALLELISM);
        tables =
                StreamTableEnvironment.create(
                        environment,
                        EnvironmentSettings.newInstance().withConfiguration(job).build());
        tables.executeSql(
                "CREATE TEMPORARY TABLE numbers (id BIGINT, word STRING) WITH ('connector' ="
                        + " 'datagen', 'rows-per-second' = '10')");
        createCatalog("coordinated", "paimon-coordinated");
        tables.useCatalog("coordinated");
    }

    /** Plans of streaming jobs with checkpoints; configure otherwise, null removes a key. */
    static SinkPlans of(Path warehouse, String... keysAndValues) {
        Configuration job = new Configuration();
        job.setString("execution.checkpointing.interval", "1 s");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            if (keysAndValues[i + 1] == null) {
                job.removeKey(keysAndValues[i]);
            } else {
                job.setString(keysAndValues[i], keysAndValues[i + 1]);
            }
        }
        return new SinkPlans(warehouse, job);
    }

    void createCatalog(String name, String type) {
        sql("CREATE CATALOG %s WITH ('type' = '%s', 'warehouse' = '%s')", name, type, warehouse);
    }

    void sql(String statement, Object... arguments) {
        tables.executeSql(String.format(statement, arguments));
    }

    void createTable(String options) {
        sql("CREATE TABLE t (id BIGINT, word STRING) WITH (%s)", options);
    }

    /** Paimon creates format tables in Hive and REST catalogs only, so this one is not created. */
    DynamicTableFactory.Context formatTable(String enabled) {
        FormatTable table =
                FormatTable.builder()
                        .fileIO(LocalFileIO.create())
                        .identifier(Identifier.create("default", "t"))
                        .rowType(RowType.of(new DataField(0, "id", DataTypes.BIGINT())))
                        .partitionKeys(List.of())
                        .location(warehouse.resolve("t").toString())
                        .format(FormatTable.Format.PARQUET)
                        .options(Map.of(ENABLED, enabled, "type", "format-table"))
                        .build();
        ResolvedSchema schema =
                ResolvedSchema.of(
                        Column.physical("id", org.apache.flink.table.api.DataTypes.BIGINT()));
        return new FactoryUtil.DefaultDynamicTableContext(
                ObjectIdentifier.of("coordinated", "default", "t"),
                new ResolvedCatalogTable(new FormatCatalogTable(table), schema),
                Map.of(),
                new Configuration(),
                SinkPlans.class.getClassLoader(),
                false);
    }

    StreamGraph insert() {
        return insert("t");
    }

    StreamGraph insert(String target) {
        return plan("INSERT INTO " + target + " SELECT id, word FROM " + numbers());
    }

    String numbers() {
        return "default_catalog.default_database.numbers";
    }

    StreamGraph plan(String... statements) {
        StreamStatementSet set = tables.createStatementSet();
        for (String statement : statements) {
            set.addInsertSql(statement);
        }
        set.attachAsDataStream();
        return environment.getStreamGraph();
    }

    /** The planning error of an insert into the table, which must name the table and the option. */
    String refusal() {
        return refusal(this::insert);
    }

    static String refusal(Runnable planning) {
        Throwable error = assertThrows(ValidationException.class, planning::run);
        while (error.getCause() instanceof ValidationException) {
            // Flink wraps what a table factory throws.
            error = error.getCause();
        }
        String message = error.getMessage();
        // Flink's SQL client shows the innermost cause alone.
        assertNull(error.getCause(), message);
        assertTrue(message.startsWith("Table "), message);
        assertTrue(message.contains(".t cannot be written with option '" + ENABLED + "'"), message);
        return message;
    }

    static List<StreamNode> coordinatedWriters(StreamGraph graph) {
        return graph.getStreamNodes().stream()
                .filter(node -> node.getOperatorFactory() instanceof PaimonWriterOperatorFactory)
                .collect(Collectors.toList());
    }

    static boolean hasCommitter(StreamGraph graph) {
        return graph.getStreamNodes().stream()
                .anyMatch(node -> node.getOperatorName().contains("Global Committer"));
    }

    /** The job is Paimon's own: its committer and none of our classes. */
    static void assertPaimonsOwn(StreamGraph graph) {
        assertTrue(hasCommitter(graph), () -> names(graph.getJobGraph()).toString());
        assertEquals(Collections.emptyList(), coordinatedWriters(graph));
    }

    /** The job has one coordinated writer, with a coordinator, and no committer. */
    static JobVertex assertCoordinated(StreamGraph graph) {
        assertEquals(1, coordinatedWriters(graph).size(), names(graph.getJobGraph()).toString());
        assertTrue(!hasCommitter(graph), () -> names(graph.getJobGraph()).toString());
        JobVertex writer = writerVertices(graph.getJobGraph()).get(0);
        assertTrue(!writer.getOperatorCoordinators().isEmpty(), writer.getName());
        assertTrue(!writer.isSupportsConcurrentExecutionAttempts(), writer.getName());
        return writer;
    }

    static List<JobVertex> writerVertices(JobGraph graph) {
        return StreamSupport.stream(graph.getVertices().spliterator(), false)
                .filter(vertex -> vertex.getName().contains("Coordinated Writer"))
                .collect(Collectors.toList());
    }

    static List<String> names(JobGraph graph) {
        return StreamSupport.stream(graph.getVertices().spliterator(), false)
                .map(vertex -> vertex.getName().replaceAll("\\[\\d+]", ""))
                .sorted()
                .collect(Collectors.toList());
    }

    /** The edges that join all subtasks of one vertex with all of another. */
    static List<JobEdge> joiningEdges(JobGraph graph) {
        List<JobEdge> edges = new ArrayList<>();
        for (JobVertex vertex : graph.getVertices()) {
            for (JobEdge edge : vertex.getInputs()) {
                if (edge.getDistributionPattern() == DistributionPattern.ALL_TO_ALL) {
                    edges.add(edge);
                }
            }
        }
        return edges;
    }
}
