package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.Await;
import io.paimonwriter.coordinator.job.FreePort;

import org.apache.flink.client.deployment.StandaloneClusterId;
import org.apache.flink.client.program.rest.RestClusterClient;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.DeploymentOptions;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessSpec;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessUtils;
import org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint;
import org.apache.flink.runtime.taskexecutor.TaskManagerRunner;
import org.apache.flink.runtime.util.config.memory.ProcessMemoryUtils;
import org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.server.ZooKeeperServerMain;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.FileUtils;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * A Flink session cluster as users run one: a ZooKeeper, a job manager and task managers, each a
 * process of its own on this machine, which tests may kill and freeze. What they leave is in one
 * directory.
 *
 * <p>Everybody finds the job manager through ZooKeeper, so a new one may take over at any time.
 */
final class ProcessCluster implements AutoCloseable {

    private static final Duration START_LIMIT = Duration.ofSeconds(60);
    private static final long CALL_LIMIT_SECONDS = 10;
    private static final int TAIL_LINES = 50;

    private final Path directory;
    private final Map<String, String> options;
    private final Network network;
    private final int zooKeeperPort;
    private final List<JavaProcess> all = new ArrayList<>();
    private final Map<String, JavaProcess> taskManagers = new LinkedHashMap<>();
    private final List<JavaProcess> jobManagers = new ArrayList<>();
    private JavaProcess jobManager;
    private RestClusterClient<StandaloneClusterId> client;

    private ProcessCluster(Path directory, Map<String, String> options, int zooKeeperPort)
            throws IOException {
        this.directory = directory;
        this.options = options;
        this.zooKeeperPort = zooKeeperPort;
        this.network = new Network(directory.resolve("conf"), zooKeeperPort);
    }

    /**
     * Starts a cluster and returns once its task managers have registered.
     *
     * @param directory a new directory, for the logs and for what the processes store
     * @param options Flink's, for all processes and for the client
     */
    static ProcessCluster start(
            Path directory, int taskManagerCount, int slots, Map<String, String> options)
            throws Exception {
        int zooKeeperPort = FreePort.next();
        Map<String, String> allOptions = defaults(directory, zooKeeperPort);
        allOptions.put("taskmanager.numberOfTaskSlots", Integer.toString(slots));
        allOptions.putAll(options);
        ProcessCluster cluster = new ProcessCluster(directory, allOptions, zooKeeperPort);
        try {
            cluster.writeConfiguration();
            cluster.startZooKeeper();
            cluster.startJobManager();
            for (int number = 1; number <= taskManagerCount; number++) {
                cluster.startTaskManager("task-manager-" + number);
            }
            cluster.client = cluster.newClient();
            cluster.awaitTaskManagers();
            return cluster;
        } catch (Throwable t) {
            cluster.printLogTails();
            cluster.close();
            throw t;
        }
    }

    private static Map<String, String> defaults(Path directory, int zooKeeperPort) {
        Map<String, String> options = new LinkedHashMap<>();
        options.put("high-availability.type", "zookeeper");
        options.put("high-availability.zookeeper.quorum", "127.0.0.1:" + zooKeeperPort);
        options.put("high-availability.storageDir", directory.resolve("ha").toUri().toString());
        // How long a killed job manager stays the leader.
        options.put("high-availability.zookeeper.client.session-timeout", "4 s");
        options.put("high-availability.zookeeper.client.connection-timeout", "4 s");
        options.put("jobmanager.rpc.address", Network.JOB_MANAGER);
        options.put("jobmanager.bind-host", "localhost");
        options.put("rest.address", "localhost");
        options.put("rest.bind-address", "localhost");
        options.put("rest.bind-port", "0");
        options.put("rest.retry.delay", "100 ms");
        options.put("taskmanager.bind-host", "localhost");
        options.put("taskmanager.memory.flink.size", "640m");
        options.put("taskmanager.memory.managed.size", "32m");
        options.put("io.tmp.dirs", directory.resolve("tmp").toString());
        // A job that is broken ends after a few restarts.
        options.put("restart-strategy.type", "fixed-delay");
        options.put("restart-strategy.fixed-delay.attempts", "3");
        options.put("restart-strategy.fixed-delay.delay", "50 ms");
        return options;
    }

