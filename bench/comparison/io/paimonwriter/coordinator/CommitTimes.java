package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * What commits cost a job: how long they take, and how long they keep the next checkpoint waiting.
 * Both sides take turns in one JVM, on the same table with the same files.
 */
final class CommitTimes {

    private static final int WARM_UP_ROUNDS = 1;
    private static final int ROUNDS = 5;
    private static final int WRITERS = 100;
    private static final int SLOW_WRITERS = 10;
    private static final int SLOW_COMMIT_SECONDS = 2;
    private static final int SLOW_ROUNDS = 2;
    private static final double MILLI = 1e6;

    private final BenchTable table;

    CommitTimes(BenchTable table) {
        this.table = table;
    }

    /**
     * From the moment when the last writer's event is handed over, through the completion of the
     * checkpoint that follows at once, to the end of Paimon's commit; the snapshot must hold all
     * files. The commit is Paimon's own on either side, but ours is the one that looks first
     * whether the table shows it already and whether the files are there.
     */
    void commits(BenchReport report, int files) throws Exception {
        int rounds = WARM_UP_ROUNDS + ROUNDS;
        double[] ours = new double[ROUNDS];
        double[] theirs = new double[ROUNDS];
        double[] again = new double[ROUNDS];
        for (int round = 0; round < rounds; round++) {
            double ourMillis = commitMillis(Side.OURS, files);
            double theirMillis = commitMillis(Side.THEIRS, files);
            double secondMillis = commitMillis(Side.THEIRS, files);
            if (round >= WARM_UP_ROUNDS) {
                ours[round - WARM_UP_ROUNDS] = ourMillis;
                theirs[round - WARM_UP_ROUNDS] = theirMillis;
                again[round - WARM_UP_ROUNDS] = secondMillis;
            }
        }
        report.add(
                String.format("last event to finished commit, %,d files", files),
                "ms",
                ours,
                theirs,
                1.0);
        report.noise(again, theirs);
    }

    private double commitMillis(Side side, int files) throws Exception {
        OperatorEvent[] events = events(side, 1, WRITERS, files / WRITERS);
        try (BenchJob job = BenchJob.start(side, table, WRITERS)) {
            job.requireCheckpoint(1);
            for (int subtask = 0; subtask < WRITERS - 1; subtask++) {
                job.send(subtask, events[subtask]);
            }
            long startNanos = System.nanoTime();
            job.send(WRITERS - 1, events[WRITERS - 1]);
            job.coordinator.notifyCheckpointComplete(1);
            return (job.awaitCommitted(files) - startNanos) / MILLI;
        }
    }

    private OperatorEvent[] events(Side side, long checkpointId, int writers, int filesOfEvent)
            throws Exception {
        OperatorEvent[] events = new OperatorEvent[writers];
        int firstFile = (int) (checkpointId - 1) * writers * filesOfEvent;
        for (int subtask = 0; subtask < writers; subtask++) {
            events[subtask] =
                    side.event(
                            subtask,
                            checkpointId,
                            table.committables(
                                    checkpointId,
                                    firstFile + subtask * filesOfEvent,
                                    filesOfEvent));
        }
        return events;
    }

    /**
     * How long the coordinator's part of a checkpoint takes that is asked for right after a commit
     * has begun which takes some seconds: it waits in Paimon's committer, as it does on a slow file
     * system. Both commits must then be in the table.
     */
    void checkpointsDuringCommits(BenchReport report) throws Exception {
        double[] ours = new double[SLOW_ROUNDS];
        double[] theirs = new double[SLOW_ROUNDS];
        for (int round = 0; round < SLOW_ROUNDS; round++) {
            ours[round] = delayMillis(Side.OURS);
            theirs[round] = delayMillis(Side.THEIRS);
        }
        report.add(
                "delay of a checkpoint while a commit takes " + SLOW_COMMIT_SECONDS + " s",
                "ms",
                ours,
                theirs,
                0.01);
    }

    private double delayMillis(Side side) throws Exception {
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        try (BenchJob job = BenchJob.start(side, table, SLOW_WRITERS)) {
            CountDownLatch gate = new CountDownLatch(1);
            job.watch.gate = gate;
            job.requireCheckpoint(1);
            job.sendAll(events(side, 1, SLOW_WRITERS, 1));
            job.coordinator.notifyCheckpointComplete(1);
            job.watch.begun.await();
            timer.schedule(gate::countDown, SLOW_COMMIT_SECONDS, TimeUnit.SECONDS);
            CompletableFuture<byte[]> state = new CompletableFuture<>();
            long startNanos = System.nanoTime();
            job.coordinator.checkpointCoordinator(2, state);
            state.get();
            double millis = (System.nanoTime() - startNanos) / MILLI;
            job.sendAll(events(side, 2, SLOW_WRITERS, 1));
            job.coordinator.notifyCheckpointComplete(2);
            job.awaitCommitted(2 * SLOW_WRITERS);
            return millis;
        } finally {
            timer.shutdownNow();
        }
    }
}
