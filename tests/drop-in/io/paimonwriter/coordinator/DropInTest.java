package io.paimonwriter.coordinator;

import static io.paimonwriter.coordinator.SinkPlans.APPEND;
import static io.paimonwriter.coordinator.SinkPlans.ENABLED;
import static io.paimonwriter.coordinator.SinkPlans.ON;
import static io.paimonwriter.coordinator.SinkPlans.assertCoordinated;
import static io.paimonwriter.coordinator.SinkPlans.assertPaimonsOwn;
import static io.paimonwriter.coordinator.SinkPlans.names;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.table.catalog.GenericInMemoryCatalog;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.Factory;
import org.apache.paimon.flink.DataCatalogTable;
import org.apache.paimon.flink.FlinkCatalog;
import org.apache.paimon.flink.FlinkGenericCatalog;
import org.apache.paimon.flink.FlinkTableFactory;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.table.Table;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarFile;

/** In the drop-in jar Paimon's own ways in lead to the coordinated sink, if the option asks. */
class DropInTest {

    @TempDir Path warehouse;

    private SinkPlans plans;

    @BeforeEach
    void usePaimonsOwnCatalog() {
        plans = SinkPlans.of(warehouse);
        plans.createCatalog("paimons", "paimon");
        plans.tables.useCatalog("paimons");
    }

    @Test
    void s100WithoutTheOptionPaimonCommits() {
        plans.createTable(APPEND);
        assertPaimonsOwn(plans.insert());
        plans.sql("ALTER TABLE t SET ('%s' = 'false')", ENABLED);
        assertPaimonsOwn(plans.insert());
    }

    @Test
    void s100OtherTablesAreUntouchedWithoutTheOption() {
        plans.sql("CREATE TABLE k (id BIGINT PRIMARY KEY NOT ENFORCED, word STRING)");
        plans.sql("CREATE TABLE b (id BIGINT, word STRING) WITH ('bucket'='2','bucket-key'='id')");
        plans.createTable("'bucket' = '-1'");
        assertPaimonsOwn(plans.insert("k"));
        assertPaimonsOwn(plans.insert("b"));
        assertTrue(names(plans.insert().getJobGraph()).toString().contains("Compact Coordinator"));
    }

    @Test
    void tableOfPaimonsCatalog() {
        plans.createTable(APPEND + ", " + ON);
        assertCoordinated(plans.insert());
        assertPaimonsOwn(plans.insert("t /*+ OPTIONS('" + ENABLED + "' = 'false') */"));
    }

    @Test
    void hintAndJobConfiguration() {
        plans.createTable(APPEND);
        assertCoordinated(plans.insert("t /*+ OPTIONS(" + ON + ") */"));
        plans.tables.getConfig().set("paimon.*.*.t." + ENABLED, "true");
        assertCoordinated(plans.insert());
    }

    @Test
    void ownCatalogTypeIsStillThere() {
        plans.createTable(APPEND + ", " + ON);
        assertCoordinated(plans.insert("coordinated.`default`.t"));
        assertPaimonsOwn(
                plans.insert(
                        "coordinated.`default`.t /*+ OPTIONS('" + ENABLED + "' = 'false') */"));
    }