    private void writeConfiguration() throws IOException {
        Files.write(
                Files.createDirectories(directory.resolve("conf")).resolve("config.yaml"),
                options.entrySet().stream()
                        .map(option -> option.getKey() + ": \"" + option.getValue() + "\"")
                        .collect(Collectors.toList()));
    }

    private void startZooKeeper() throws Exception {
        Path file = directory.resolve("conf/zoo.cfg");
        Files.write(
                file,
                List.of(
                        // A session may be as short as two ticks.
                        "tickTime=500",
                        "dataDir=" + directory.resolve("zookeeper"),
                        "clientPortAddress=127.0.0.1",
                        "clientPort=" + zooKeeperPort,
                        "admin.enableServer=false"));
        JavaProcess process =
                run(
                        "zookeeper",
                        List.of(
                                "-Xmx128m",
                                "-Dzookeeper.jmx.log4j.disable=true",
                                // Of its log of transactions; the default is 64 MiB.
                                "-Dzookeeper.preAllocSize=1024"),
                        ZooKeeperServerMain.class,
                        List.of(file.toString()));
        Await.until(
                "ZooKeeper serves", START_LIMIT, () -> serves(zooKeeperPort), () -> tail(process));
    }

    /** Starts a job manager, which takes over as soon as no other is the leader. */
    void startJobManager() throws Exception {
        int rpcPort = FreePort.next();
        int blobPort = FreePort.next();
        List<String> jvmOptions = new ArrayList<>(network.addJobManager(rpcPort, blobPort));
        jvmOptions.add("-Xmx512m");
        jobManager =
                run(
                        "job-manager-" + (jobManagers.size() + 1),
                        jvmOptions,
                        StandaloneSessionClusterEntrypoint.class,
                        List.of(
                                "--configDir",
                                directory.resolve("conf").toString(),
                                "-Dhigh-availability.jobmanager.port=" + rpcPort,
                                "-Dblob.server.port=" + blobPort,
                                "-Dhigh-availability.zookeeper.quorum="
                                        + network.zooKeeper.address()
                                        + ":"
                                        + zooKeeperPort));
        jobManagers.add(jobManager);
    }

    void killJobManager() throws Exception {
        jobManager.kill();
    }

    /** The process of the job manager that was started last. */
    JavaProcess jobManager() {
        return jobManager;
    }

    /** What can be cut between the processes. */
    Network network() {
        return network;
    }

    /** Starts a task manager of this name, with the memory that Flink's own script would give. */
    void startTaskManager(String name) throws Exception {
        TaskExecutorProcessSpec memory =
                TaskExecutorProcessUtils.processSpecFromConfig(Configuration.fromMap(options));
        List<String> arguments = new ArrayList<>();
        arguments.addAll(List.of("--configDir", directory.resolve("conf").toString()));
        arguments.addAll(words(TaskExecutorProcessUtils.generateDynamicConfigsStr(memory)));
        int rpcPort = FreePort.next();
        int dataPort = FreePort.next();
        int metricsPort = FreePort.next();
        arguments.add("-Dtaskmanager.resource-id=" + name);
        arguments.add("-Dtaskmanager.host=" + name);
        arguments.add("-Dtaskmanager.rpc.port=" + rpcPort);
        arguments.add("-Dtaskmanager.data.port=" + dataPort);
        arguments.add("-Dmetrics.internal.query-service.port=" + metricsPort);
        List<String> jvmOptions =
                new ArrayList<>(network.addTaskManager(name, rpcPort, dataPort, metricsPort));
        jvmOptions.addAll(words(ProcessMemoryUtils.generateJvmParametersStr(memory)));
        taskManagers.put(name, run(name, jvmOptions, TaskManagerRunner.class, arguments));
    }

