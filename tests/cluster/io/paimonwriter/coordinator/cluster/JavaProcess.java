package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * A JVM of its own with the class path of this one, whose output goes to a file. It never outlives
 * this JVM.
 */
final class JavaProcess {

    private static final int LINE_LIMIT = 500;

    private static final Set<Process> ALIVE = ConcurrentHashMap.newKeySet();

    static {
        // The lifeline ends them too, except those that are frozen.
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> ALIVE.forEach(Process::destroyForcibly)));
    }

    private final String name;
    private final Path log;
    private final Process process;

    private JavaProcess(String name, Path log, Process process) {
        this.name = name;
        this.log = log;
        this.process = process;
    }

    /**
     * Starts {@code mainClass}; the file {@code name}.log in {@code directory} gets its output.
     *
     * @param jvmOptions options of the JVM, in addition to the exports and opens of this one
     */
    static JavaProcess start(
            String name,
            Path directory,
            List<String> jvmOptions,
            String mainClass,
            List<String> arguments)
            throws IOException {
        Path temporary = Files.createDirectories(directory.resolve("tmp"));
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("--add-"))
                .forEach(command::add);
        command.add("-Djava.io.tmpdir=" + temporary);
        command.add("-Dlog4j2.configurationFile=log4j2-cluster.properties");
        // These JVMs live for seconds, several of them on few cores.
        command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(jvmOptions);
        command.add(Lifeline.class.getName());
        command.add(mainClass);
        command.addAll(arguments);

        Path log = directory.resolve(name + ".log");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        // Too long for a command line.
        builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
        Process process = builder.start();
        ALIVE.add(process);
        return new JavaProcess(name, log, process);
    }

    long pid() {
        return process.pid();
    }

    /** What the JDK's jcmd answers when it asks this process. */
    String jcmd(String... command) throws Exception {
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString());
        words.add(Long.toString(pid()));
        words.addAll(List.of(command));
        Process jcmd = new ProcessBuilder(words).redirectErrorStream(true).start();
        String answer = new String(jcmd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (jcmd.waitFor() != 0) {
            throw new IllegalStateException(words + " failed: " + answer);
        }
        return answer;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Ends the process as the loss of its machine would: SIGKILL. Returns once it is gone. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
        ALIVE.remove(process);
    }

    /** Stops all its threads, as a machine that hangs: SIGSTOP. */
    void freeze() throws Exception {
        signal("STOP");
    }

    /** It goes on where it was frozen: SIGCONT. */
    void thaw() throws Exception {
        signal("CONT");
    }

    private void signal(String signal) throws Exception {
        int status =
                new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                        .inheritIO()
                        .start()
                        .waitFor();
        if (status != 0) {
            throw new IllegalStateException("No signal " + signal + " could be sent to " + name);
        }
    }

    /** The last lines of the process's output, under a heading. */
    String logTail(int lines) throws IOException {
        List<String> all = Files.readAllLines(log);
        List<String> tail = all.subList(Math.max(0, all.size() - lines), all.size());
        // A class path fills screens.
        return tail.stream()
                .map(line -> line.substring(0, Math.min(line.length(), LINE_LIMIT)))
                .collect(Collectors.joining("\n", "==> " + log + "\n", "\n"));
    }
}
