package io.paimonwriter.coordinator.cluster;

import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.FAILING;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.FULL;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.HANGING;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.SLOW;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Fault.UNANSWERED;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.COMMIT;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.DATA;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.METADATA;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/**
 * Draws faults from a seed, a round of one to three at a time, each for another target. The same
 * seed gives the same faults; how they meet what the job is doing is up to the machine.
 */
final class FaultPlan {

    // Of a task manager at the job manager, and of a job manager at ZooKeeper.
    static final int HEARTBEAT_TIMEOUT_MILLIS = 5_000;
    static final int SESSION_TIMEOUT_MILLIS = 4_000;

    private final Random random;
    private final ProcessCluster cluster;
    private final FaultyFileIO fileIO;
    private final List<String> taskManagers;

    FaultPlan(long seed, ProcessCluster cluster, FaultyFileIO fileIO, List<String> taskManagers) {
        this.random = new Random(seed);
        this.cluster = cluster;
        this.fileIO = fileIO;
        this.taskManagers = taskManagers;
    }

    /** The faults of the next round, in the order in which they begin. */
    List<Fault> next() throws Exception {
        List<String> shuffled = new ArrayList<>(taskManagers);
        Collections.shuffle(shuffled, random);
        List<Fault> all = new ArrayList<>();
        all.add(ofJobManager());
        all.add(ofTaskManager(shuffled.get(0)));
        all.add(ofTaskManager(shuffled.get(1)));
        all.add(ofTable());
        Collections.shuffle(all, random);
        for (Fault fault : all) {
            fault.delayMillis = shortly();
        }
        return all.subList(0, oneOf(1, 1, 1, 2, 2, 3));
    }

    /** One fault of each kind, for a time that makes a difference. */
    List<Function<String, Fault>> kinds() {
        return List.of(
                taskManager -> taskManagerKilled(taskManager, 3_000),
                taskManager -> taskManagerFrozen(taskManager, 3_000),
                taskManager -> taskManagerFrozen(taskManager, 8_000),
                taskManager -> taskManagerCutOff(taskManager, 3_000),
                taskManager -> taskManagerCutOff(taskManager, 8_000),
                taskManager -> jobManagerKilled(1_000),
                taskManager -> jobManagerFrozen(3_000),
                taskManager -> jobManagerReplaced(8_000),
                taskManager -> zooKeeperCutOff(3_000),
                taskManager -> zooKeeperCutOff(8_000),
                taskManager -> ofTable(METADATA, SLOW, 8_000),
                taskManager -> ofTable(METADATA, FULL, 8_000),
                taskManager -> ofTable(METADATA, HANGING, 8_000),
                taskManager -> ofTable(METADATA, UNANSWERED, 3_000),
                taskManager -> ofTable(COMMIT, FAILING, 8_000),
                taskManager -> ofTable(DATA, FAILING, 3_000));
    }

    private Fault ofJobManager() {
        switch (random.nextInt(5)) {
            case 0:
            case 1:
                return jobManagerKilled(shortly());
            case 2:
                return jobManagerFrozen(belowTimeout());
            case 3:
                return jobManagerReplaced(aboveTimeout());
            default:
                return zooKeeperCutOff(random.nextBoolean() ? belowTimeout() : aboveTimeout());
        }
    }

    private Fault jobManagerKilled(int millis) {
        return new Fault(
                "job manager killed",
                "",
                millis,
                () -> cluster.killJobManager(),
                () -> cluster.startJobManager());
    }

    private Fault jobManagerFrozen(int millis) {
        return new Fault(
                "job manager frozen",
                "",
                millis,
                () -> cluster.jobManager().freeze(),
                () -> cluster.jobManager().thaw());
    }

    /**
     * When the frozen one goes on, in the middle of a commit perhaps, it believes for a while that
     * it is the leader.
     */
    private Fault jobManagerReplaced(int millis) {
        JavaProcess[] frozen = new JavaProcess[1];
        return new Fault(
                "job manager frozen, another takes over",
                "",
                millis,
                () -> {
                    frozen[0] = cluster.jobManager();
                    frozen[0].freeze();
                    cluster.startJobManager();
                },
                () -> frozen[0].thaw());
    }

