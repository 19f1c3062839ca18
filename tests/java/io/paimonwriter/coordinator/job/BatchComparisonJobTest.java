package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.paimon.CoreOptions.PartitionSinkStrategy;
import org.apache.paimon.Snapshot;
import org.apache.paimon.io.DataFileMeta;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What Paimon does in batch jobs alone: each test runs the same job with Paimon's committer and
 * with the coordinator, on two tables, and compares what is in them afterwards.
 */
class BatchComparisonJobTest extends JobTest {

    /** One of the two tables, and the job that writes it. */
    private final class Side {

        final AppendTable table;
        final WriteJob job;
        final SourceScript script;

        Side(boolean coordinated, int splits, Map<String, String> options, String... partitions)
                throws Exception {
            table =
                    AppendTable.create(
                            directory.resolve(coordinated ? "coordinated" : "paimons"),
                            options,
                            partitions);
            script = SourceScript.create(splits).bounded();
            job = new WriteJob(script, table).batch();
            if (!coordinated) {
                job.withPaimonsCommitter();
            }
        }

        RunningJob run() throws Exception {
            script.endAll();
            try (RunningJob running = job.submitTo(cluster)) {
                running.awaitFinished();
                return running;
            }
        }
    }

    private static List<String> describe(AppendTable table) throws Exception {
        List<String> snapshots = new ArrayList<>();
        for (Snapshot snapshot : table.snapshots()) {
            snapshots.add(
                    String.format(
                            "%s, identifier %s, rows %d, added %d, watermark %s",
                            snapshot.commitKind(),
                            snapshot.commitIdentifier(),
                            snapshot.totalRecordCount(),
                            snapshot.deltaRecordCount(),
                            snapshot.watermark()));
        }
        return snapshots;
    }

