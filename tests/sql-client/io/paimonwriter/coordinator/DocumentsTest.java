package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.job.Await;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The commands and statements of the README and of docs/migration.md on a stock Flink, as they
 * stand there but for the places.
 */
@Tag("one-pair")
class DocumentsTest extends FlinkHomeTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String EVENTS = "lake.`default`.events";
    private static final String STOP = "flink stop";
    private static final String RUN = "flink run";

    private String catalog;
    private String warehouse;

    @BeforeEach
    void nameTheWarehouse() {
        warehouse = directory.resolve("warehouse").toUri().toString();
        catalog =
                String.format(
                        "CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '%s');%n",
                        warehouse);
    }

    @Test
    void s100TheReadmesStatementsWriteATable() throws Exception {
        String statements = block("README.md", "CREATE CATALOG");

        String output =
                runSqlClient(
                        "CREATE TEMPORARY TABLE source (id BIGINT, payload STRING)"
                                + " WITH ('connector' = 'datagen', 'number-of-rows' = '1234');\n"
                                + "SET 'table.dml-sync' = 'true';\n"
                                + statements.replace("hdfs:///warehouse", warehouse)
                                + count());

        assertTrue(output.matches("(?s).*\\| +1234 \\|.*"), output);
    }

    /** From Paimon's committer to the coordinator, by the command line. */
    @Test
    void s39ADataStreamJobMovesByTheSteps() throws Exception {
        runSqlClient(catalog + createTable("false"));
        start("flink", "run", "-Dexecution.checkpointing.interval=500ms", jar(), warehouse);
        String job = awaitJobWith("Global Committer : events");

        String savepoint = stop(job);
        String output = runSqlClient(catalog + block("docs/migration.md", "SELECT snapshot_id"));
        assertTrue(output.matches("(?s).*\\| commit_identifier \\|.*1 row in set.*"), output);

        runSqlClient(catalog + alterTable("true"));
        List<String> words = words(block("docs/migration.md", RUN), savepoint);
        words.set(words.indexOf("job.jar"), jar());
        words.add(warehouse);
        start("flink", words.toArray(new String[0]));
        stop(awaitJobWith("Coordinated Writer : events"));

        assertEquals(3, leftOut(), jobManagerLog());
        assertEachRowOnce();
    }

    /** From the coordinator to Paimon's committer, in the SQL client. */
    @Test
    void s39ASqlJobMovesByTheSteps() throws Exception {
        String source =
                "CREATE TEMPORARY TABLE source (id BIGINT, payload STRING) WITH ('connector' ="
                        + " 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0',"
                        + " 'fields.id.end' = '100000', 'rows-per-second' = '100');\n"
                        + "SET 'parallelism.default' = '1';\n";
        String insert = String.format("INSERT INTO %s SELECT id, payload FROM source;%n", EVENTS);
        runSqlClient(
                catalog
                        + source
                        + createTable("true")
                        + "SET 'execution.checkpointing.interval' = '500 ms';\n"
                        + insert);
        String savepoint = stop(awaitJobWith("Coordinated Writer : events"));

        String restore = block("docs/migration.md", "execution.state-recovery.path");
        runSqlClient(
                catalog
                        + source
                        + alterTable("false")
                        + at(savepoint, restore).replace("INSERT INTO …", insert));
        stop(awaitJobWith("Global Committer : events"));

        assertEquals(2, leftOut(), jobManagerLog());
        assertEachRowOnce();
    }

    private static String createTable(String enabled) {
        return String.format(
                "CREATE TABLE %s (id BIGINT, payload STRING) WITH ('bucket' = '-1', 'write-only' ="
                        + " 'true', 'sink.committer-coordinator-operator.enabled' = '%s');%n",
                EVENTS, enabled);
    }

    private static String alterTable(String enabled) {
        return String.format(
                "ALTER TABLE %s SET ('sink.committer-coordinator-operator.enabled' = '%s');%n",
                EVENTS, enabled);
    }

    private static String count() {
        return String.format(
                "SET 'execution.runtime-mode' = 'batch';%n"
                        + "SET 'sql-client.execution.result-mode' = 'tableau';%n"
                        + "SELECT COUNT(*) FROM %s;%n",
                EVENTS);
    }

    /** The rows count from 0 without a gap. */
    private void assertEachRowOnce() throws Exception {
        String sum =
                count().replace("COUNT(*)", "COUNT(*), COUNT(DISTINCT id), MIN(id), MAX(id) + 1");
        String output = runSqlClient(catalog + sum);
        assertTrue(
                output.matches("(?s).*\\| +([1-9][0-9]*) \\| +\\1 \\| +0 \\| +\\1 \\|.*"), output);
    }

    /** Waits for rows after those that are there, stops the job, and returns the savepoint. */
    private String stop(String job) throws Exception {
        // Where the job has begun is known once a checkpoint has completed, or a savepoint.
        List<String> words = words(block("docs/migration.md", STOP), "");
        words.set(words.indexOf("JOB_ID"), job);
        String output = run("flink", words.toArray(new String[0]));
        Matcher path = Pattern.compile("Savepoint completed. Path: (\\S+)").matcher(output);
        assertTrue(path.find(), output);
        return path.group(1);
    }

    /** The arguments of a command "flink …". */
    private List<String> words(String command, String savepoint) {
        return Stream.of(at(savepoint, command).trim().split("\\s+"))
                .skip(1)
                .collect(Collectors.toCollection(ArrayList::new));
    }

    /** With the places of this test. */
    private String at(String savepoint, String text) {
        return text.replace("hdfs:///savepoints/savepoint-…", savepoint)
                .replace("hdfs:///savepoints", directory.resolve("savepoints").toUri().toString());
    }

    /** Returns the id of the job that runs and has this operator. */
    private String awaitJobWith(String operator) {
        String[] id = new String[1];
        Await.until(
                "a job with " + operator + " runs and has made rows",
                LIMIT,
                () -> {
                    Matcher jobs =
                            Pattern.compile("\"id\":\"(\\w{32})\",\"status\":\"RUNNING\"")
                                    .matcher(ask("/jobs"));
                    if (!jobs.find()) {
                        return false;
                    }
                    id[0] = jobs.group(1);
                    String job = ask("/jobs/" + id[0]);
                    return job.contains(operator)
                            && !job.matches(
                                    "(?s).*\"status\":\"(CREATED|SCHEDULED|DEPLOYING|INITIALIZING)\".*");
                },
                this::jobManagerLog);
        return id[0];
    }

    /** How often the job manager said that it left the state of an operator out. */
    private int leftOut() throws IOException {
        return jobManagerLog().split("Skipping savepoint state for operator", -1).length - 1;
    }

    /** The jar of {@link MovedJob}, as a user builds it. */
    private String jar() throws IOException {
        Path jar = directory.resolve("job.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, MovedJob.class.getName());
        String name = MovedJob.class.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
                InputStream in = MovedJob.class.getResourceAsStream("/" + name)) {
            out.putNextEntry(new JarEntry(name));
            in.transferTo(out);
        }
        return jar.toString();
    }

    /** The one block of a document, of commands or statements, with this text in it. */
    private static String block(String document, String text) throws IOException {
        Path file = Path.of("../../..", document);
        Matcher blocks =
                Pattern.compile("(?ms)^( *)```(?:sql|sh)\\n(.*?)^\\1```$")
                        .matcher(Files.readString(file));
        List<String> found = new ArrayList<>();
        while (blocks.find()) {
            if (blocks.group(2).contains(text)) {
                found.add(blocks.group(2));
            }
        }
        assertEquals(1, found.size(), document + " has these blocks with " + text + ": " + found);
        return found.get(0);
    }
}
