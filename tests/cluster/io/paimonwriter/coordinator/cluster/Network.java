package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the processes of a cluster call each other, and the links between them that can be cut.
 *
 * <p>All bind to 127.0.0.1. But each has a hosts file of its own: in that of a task manager the
 * name of the job manager is the address of a {@link Link}, and in that of the job manager the name
 * of the task manager is the same link. So everything that the two say to each other passes it, and
 * the rows that others send to the task manager, which the job manager tells them where to find.
 * Needs neither root nor network namespaces, only that all of 127.0.0.0/8 is this machine (Linux).
 */
final class Network implements AutoCloseable {

    static final String JOB_MANAGER = "job-manager";

    private final Path directory;
    private final Map<String, Link> taskManagers = new LinkedHashMap<>();
    private final List<Integer> jobManagerPorts = new ArrayList<>();

    /** Between the job managers and ZooKeeper. */
    final Link zooKeeper;

    Network(Path directory, int zooKeeperPort) throws IOException {
        this.directory = directory;
        zooKeeper = new Link("127.0.2.1");
        zooKeeper.forward(zooKeeperPort);
    }

    /** The link between a task manager and the job managers. */
    Link taskManager(String name) {
        return taskManagers.get(name);
    }

    /**
     * A job manager is to listen at these ports.
     *
     * @return the JVM options that it needs
     */
    List<String> addJobManager(int... ports) throws IOException {
        for (int port : ports) {
            jobManagerPorts.add(port);
            for (Link link : taskManagers.values()) {
                link.forward(port);
            }
        }
        writeHosts();
        return jvmOptions(JOB_MANAGER);
    }

    /** The same for a task manager; one that is started again keeps its link. */
    List<String> addTaskManager(String name, int... ports) throws IOException {
        if (!taskManagers.containsKey(name)) {
            Link link = new Link("127.0.1." + (taskManagers.size() + 1));
            taskManagers.put(name, link);
            for (int port : jobManagerPorts) {
                link.forward(port);
            }
        }
        for (int port : ports) {
            taskManagers.get(name).forward(port);
        }
        writeHosts();
        return jvmOptions(name);
    }

    private List<String> jvmOptions(String name) {
        return List.of("-Djdk.net.hosts.file=" + hosts(name));
    }

    private Path hosts(String name) {
        return directory.resolve(name + ".hosts");
    }

    /** A JVM reads its file at each lookup, so it may grow. */
    private void writeHosts() throws IOException {
        String itself = "127.0.0.1 localhost " + InetAddress.getLocalHost().getHostName();
        List<String> ofJobManager = new ArrayList<>(List.of(itself, "127.0.0.1 " + JOB_MANAGER));
        List<String> ofTaskManagers = new ArrayList<>(List.of(itself));
        taskManagers.forEach(
                (name, link) -> {
                    ofJobManager.add(link.address() + " " + name);
                    ofTaskManagers.add("127.0.0.1 " + name);
                });
        Files.write(hosts(JOB_MANAGER), ofJobManager);
        for (Map.Entry<String, Link> taskManager : taskManagers.entrySet()) {
            List<String> lines = new ArrayList<>(ofTaskManagers);
            lines.add(taskManager.getValue().address() + " " + JOB_MANAGER);
            Files.write(hosts(taskManager.getKey()), lines);
        }
    }

    @Override
    public void close() throws IOException {
        zooKeeper.close();
        for (Link link : taskManagers.values()) {
            link.close();
        }
    }
}