    private static void assertSame(Side paimons, Side coordinated) throws Exception {
        assertEquals(describe(paimons.table), describe(coordinated.table));
        assertEquals(paimons.table.rows(), coordinated.table.rows());
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "whole table,                false, true,  , 7, 7 8",
        "whole table without rows,   false, true,  , 0, 0",
        "dynamic partitions,         true,  true,  , 7, 10",
        "dynamic partitions without rows, true, true, , 0, 5",
        "static partition,           true,  false, 1, 7, 10",
        "static partition without rows, true, false, 1, 0, 3",
        "static partition and dynamic overwrite, true, true, 1, 7, 10",
        "all partitions statically,  true,  false, , 7, 7",
    })
    void s77OverwriteDoesWhatPaimonsCommitterDoes(
            String what, boolean partitioned, boolean dynamic, String partition, int rows, String n)
            throws Exception {
        List<Side> sides = new ArrayList<>();
        for (boolean coordinated : new boolean[] {false, true}) {
            Side side =
                    new Side(
                            coordinated,
                            2,
                            Map.of("dynamic-partition-overwrite", String.valueOf(dynamic)),
                            partitioned ? new String[] {"subtask"} : new String[0]);
            side.table.appendTo(0, 1_001, 1_002, 1_003);
            side.table.appendTo(1, 2_001, 2_002);
            side.job.sink(
                    builder ->
                            builder.overwrite(
                                    partition == null ? Map.of() : Map.of("subtask", partition)));
            side.script.allow(1, rows);
            side.run();
            sides.add(side);
        }
        assertSame(sides.get(0), sides.get(1));
        String expected = n.split(" ")[0];
        assertEquals(expected, String.valueOf(sides.get(1).table.rows().size()), what);
    }

    @ParameterizedTest(name = "coordinated: {0}")
    @ValueSource(booleans = {false, true})
    void s77OverwriteBySql(boolean coordinated) throws Exception {
        TableEnvironment tables =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance()
                                .inBatchMode()
                                .withConfiguration(
                                        cluster.jobConfiguration(
                                                2, java.time.Duration.ofMillis(300)))
                                .build());
        tables.executeSql(
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon-coordinated', 'warehouse' ="
                                + " '%s')",
                        directory.toUri()));
        tables.executeSql(
                String.format(
                        "CREATE TABLE lake.`default`.t (id BIGINT, subtask INT, payload STRING)"
                                + " PARTITIONED BY (subtask) WITH ('bucket' = '-1',"
                                + " 'sink.committer-coordinator-operator.enabled' = '%s')",
                        coordinated));
        for (String statement :
                List.of(
                        "INSERT INTO lake.`default`.t VALUES (1, 0, 'a'), (2, 1, 'b'), (3, 2, 'c')",
                        "INSERT OVERWRITE lake.`default`.t PARTITION (subtask = 1)"
                                + " VALUES (4, 'd'), (5, 'e')",
                        "INSERT OVERWRITE lake.`default`.t VALUES (6, 2, 'f')",
                        "INSERT OVERWRITE lake.`default`.t"
                                + " /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */"
                                + " SELECT * FROM lake.`default`.t WHERE subtask > 0")) {
            try (RunningJob job =
                    cluster.attach(tables.executeSql(statement).getJobClient().get())) {
                job.awaitFinished();
                assertEquals(
                        coordinated,
                        job.vertexNames().stream().noneMatch(v -> v.contains("Committer")));
            }
        }
        AppendTable table = AppendTable.at(directory.resolve("default.db").resolve("t"));
        assertEquals(List.of("4, 1, d", "5, 1, e", "6, 2, f"), table.rows());
        assertEquals(
                List.of("APPEND", "OVERWRITE", "OVERWRITE", "OVERWRITE"),
                table.snapshots().stream()
                        .map(snapshot -> snapshot.commitKind().toString())
                        .collect(Collectors.toList()));
    }

    @ParameterizedTest(name = "{0}, rows: {1}")
    @CsvSource({", 5", ", 0", "mine, 5"})
    void s78ABatchJobTagsItsSnapshotAsPaimonsDoes(String name, int rows) throws Exception {
        List<Side> sides = new ArrayList<>();
        for (boolean coordinated : new boolean[] {false, true}) {
            Side side = new Side(coordinated, 2, Map.of("tag.automatic-creation", "batch"));
            if (name != null) {
                side.job.tableOption("tag.batch.customized-name", name);
            }
            side.table.append(1);
            side.script.allowAll(rows);
            side.run();
            sides.add(side);
        }
        assertSame(sides.get(0), sides.get(1));
        Map<String, Long> tags = sides.get(1).table.tags();
        assertEquals(sides.get(0).table.tags(), tags);
        String today = "batch-write-" + LocalDate.now(ZoneId.systemDefault());
        assertEquals(Map.of(name == null ? today : name, rows == 0 ? 1L : 2L), tags);
    }

    @Test
    void s78AStreamingJobWithoutCheckpointsMakesNoBatchTag() throws Exception {
        Side side = new Side(true, 2, Map.of("tag.automatic-creation", "batch"));
        side.job.withoutCheckpoints().flinkOption("execution.runtime-mode", "STREAMING");
        side.script.allowAll(5);
        side.run();
        side.table.assertHolds(side.script.ids());
        assertEquals(Map.of(), side.table.tags());
    }

    /** The ids of the splits lie between one another when they are ordered as text. */
    @ParameterizedTest(name = "{0}, sorted inside each file: {2}")
    @CsvSource({"order, payload, true", "order, payload, false", "auto, 'id,payload', true"})
    void clusteredRowsAreInRangesAsPaimonWritesThem(
            String strategy, String columns, boolean sortInCluster) throws Exception {
        List<Integer> fileCounts = new ArrayList<>();
        for (boolean coordinated : new boolean[] {false, true}) {
            Side side = new Side(coordinated, 2, Map.of("metadata.stats-mode", "full"));
            side.job.sink(
                    builder -> builder.clusteringIfPossible(columns, strategy, sortInCluster, 100));
            side.script.allowAll(2_000);
            side.run();

            side.table.assertHolds(side.script.ids());
            fileCounts.add(side.table.files().size());
            if (strategy.equals("order")) {
                assertRangesOfPayloads(side.table.files());
                assertEquals(sortInCluster, descents(side.table) < side.table.files().size());
            }
        }
        assertEquals(fileCounts.get(0), fileCounts.get(1));
        assertEquals(2, fileCounts.get(1), "one range for each writer");
    }

    private static void assertRangesOfPayloads(List<DataFileMeta> files) {
        files.sort(Comparator.comparing(BatchComparisonJobTest::least));
        for (int i = 1; i < files.size(); i++) {
            String before = greatest(files.get(i - 1));
            String after = least(files.get(i));
            assertTrue(before.compareTo(after) <= 0, before + " and " + after + " overlap");
        }
    }

    private static String least(DataFileMeta file) {
        return file.valueStats().minValues().getString(2).toString();
    }

    private static String greatest(DataFileMeta file) {
        return file.valueStats().maxValues().getString(2).toString();
    }

    /** How often a payload is less than the one before it, in the order in which they are read. */
    private static int descents(AppendTable table) throws Exception {
        List<String> payloads = new ArrayList<>();
        table.forEachRow(row -> payloads.add(row.getString(2).toString()));
        int descents = 0;
        for (int i = 1; i < payloads.size(); i++) {
            descents += payloads.get(i).compareTo(payloads.get(i - 1)) < 0 ? 1 : 0;
        }
        return descents;
    }

    @ParameterizedTest
    @EnumSource(PartitionSinkStrategy.class)
    void s77PartitionedTablesWithEverySinkStrategy(PartitionSinkStrategy strategy)
            throws Exception {
        List<Side> sides = new ArrayList<>();
        List<List<String>> vertices = new ArrayList<>();
        for (boolean coordinated : new boolean[] {false, true}) {
            Side side =
                    new Side(
                            coordinated,
                            4,
                            Map.of("partition.sink-strategy", strategy.name()),
                            "subtask");
            side.script.allowAll(100);
            RunningJob job = side.run();
            vertices.add(job.vertexNames());
            sides.add(side);
        }
        assertSame(sides.get(0), sides.get(1));
        assertEquals(Set.of(400L), Set.copyOf(sides.get(1).table.addedRows()));
        assertEquals(vertices.get(0).size() - 1, vertices.get(1).size(), "without the committer");
    }
}