    @Test
    // The other way takes a catalog by its options only, and those of this one ask for a Hive.
    @SuppressWarnings("deprecation")
    void genericCatalog() {
        FlinkCatalog paimon = (FlinkCatalog) plans.tables.getCatalog("paimons").get();
        plans.tables.registerCatalog(
                "generic", new FlinkGenericCatalog(paimon, new OtherTables("other")));
        plans.tables.useCatalog("generic");
        plans.createTable("'connector' = 'paimon', " + APPEND + ", " + ON);
        assertCoordinated(plans.insert("paimons.`default`.t"));
        assertCoordinated(plans.insert());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "TEMPORARY "})
    void connectorOptionOutsideAPaimonCatalog(String temporary) {
        plans.tables.useCatalog("default_catalog");
        String definition =
                "CREATE %sTABLE t (id BIGINT, word STRING) WITH ('connector' = 'paimon', 'path' ="
                        + " '%s/somewhere', 'auto-create' = 'true', %s, %s)";
        plans.sql(definition, temporary, warehouse, APPEND, ON);
        assertCoordinated(plans.insert());
    }

    @Test
    void sinkBuilderOfADataStream() throws Exception {
        plans.createTable(APPEND);
        Table table =
                ((DataCatalogTable)
                                plans.tables
                                        .getCatalog("paimons")
                                        .get()
                                        .getTable(new ObjectPath("default", "t")))
                        .table();
        write(table);
        assertPaimonsOwn(plans.environment.getStreamGraph());
        write(table.copy(Map.of(ENABLED, "true")));
        assertEquals(4, assertCoordinated(plans.environment.getStreamGraph()).getParallelism());
    }

    private void write(Table table) {
        new FlinkSinkBuilder(table)
                .forRowData(
                        plans.environment
                                .fromData(1L)
                                .map(number -> (RowData) null)
                                .returns(RowData.class))
                .parallelism(4)
                .build();
    }

    @Test
    void whatItCannotWriteIsRefused() {
        plans.createTable("'bucket' = '-1', " + ON);
        String message = plans.refusal();
        assertTrue(message.contains("'write-only' is not 'true'"), message);

        plans.sql("DROP TABLE t");
        plans.sql("CREATE TABLE t (id BIGINT PRIMARY KEY NOT ENFORCED, word STRING) WITH (%s)", ON);
        message = plans.refusal();
        assertTrue(message.contains("it has the primary keys [id]"), message);

        FlinkTableFactory factory =
                (FlinkTableFactory) plans.tables.getCatalog("paimons").get().getFactory().get();
        message =
                SinkPlans.refusal(() -> factory.createDynamicTableSink(plans.formatTable("true")));
        assertTrue(message.contains("it is a format table"), message);
    }

    @Test
    void aSecondPaimonIsRefused() throws Exception {
        Path builder = warehouse.resolve("org/apache/paimon/flink/sink/FlinkSinkBuilder.class");
        Files.createDirectories(builder.getParent());
        Files.createFile(builder);
        ClassLoader one = FlinkSinkBuilder.class.getClassLoader();
        DropIn.checkNoOtherPaimon("default.t", one);
        try (URLClassLoader two = new URLClassLoader(new URL[] {warehouse.toUri().toURL()}, one)) {
            String message = SinkPlans.refusal(() -> DropIn.checkNoOtherPaimon("default.t", two));
            assertTrue(message.contains("Paimon is there 2 times, in "), message);
            assertTrue(message.contains(builder.toUri().getPath()), message);
        }
    }

    @Test
    void jarHasTheNoticesOfBoth() throws Exception {
        URL place = FlinkTableFactory.class.getProtectionDomain().getCodeSource().getLocation();
        assertEquals(place, DropIn.class.getProtectionDomain().getCodeSource().getLocation());
        assertTrue(place.getPath().contains("/paimon-coordinated-flink-"), place.toString());
        try (JarFile jar = new JarFile(place.getPath())) {
            String notice = text(jar, "META-INF/NOTICE");
            assertTrue(notice.contains("The Apache Software Foundation"), notice);
            assertTrue(notice.contains("modified to call it: " + FlinkSinkBuilder.class.getName()));
            assertTrue(text(jar, "META-INF/LICENSE").contains("Apache License"));
            String crates = text(jar, "META-INF/LICENSE-NATIVE");
            assertTrue(crates.contains("tokio ") && crates.contains("Tokio Contributors"));
        }
    }

    private static String text(JarFile jar, String name) throws Exception {
        byte[] bytes = jar.getInputStream(jar.getEntry(name)).readAllBytes();
        return new String(bytes, StandardCharsets.UTF_8).replaceAll("\\s+", " ");
    }

    /** Stands for the catalog of Hive, which is what Paimon's generic catalog wraps. */
    private static final class OtherTables extends GenericInMemoryCatalog {

        OtherTables(String name) {
            super(name);
        }

        @Override
        public Optional<Factory> getFactory() {
            return Optional.of(new FlinkTableFactory());
        }
    }
}
