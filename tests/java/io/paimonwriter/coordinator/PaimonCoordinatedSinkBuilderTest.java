package io.paimonwriter.coordinator;

import static io.paimonwriter.coordinator.SinkPlans.APPEND;
import static io.paimonwriter.coordinator.SinkPlans.ON;
import static io.paimonwriter.coordinator.SinkPlans.assertCoordinated;
import static io.paimonwriter.coordinator.SinkPlans.assertPaimonsOwn;
import static io.paimonwriter.coordinator.SinkPlans.joiningEdges;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.types.Row;
import org.apache.paimon.flink.DataCatalogTable;
import org.apache.paimon.flink.sink.FlinkTableSinkBase;
import org.apache.paimon.table.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;

/** The way in from a DataStream, and the two classes that stand between SQL and the builder. */
class PaimonCoordinatedSinkBuilderTest {

    private static final DataType ROW_TYPE =
            DataTypes.ROW(
                    DataTypes.FIELD("id", DataTypes.BIGINT()),
                    DataTypes.FIELD("word", DataTypes.STRING()));

    @TempDir Path warehouse;

    private static DataStream<Row> rows(SinkPlans plans) {
        DataGeneratorSource<Row> source =
                new DataGeneratorSource<>(
                        number -> Row.of(number, "word"),
                        1000,
                        Types.ROW_NAMED(new String[] {"id", "word"}, Types.LONG, Types.STRING));
        return plans.environment.fromSource(source, WatermarkStrategy.noWatermarks(), "rows");
    }

    private static Table table(SinkPlans plans) throws Exception {
        return ((DataCatalogTable)
                        plans.tables
                                .getCatalog("coordinated")
                                .get()
                                .getTable(new ObjectPath("default", "t")))
                .table();
    }

    @Test
    void rowsReachTheCoordinatedSink() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        new PaimonCoordinatedSinkBuilder(table(plans))
                .forRow(rows(plans), ROW_TYPE)
                .parallelism(4)
                .clusteringIfPossible("id", "auto", false, 100)
                .build();
        StreamGraph graph = plans.environment.getStreamGraph();
        JobVertex writer = assertCoordinated(graph);
        assertEquals(4, writer.getParallelism());
        assertEquals(Collections.emptyList(), joiningEdges(graph.getJobGraph()));
        assertEquals(1, graph.getJobGraph().getNumberOfVertices(), writer.getName());
        long converters =
                graph.getStreamNodes().stream()
                        .filter(node -> node.getOperatorName().equals("Map"))
                        .count();
        assertEquals(2, converters, "one to Flink's row data, one to Paimon's rows");
    }

    @Test
    void rowDataReachesTheCoordinatedSinkByDynamicOption() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        Table table = table(plans).copy(Map.of(SinkPlans.ENABLED, "true"));
        DataStream<RowData> input =
                rows(plans)
                        .map(row -> (RowData) null)
                        .returns(InternalTypeInfo.of(ROW_TYPE.getLogicalType()));
        new PaimonCoordinatedSinkBuilder(table).forRowData(input).build();
        assertCoordinated(plans.environment.getStreamGraph());
    }

    @Test
    void s100OptionOffIsPaimonsOwnSink() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        new PaimonCoordinatedSinkBuilder(table(plans)).forRow(rows(plans), ROW_TYPE).build();
        assertPaimonsOwn(plans.environment.getStreamGraph());
    }

    @Test
    void overwriteIsRefused() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        PaimonCoordinatedSinkBuilder builder = new PaimonCoordinatedSinkBuilder(table(plans));
        builder.forRow(rows(plans), ROW_TYPE).overwrite();
        String message = assertThrows(ValidationException.class, builder::build).getMessage();
        assertTrue(message.contains("overwrites"), message);
    }

    @Test
    void automaticModeIsRefused() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        plans.environment.setRuntimeMode(RuntimeExecutionMode.AUTOMATIC);
        PaimonCoordinatedSinkBuilder builder = new PaimonCoordinatedSinkBuilder(table(plans));
        builder.forRow(rows(plans), ROW_TYPE);
        String message = assertThrows(ValidationException.class, builder::build).getMessage();
        assertTrue(message.contains("'execution.runtime-mode' is 'AUTOMATIC'"), message);
        assertTrue(message.contains("'execution.runtime-mode' = 'BATCH' or"), message);
    }

    @Test
    void inputIsRequired() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        assertThrows(
                IllegalStateException.class, new PaimonCoordinatedSinkBuilder(table(plans))::build);
    }

    @Test
    void copyKeepsTheKindAndStateOfTheTableSink() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.sql(
                "CREATE TABLE t (id BIGINT, word STRING) PARTITIONED BY (word) WITH (%s, %s)",
                APPEND, ON);
        CoordinatedFlinkTableSink sink =
                new CoordinatedFlinkTableSink(
                        ObjectIdentifier.of("coordinated", "default", "t"), table(plans), null);
        sink.applyStaticPartition(Map.of("word", "a"));
        sink.applyOverwrite(true);
        CoordinatedFlinkTableSink copied = (CoordinatedFlinkTableSink) sink.copy();
        assertEquals(Map.of("word", "a"), field(copied, "staticPartitions"));
        assertEquals(true, field(copied, "overwrite"));
        sink.applyStaticPartition(Map.of("word", "b"));
        assertEquals(Map.of("word", "a"), field(copied, "staticPartitions"), "not shared");
    }

    /** Paimon shows these fields to subclasses only. */
    private static Object field(FlinkTableSinkBase sink, String name) throws Exception {
        Field field = FlinkTableSinkBase.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(sink);
    }
}
