package io.paimonwriter.coordinator;

import static io.paimonwriter.coordinator.SinkPlans.APPEND;
import static io.paimonwriter.coordinator.SinkPlans.ON;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.paimon.flink.DataCatalogTable;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The settings in the job graph are what the table and the job say. */
class CoordinatorOptionsTest {

    @TempDir Path warehouse;

    private static CoordinatorSettings settings(SinkPlans plans) throws Exception {
        FileStoreTable table =
                (FileStoreTable)
                        ((DataCatalogTable)
                                        plans.tables
                                                .getCatalog("coordinated")
                                                .get()
                                                .getTable(new ObjectPath("default", "t")))
                                .table();
        return CoordinatorOptions.settings(
                table, "user", "writer", plans.environment.fromSequence(0, 1));
    }

    private static void assertSame(CoordinatorSettings expected, CoordinatorSettings found) {
        assertArrayEquals(expected.encode(4), found.encode(4));
        assertEquals(expected.chunkSizeBytes(), found.chunkSizeBytes());
        assertEquals(expected.confirmTimeoutMillis(), found.confirmTimeoutMillis());
    }

    /** Key and default of each, as docs/options.md gives them. */
    @Test
    void theDocumentNamesEveryOptionAndItsDefault() throws Exception {
        Map<String, String> documented = new HashMap<>();
        Matcher rows =
                Pattern.compile("(?m)^\\| `([a-z-]+)` \\| [a-z ]+ \\| `([^`]+)` \\|")
                        .matcher(Files.readString(Path.of("../../../docs/options.md")));
        while (rows.find()) {
            documented.put(CoordinatorOptions.PREFIX + rows.group(1), rows.group(2));
        }
        Set<String> keys = new HashSet<>();
        for (Field field : CoordinatorOptions.class.getFields()) {
            if (field.getType() == ConfigOption.class) {
                ConfigOption<?> option = (ConfigOption<?>) field.get(null);
                assertEquals(option.defaultValue(), Options.fromMap(documented).get(option));
                keys.add(option.key());
            }
        }
        assertEquals(keys, documented.keySet());
    }

    @Test
    void defaults() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", " + ON);
        CoordinatorSettings expected =
                CoordinatorSettings.builder("user", "default.t", "writer")
                        .maxDueCommits(10)
                        .chunkSizeBytes(2 << 20)
                        .confirmTimeout(Duration.ofMinutes(1))
                        .lateEventTimeout(Duration.ofMinutes(1))
                        .commitRetries(5)
                        .commitRetryInitialBackoff(Duration.ofSeconds(1))
                        .commitRetryMaxBackoff(Duration.ofSeconds(30))
                        .checkpointingEnabled(true)
                        .checkpointHold(Duration.ofMinutes(5))
                        .requestHold(Duration.ofSeconds(5))
                        .build();
        assertSame(expected, settings(plans));
    }

    @Test
    void everyOptionIsRead() throws Exception {
        SinkPlans plans = SinkPlans.of(warehouse);
        plans.createTable(APPEND + ", 'end-input.watermark' = '77', " + ON);
        String[] values = {
            "max-due-commits", "3",
            "chunk-size", "64 kb",
            "confirm-timeout", "7 s",
            "late-event-timeout", "8 s",
            "commit-retries", "0",
            "commit-retry-initial-backoff", "9 ms",
            "commit-retry-max-backoff", "9 ms",
        };
        for (int i = 0; i < values.length; i += 2) {
            plans.sql(
                    "ALTER TABLE t SET ('%s%s' = '%s')",
                    CoordinatorOptions.PREFIX, values[i], values[i + 1]);
        }
        CoordinatorSettings expected =
                CoordinatorSettings.builder("user", "default.t", "writer")
                        .maxDueCommits(3)
                        .chunkSizeBytes(64 << 10)
                        .confirmTimeout(Duration.ofSeconds(7))
                        .lateEventTimeout(Duration.ofSeconds(8))
                        .commitRetries(0)
                        .commitRetryInitialBackoff(Duration.ofMillis(9))
                        .commitRetryMaxBackoff(Duration.ofMillis(9))
                        .checkpointingEnabled(true)
                        .checkpointHold(Duration.ofMinutes(5))
                        .requestHold(Duration.ofSeconds(5))
                        .endInputWatermark(77L)
                        .build();
        assertSame(expected, settings(plans));
    }

    @Test
    void holdsAreAShareOfFlinksTimeouts() throws Exception {
        SinkPlans plans =
                SinkPlans.of(
                        warehouse,
                        "execution.checkpointing.timeout",
                        "1 min",
                        "pekko.ask.timeout",
                        "2 s");
        plans.createTable(APPEND + ", " + ON);
        CoordinatorSettings expected =
                CoordinatorSettings.builder("user", "default.t", "writer")
                        .checkpointHold(Duration.ofSeconds(30))
                        .requestHold(Duration.ofSeconds(1))
                        .build();
        assertSame(expected, settings(plans));
    }

    @ParameterizedTest(name = "chunk-size of {0} bytes, pekko.framesize = {1}: {2}")
    @CsvSource({
        "2097152, , 2097152",
        "8388608, , 8388608",
        "2097152, 1000000b, 800000",
        "64, 1b, 1",
    })
    void s11ChunksFitTheFramesOfTheCluster(int chunkSize, String frameSize, int expected) {
        CoordinatorSettings settings =
                CoordinatorSettings.builder("user", "default.t", "writer")
                        .chunkSizeBytes(chunkSize)
                        .build();
        Configuration taskManager = new Configuration();
        if (frameSize != null) {
            taskManager.setString("pekko.framesize", frameSize);
        }
        assertEquals(expected, CoordinatorOptions.chunkSizeBytes(settings, taskManager));
    }
}
