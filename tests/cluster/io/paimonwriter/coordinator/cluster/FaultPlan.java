package io.paimonwriter.coordinator.cluster;

import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.DATA;
import static io.paimonwriter.coordinator.cluster.FaultyFileIO.Part.METADATA;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

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

    private Fault ofJobManager() {
        switch (random.nextInt(5)) {
            case 0:
            case 1:
                return new Fault(
                        "job manager killed",
                        "",
                        shortly(),
                        () -> cluster.killJobManager(),
                        () -> cluster.startJobManager());
            case 2:
                return new Fault(
                        "job manager frozen",
                        "",
                        belowTimeout(),
                        () -> cluster.jobManager().freeze(),
                        () -> cluster.jobManager().thaw());
            case 3:
                return frozenAndReplaced();
            default:
                return new Fault(
                        "job manager cut off from ZooKeeper",
                        "",
                        random.nextBoolean() ? belowTimeout() : aboveTimeout(),
                        () -> cluster.network().zooKeeper.cut(),
                        () -> cluster.network().zooKeeper.heal());
        }
    }

    /**
     * When the frozen one goes on, in the middle of a commit perhaps, it believes for a while that
     * it is the leader.
     */
    private Fault frozenAndReplaced() {
        JavaProcess[] frozen = new JavaProcess[1];
        return new Fault(
                "job manager frozen, another takes over",
                "",
                aboveTimeout(),
                () -> {
                    frozen[0] = cluster.jobManager();
                    frozen[0].freeze();
                    cluster.startJobManager();
                },
                () -> frozen[0].thaw());
    }

    private Fault ofTaskManager(String name) {
        switch (random.nextInt(3)) {
            case 0:
                return new Fault(
                        "task manager killed",
                        name,
                        shortly(),
                        () -> cluster.taskManager(name).kill(),
                        () -> cluster.startTaskManager(name));
            case 1:
                return new Fault(
                        "task manager frozen",
                        name,
                        random.nextBoolean() ? belowTimeout() : aboveTimeout(),
                        () -> cluster.taskManager(name).freeze(),
                        () -> cluster.taskManager(name).thaw());
            default:
                return new Fault(
                        "task manager cut off from job manager",
                        name,
                        random.nextBoolean() ? belowTimeout() : aboveTimeout(),
                        () -> cluster.network().taskManager(name).cut(),
                        () -> cluster.network().taskManager(name).heal());
        }
    }

    private Fault ofTable() {
        FaultyFileIO.Fault fault = oneOf(FaultyFileIO.Fault.values());
        FaultyFileIO.Part part = oneOf(partsOf(fault));
        return new Fault(
                "table's file system " + fault,
                part.toString(),
                between(1_000, 10_000),
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