    private Fault zooKeeperCutOff(int millis) {
        return new Fault(
                "job manager cut off from ZooKeeper",
                "",
                millis,
                () -> cluster.network().zooKeeper.cut(),
                () -> cluster.network().zooKeeper.heal());
    }

    private Fault ofTaskManager(String name) {
        switch (random.nextInt(3)) {
            case 0:
                return taskManagerKilled(name, shortly());
            case 1:
                return taskManagerFrozen(
                        name, random.nextBoolean() ? belowTimeout() : aboveTimeout());
            default:
                return taskManagerCutOff(
                        name, random.nextBoolean() ? belowTimeout() : aboveTimeout());
        }
    }

    private Fault taskManagerKilled(String name, int millis) {
        return new Fault(
                "task manager killed",
                name,
                millis,
                () -> cluster.taskManager(name).kill(),
                () -> cluster.startTaskManager(name));
    }

    private Fault taskManagerFrozen(String name, int millis) {
        return new Fault(
                "task manager frozen",
                name,
                millis,
                () -> cluster.taskManager(name).freeze(),
                () -> cluster.taskManager(name).thaw());
    }

    private Fault taskManagerCutOff(String name, int millis) {
        return new Fault(
                "task manager cut off from job manager",
                name,
                millis,
                () -> cluster.network().taskManager(name).cut(),
                () -> cluster.network().taskManager(name).heal());
    }

    private Fault ofTable() {
        FaultyFileIO.Fault fault = oneOf(FaultyFileIO.Fault.values());
        FaultyFileIO.Part part = oneOf(partsOf(fault));
        return ofTable(part, fault, between(1_000, 10_000));
    }

    private Fault ofTable(FaultyFileIO.Part part, FaultyFileIO.Fault fault, int millis) {
        return new Fault(
                "table's file system " + fault + " (" + part + ")",
                "",
                millis,
                () -> fileIO.begin(part, fault),
                () -> fileIO.end(part, fault));
    }

    /** Where a fault can hit something. */
    private static FaultyFileIO.Part[] partsOf(FaultyFileIO.Fault fault) {
        switch (fault) {
            case UNANSWERED:
                // Writers rename nothing.
                return new FaultyFileIO.Part[] {METADATA};
            case SLOW:
            case FULL:
                return new FaultyFileIO.Part[] {DATA, METADATA};
            default:
                return FaultyFileIO.Part.values();
        }
    }

    @SafeVarargs
    private final <T> T oneOf(T... values) {
        return values[random.nextInt(values.length)];
    }

    private int shortly() {
        return random.nextBoolean() ? 0 : between(0, 3_000);
    }

    private int belowTimeout() {
        return between(300, SESSION_TIMEOUT_MILLIS - 1_000);
    }

    private int aboveTimeout() {
        return between(HEARTBEAT_TIMEOUT_MILLIS + 1_000, HEARTBEAT_TIMEOUT_MILLIS + 6_000);
    }

    private int between(int least, int most) {
        return least + random.nextInt(most - least + 1);
    }

    interface Step {
        void run() throws Exception;
    }

    /** One fault, for so long. */
    static class Fault {

        final String kind;
        final int millis;

        /** When it begins in its round; often two begin together. */
        int delayMillis;

        private final String target;
        private final Step begin;
        private final Step end;

        private Fault(String kind, String target, int millis, Step begin, Step end) {
            this.kind = kind;
            this.target = target;
            this.millis = millis;
            this.begin = begin;
            this.end = end;
        }

        void begin() throws Exception {
            begin.run();
        }

        void end() throws Exception {
            end.run();
        }

        @Override
        public String toString() {
            return String.format(
                    "%s%s for %d ms, after %d ms",
                    kind, target.isEmpty() ? "" : " (" + target + ")", millis, delayMillis);
        }
    }
}