    /** The process of the task manager of this name. */
    JavaProcess taskManager(String name) {
        return taskManagers.get(name);
    }

    /** The names of the task managers. */
    List<String> taskManagers() {
        return new ArrayList<>(taskManagers.keySet());
    }

    private JavaProcess run(
            String name, List<String> jvmOptions, Class<?> mainClass, List<String> arguments)
            throws IOException {
        JavaProcess process =
                JavaProcess.start(name, directory, jvmOptions, mainClass.getName(), arguments);
        all.add(process);
        return process;
    }

    /**
     * Does what a supervisor does with processes that have ended: starts the task managers again,
     * and a job manager if there is none.
     *
     * @return the names of those that had ended
     */
    List<String> startTheDead() throws Exception {
        List<String> dead = new ArrayList<>();
        for (String name : taskManagers()) {
            if (!taskManagers.get(name).isAlive()) {
                dead.add(name);
                startTaskManager(name);
            }
        }
        if (!jobManager.isAlive()) {
            dead.add(Network.JOB_MANAGER);
            startJobManager();
        }
        return dead;
    }

    /** Ends all job managers but the one that was started last. */
    void killOldJobManagers() throws Exception {
        for (JavaProcess old : jobManagers) {
            if (old != jobManager) {
                old.kill();
            }
        }
    }

    /** Returns once every task manager that lives has registered with the job manager. */
    void awaitTaskManagers() {
        long living = taskManagers.values().stream().filter(JavaProcess::isAlive).count();
        Await.until(
                living + " task managers have registered",
                START_LIMIT,
                () ->
                        answers(
                                () ->
                                        client.getClusterOverview()
                                                        .get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS)
                                                        .getNumTaskManagersConnected()
                                                == living),
                () -> "");
    }

    /** The configuration of a client of this cluster. */
    Configuration configuration() {
        Configuration configuration = Configuration.fromMap(options);
        configuration.set(DeploymentOptions.TARGET, "remote");
        return configuration;
    }

    private RestClusterClient<StandaloneClusterId> newClient() throws Exception {
        return new RestClusterClient<>(configuration(), StandaloneClusterId.getInstance());
    }

    RestClusterClient<StandaloneClusterId> client() {
        return client;
    }

    /** Submits the job that {@code environment} holds, made with {@link #configuration}. */
    ClusterJob submit(StreamExecutionEnvironment environment) throws Exception {
        return new ClusterJob(this, environment.executeAsync().getJobID());
    }

    /** Prints the end of what each process has said. */
    void printLogTails() throws IOException {
        for (JavaProcess process : all) {
            System.err.println(tail(process));
        }
    }

    /** Ends the processes that this cluster has started, and no others. Their logs stay. */
    @Override
    public void close() throws Exception {
        if (client != null) {
            client.close();
        }
        for (JavaProcess process : all) {
            process.kill();
        }
        network.close();
        // Each process of Flink has unpacked 20 MB there.
        FileUtils.deleteDirectory(directory.resolve("tmp").toFile());
    }

    /** A question to a job manager, which may be dead or not yet the leader. */
    interface Question {
        boolean ask() throws Exception;
    }

    /** Whether the answer is yes; no answer is a no. */
    static boolean answers(Question question) throws Exception {
        try {
            return question.ask();
        } catch (ExecutionException | TimeoutException e) {
            return false;
        }
    }

    private static String tail(JavaProcess process) throws IOException {
        return process.logTail(TAIL_LINES);
    }

    private static List<String> words(String text) {
        return List.of(text.trim().split("\\s+"));
    }

    /** Whether the ZooKeeper at this port takes clients; it listens some time before. */
    private static boolean serves(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            // While it starts it may leave a question without an answer.
            socket.setSoTimeout(500);
            socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
            byte[] answer = socket.getInputStream().readAllBytes();
            return new String(answer, StandardCharsets.US_ASCII).contains("Mode: standalone");
        } catch (IOException e) {
            return false;
        }
    }
}
