package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.paimonwriter.coordinator.job.Await;
import io.paimonwriter.coordinator.job.FreePort;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
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
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A stock Flink with the drop-in jar in its lib, used through the scripts that come with it. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class FlinkHomeTest {

    private static final Duration START_LIMIT = Duration.ofSeconds(60);

    @TempDir Path directory;

    private final List<Started> all = new ArrayList<>();
    private final HttpClient http = HttpClient.newHttpClient();
    private Path home;
    private List<String> options;
    private String restAddress;
    private Started jobManager;

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
        int restPort = FreePort.next();
        restAddress = "http://localhost:" + restPort;
        options =
                Stream.of(
                                "rest.port=" + restPort,
                                "jobmanager.rpc.port=" + FreePort.next(),
                                "taskmanager.numberOfTaskSlots=4",
                                "parallelism.default=2")
                        .flatMap(option -> Stream.of("-D", option))
                        .collect(Collectors.toList());
        jobManager = start("jobmanager.sh", "start-foreground");
        Started taskManager = start("taskmanager.sh", "start-foreground");
        Await.until(
                "a task manager has registered",
                START_LIMIT,
                () -> ask("/overview").contains("\"slots-available\":4"),
                () -> jobManager.output() + taskManager.output());
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
        for (Started each : all) {
            // The scripts have become their JVMs.
            each.process.destroyForcibly().waitFor();
        }
    }

    /** Runs the statements as a user would run a file of them, and returns all that was printed. */
    String runSqlClient(String statements) throws Exception {
        Path file = Files.writeString(directory.resolve("statements.sql"), statements);
        Path history = directory.resolve("history");
        // Its status is 0 for statements that fail as well.
        return run("sql-client.sh", "embedded", "-f", file.toString(), "-hist", history.toString());
    }

    /** Runs a script of Flink's to its end, and returns all that it printed. */
    String run(String script, String... arguments) throws Exception {
        Started started = start(script, arguments);
        int status = started.process.waitFor();
        assertEquals(0, status, started.output());
        return started.output();
    }

    /** Starts a script of Flink's. */
    Started start(String script, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(home.resolve("bin").resolve(script).toString());
        command.addAll(List.of(arguments));
        // "flink" takes options right after the action, the others anywhere.
        command.addAll(2, options);
        Path log = directory.resolve(all.size() + "-" + script + ".log");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(log.toFile());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().remove("CLASSPATH");
        Started started = new Started(builder.start(), log);
        all.add(started);
        return started;
    }

    /** What the job manager has logged so far. */
    String jobManagerLog() throws IOException {
        return jobManager.output();
    }

    /** What Flink's REST interface answers; nothing if it does not answer. */
    String ask(String path) throws InterruptedException {
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(restAddress + path)).build();
            return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
        } catch (IOException e) {
            return "";
        }
    }

    /** A process, and the file that gets what it prints. */
    static final class Started {

        private final Process process;
        private final Path log;

        private Started(Process process, Path log) {
            this.process = process;
            this.log = log;
        }

        String output() throws IOException {
            return String.format("==> %s%n%s", log.getFileName(), Files.readString(log));
        }
    }
}
