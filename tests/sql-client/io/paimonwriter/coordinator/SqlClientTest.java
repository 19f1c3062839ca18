package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.paimonwriter.coordinator.job.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A stock Flink with the drop-in jar in its lib, used through the scripts that come with it:
 * nothing of this project is told of but the option.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SqlClientTest {

    private static final Duration START_LIMIT = Duration.ofSeconds(60);

    @TempDir Path directory;

    private final List<Process> processes = new ArrayList<>();
    private final HttpClient http = HttpClient.newHttpClient();
    private Path home;
    private List<String> options;
    private String restAddress;

    @BeforeEach
    void startFlink() throws Exception {
        home = Files.createDirectory(directory.resolve("flink"));
        Path stock = Path.of(System.getProperty("test.flink.home"));
        for (String folder : List.of("lib", "opt", "bin", "conf")) {
            Files.createDirectory(home.resolve(folder));
            try (Stream<Path> files = Files.list(stock.resolve(folder))) {
                for (Path file : files.collect(Collectors.toList())) {
                    add(folder, file);
                }
            }
        }
        for (String jar : System.getProperty("test.flink.jars").split(File.pathSeparator)) {
            add("lib", Path.of(jar));
        }
        int restPort = freePort();
        restAddress = "http://localhost:" + restPort;
        options =
                Stream.of(
                                "rest.port=" + restPort,
                                "jobmanager.rpc.port=" + freePort(),
                                "taskmanager.numberOfTaskSlots=4",
                                "parallelism.default=2")
                        .flatMap(option -> Stream.of("-D", option))
                        .collect(Collectors.toList());
        start("jobmanager.sh", "start-foreground");
        start("taskmanager.sh", "start-foreground");
        Await.until(
                "a task manager has registered",
                START_LIMIT,
                () -> ask("/overview").contains("\"slots-available\":4"),
                () -> log("jobmanager.sh") + log("taskmanager.sh"));
    }

    /** The scripts find their home from where they are, so they are copied; jars are linked. */
    private void add(String folder, Path file) throws IOException {
        Path here = home.resolve(folder).resolve(file.getFileName());
        if (file.toString().endsWith(".jar")) {
            Files.createSymbolicLink(here, file);
        } else {
            Files.copy(file, here, StandardCopyOption.COPY_ATTRIBUTES);
        }
    }

    @AfterEach
    void stopFlink() throws Exception {
        for (Process process : processes) {
            // The scripts have become their JVMs.
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void s01s100PaimonsQuickStartWithTheOptionAdded() throws Exception {
        String warehouse = directory.resolve("warehouse").toUri().toString();

        String output = runSqlClient(resource("/quick-start.sql").replace("WAREHOUSE", warehouse));

        for (String table : List.of("word_count", "words", "more_words")) {
            assertTrue(output.matches("(?s).*\\| +" + table + " \\| +1234 \\|.*"), output);
        }
        String jobs = insertJobs();
        assertOperators(
                jobs,
                "Global Committer",
                Map.of("word_count", true, "words", false, "more_words", false));
        assertOperators(
                jobs,
                "Coordinated Writer",
                Map.of("word_count", false, "words", true, "more_words", true));
        assertTrue(output.contains("it has the primary keys [word]"), output);
    }

    /** Runs the statements as a user would run a file of them, and returns all that was printed. */
    private String runSqlClient(String statements) throws Exception {
        Path file = Files.writeString(directory.resolve("statements.sql"), statements);
        Path history = directory.resolve("history");
        Process client = start("sql-client.sh", "-f", file.toString(), "-hist", history.toString());
        // It is 0 for statements that fail as well.
        int status = client.waitFor();
        String output = log("sql-client.sh");
        assertEquals(0, status, output);
        return output;
    }

    /** The operators of all INSERT jobs, as Flink's REST interface shows them. */
    private String insertJobs() throws Exception {
        Matcher ids = Pattern.compile("\"id\":\"([0-9a-f]{32})\"").matcher(ask("/jobs"));
        StringBuilder jobs = new StringBuilder();
        while (ids.find()) {
            String job = ask("/jobs/" + ids.group(1));
            if (job.contains("\"name\":\"insert-into")) {
                jobs.append(job);
            }
        }
        return jobs.toString();
    }

    private static void assertOperators(String jobs, String operator, Map<String, Boolean> tables) {
        tables.forEach(
                (table, expected) ->
                        assertEquals(
                                expected,
                                jobs.matches(".*" + operator + " : " + table + "\\b.*"),
                                operator + " : " + table + " in " + jobs));
    }

    private Process start(String script, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(home.resolve("bin").resolve(script).toString());
        command.addAll(List.of(arguments));
        command.addAll(options);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(logFile(script).toFile());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().remove("CLASSPATH");
        Process process = builder.start();
        processes.add(process);
        return process;
    }

    private Path logFile(String script) {
        return directory.resolve(script + ".log");
    }

    private String log(String script) throws IOException {
        return "==> " + script + "\n" + Files.readString(logFile(script));
    }

    /** What Flink's REST interface answers; nothing if it does not answer. */
    private String ask(String path) throws InterruptedException {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(restAddress + path)).build();
            return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
        } catch (IOException e) {
            return "";
        }
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = SqlClientTest.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), UTF_8);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
