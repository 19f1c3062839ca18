package io.paimonwriter.coordinator;

import static io.paimonwriter.coordinator.SinkPlans.APPEND;
import static io.paimonwriter.coordinator.SinkPlans.ENABLED;
import static io.paimonwriter.coordinator.SinkPlans.ON;
import static io.paimonwriter.coordinator.SinkPlans.assertCoordinated;
import static io.paimonwriter.coordinator.SinkPlans.assertPaimonsOwn;
import static io.paimonwriter.coordinator.SinkPlans.coordinatedWriters;
import static io.paimonwriter.coordinator.SinkPlans.joiningEdges;
import static io.paimonwriter.coordinator.SinkPlans.names;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.paimon.CoreOptions.PartitionSinkStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** The option reaches the sink on every way that Paimon's own options do. */
class WayInTest {

    @TempDir Path warehouse;

    @Test
    void s100OptionNotSetIsPaimonsOwnSink() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        assertPaimonsOwn(plans.insert());
    }

    @Test
    void s100OptionFalseIsPaimonsOwnSink() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", '" + ENABLED + "' = 'false'");
        assertPaimonsOwn(plans.insert());
    }

    @Test
    void s100OptionOffGivesTheSameGraphAsPaimonsCatalog() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createCatalog("plain", "paimon");
        plans.createTable("'bucket' = '-1'");
        List<String> ours = names(plans.insert().getJobGraph());
        assertEquals(names(plans.insert("plain.`default`.t").getJobGraph()), ours);
        assertTrue(ours.stream().anyMatch(name -> name.contains("Compact Coordinator")));
    }

    @Test
    void s100TablesWithKeysAndBucketsAreUntouchedWithoutTheOption() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.sql("CREATE TABLE k (id BIGINT PRIMARY KEY NOT ENFORCED, word STRING)");
        plans.sql("CREATE TABLE b (id BIGINT, word STRING) WITH ('bucket'='2','bucket-key'='id')");
        assertPaimonsOwn(plans.insert("k"));
        assertPaimonsOwn(plans.insert("b"));
    }

    @Test
    void tablePropertyReachesTheSink() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        assertCoordinated(plans.insert());
    }

    @Test
    void alterTableReachesTheSinkAndResetTakesItBack() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        plans.sql("ALTER TABLE t SET (%s)", ON);
        assertCoordinated(plans.insert());
        plans.sql("ALTER TABLE t RESET ('%s')", ENABLED);
        assertPaimonsOwn(plans.insert());
    }

    @Test
    void hintReachesTheSinkAndOverridesTheTable() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable("'bucket' = '-1'");
        String hint = "t /*+ OPTIONS('write-only' = 'true', " + ON + ") */";
        assertCoordinated(plans.insert(hint));
        plans.sql("ALTER TABLE t SET ('write-only' = 'true', %s)", ON);
        assertPaimonsOwn(plans.insert("t /*+ OPTIONS('" + ENABLED + "' = 'false') */"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"paimon.coordinated.default.t.", "paimon.*.*.t.", ""})
    void jobConfigurationReachesTheSink(String prefix) {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        plans.tables.getConfig().set(prefix + ENABLED, "true");
        assertCoordinated(plans.insert());
    }

    @Test
    void jobConfigurationForAnotherTableDoesNotReachTheSink() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        plans.tables.getConfig().set("paimon.coordinated.default.other." + ENABLED, "true");
        assertPaimonsOwn(plans.insert());
    }

    @Test
    void tableOfPaimonsOwnCatalogMayBeWritten() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createCatalog("plain", "paimon");
        plans.sql(
                "CREATE TABLE plain.`default`.t (id BIGINT, word STRING) WITH (%s, %s)",
                APPEND, ON);
        assertCoordinated(plans.insert());
        assertPaimonsOwn(plans.insert("plain.`default`.t"));
    }

    @Test
    void branchMayBeWritten() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        plans.tables.executeSql("CALL sys.create_branch('default.t', 'side')");
        assertCoordinated(plans.insert("`t$branch_side`"));
    }

    @Test
    void nothingJoinsTheWriters() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        JobGraph graph = plans.insert().getJobGraph();
        assertEquals(Collections.emptyList(), joiningEdges(graph));
        graph.getVertices().forEach(v -> assertEquals(SinkPlans.PARALLELISM, v.getParallelism()));
    }

    @Test
    void sinkParallelismHoldsForTheWriterAndItsEnd() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON + ", 'sink.parallelism' = '3'");
        JobVertex writer = assertCoordinated(plans.insert());
        assertEquals(3, writer.getParallelism());
        assertTrue(writer.getName().contains("end: Writer"), writer.getName());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void h26OperatorIdIsAnotherThanWithPaimonsSink(int parallelism) throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.environment.setParallelism(parallelism);
        plans.createTable(APPEND);
        String target = "t /*+ OPTIONS(" + ON + ") */";
        OperatorID writer = coordinatedOperator(assertCoordinated(plans.insert(target)));
        assertEquals(
                writer,
                coordinatedOperator(assertCoordinated(plans.insert(target))),
                "it is the same whenever the job is planned");
        assertFalse(
                operatorIds(plans.insert()).contains(writer),
                "no state passes from one sink to the other");
    }

    /** So each operator in front finds its state in a savepoint, whichever sink is behind it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT id, word FROM %s",
                "SELECT COUNT(*), word FROM (SELECT word, PROCTIME() AS p FROM %s)"
                        + " GROUP BY word, TUMBLE(p, INTERVAL '1' SECOND)",
                "SELECT id, word FROM %s UNION ALL SELECT MAX(id), word FROM (SELECT id, word,"
                    + " PROCTIME() AS p FROM %<s) GROUP BY word, TUMBLE(p, INTERVAL '1' SECOND)",
            })
    void h26WhatIsInFrontOfTheOnlySinkHasTheSameIdsWithBoth(String query) {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND);
        String insert = "INSERT INTO %s " + String.format(query, plans.numbers());
        Set<OperatorID> paimons = operatorIds(plans.plan(String.format(insert, "t")));
        Set<OperatorID> coordinated =
                operatorIds(plans.plan(String.format(insert, "t /*+ OPTIONS(" + ON + ") */")));

        Set<OperatorID> onlyPaimons = new HashSet<>(paimons);
        onlyPaimons.removeAll(coordinated);
        Set<OperatorID> onlyCoordinated = new HashSet<>(coordinated);
        onlyCoordinated.removeAll(paimons);

        // What Flink says that it skips, see docs/migration.md.
        assertEquals(3, onlyPaimons.size(), "writer, committer, end");
        assertEquals(2, onlyCoordinated.size(), "writer, end");
    }

    @Test
    void uidSuffixIsPartOfTheWritersUid() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", 'sink.operator-uid.suffix' = 'mine', " + ON);
        StreamNode writer = coordinatedWriters(plans.insert()).get(0);
        assertEquals("Coordinated Writer_t_mine", writer.getTransformationUID());
    }

    @Test
    void s110SeveralSinksHaveACoordinatorEach() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        plans.sql("CREATE TABLE u (id BIGINT, word STRING) WITH (%s, %s)", APPEND, ON);
        // From 2.1 on Flink makes one sink of several for the same table.
        plans.tables.getConfig().set("table.optimizer.reuse-sink-enabled", "false");
        String values = " SELECT id, word FROM " + plans.numbers();
        StreamGraph graph =
                plans.plan(
                        "INSERT INTO t" + values,
                        "INSERT INTO t" + values,
                        "INSERT INTO u" + values);
        List<StreamNode> writers = coordinatedWriters(graph);
        assertEquals(3, writers.size());
        assertEquals(3, writers.stream().map(StreamNode::getTransformationUID).distinct().count());
        long coordinators =
                SinkPlans.writerVertices(graph.getJobGraph()).stream()
                        .mapToLong(vertex -> vertex.getOperatorCoordinators().size())
                        .sum();
        assertTrue(coordinators >= 3, "coordinators: " + coordinators);
    }

    @Test
    void partitionedTableMayBeWritten() {
        SinkPlans plans = SinkPlans.of(warehouse);
        createPartitioned(plans, "");
        JobGraph graph = plans.insert().getJobGraph();
        assertEquals(Collections.emptyList(), joiningEdges(graph));
    }

    @Test
    void staticPartitionMayBeWritten() {
        SinkPlans plans = SinkPlans.of(warehouse);
        createPartitioned(plans, "");
        StreamGraph graph =
                plans.plan(
                        "INSERT INTO t PARTITION (word = 'a') SELECT id FROM " + plans.numbers());
        assertCoordinated(graph);
        assertEquals(Collections.emptyList(), joiningEdges(graph.getJobGraph()));
    }

    @ParameterizedTest
    @EnumSource(value = PartitionSinkStrategy.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void partitionStrategyShufflesLikePaimonsOwnSink(PartitionSinkStrategy strategy) {
        SinkPlans plans = SinkPlans.of(warehouse);
        createPartitioned(plans, ", 'partition.sink-strategy' = '" + strategy + "'");
        StreamGraph graph = plans.insert();
        assertCoordinated(graph);
        assertEquals(1, joiningEdges(graph.getJobGraph()).size());

        plans.sql("ALTER TABLE t RESET ('%s')", ENABLED);
        StreamGraph paimons = plans.insert();
        assertPaimonsOwn(paimons);
        assertEquals(upstreamOfWriter(paimons), upstreamOfWriter(graph));
    }

    @Test
    void blobColumnsMayBeWritten() {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.sql(
                "CREATE TABLE t (id BIGINT, picture BYTES) WITH (%s, %s, 'blob-field' = 'picture',"
                        + " 'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true')",
                APPEND, ON);
        assertCoordinated(
                plans.plan(
                        "INSERT INTO t SELECT id, ENCODE(word, 'UTF-8') FROM " + plans.numbers()));
    }

    private static void createPartitioned(SinkPlans plans, String more) {
        plans.sql(
                "CREATE TABLE t (id BIGINT, word STRING) PARTITIONED BY (word) WITH (%s, %s%s)",
                APPEND, ON, more);
    }

    private static List<String> upstreamOfWriter(StreamGraph graph) {
        return graph.getStreamNodes().stream()
                .map(StreamNode::getOperatorName)
                .map(name -> name.replaceAll("\\[\\d+]", ""))
                .filter(name -> !name.contains("Writer") && !name.contains("Committer"))
                .sorted()
                .collect(Collectors.toList());
    }

    private static OperatorID coordinatedOperator(JobVertex vertex) throws Exception {
        return vertex.getOperatorCoordinators()
                .get(0)
                .deserializeValue(WayInTest.class.getClassLoader())
                .getOperatorId();
    }

    private static Set<OperatorID> operatorIds(StreamGraph graph) {
        return StreamSupport.stream(graph.getJobGraph().getVertices().spliterator(), false)
                .flatMap(vertex -> vertex.getOperatorIDs().stream())
                .map(OperatorIDPair::getGeneratedOperatorID)
                .collect(Collectors.toSet());
    }
}
