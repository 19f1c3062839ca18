package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;

import java.util.concurrent.CountDownLatch;

/**
 * From the reset to a coordinator that runs, when every writer reports again what was pending.
 *
 * <p>The checkpoint is one that had completed when the job manager was lost, before anything of it
 * was committed. Running means that the next checkpoint is taken. Paimon's coordinator commits what
 * was pending and then fails the job on purpose, so that it is restored once more before it runs;
 * both restores are measured, but not the time that Flink takes in between to cancel and deploy all
 * tasks. Ours commits when it runs already. On either side the files must be in the table in the
 * end, and no more than that.
 */
final class RecoveryTimes {

    private static final int WARM_UP_ROUNDS = 1;
    private static final int ROUNDS = 2;
    private static final int WRITERS = 1_000;
    private static final int FILES_OF_WRITER = 100;
    private static final long CHECKPOINT = 1;
    private static final double MILLI = 1e6;

    private final BenchTable table;

    RecoveryTimes(BenchTable table) {
        this.table = table;
    }

    void measure(BenchReport report) throws Exception {
        double[] ours = new double[ROUNDS];
        double[] theirs = new double[ROUNDS];
        for (int round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
            double ourMillis = millis(Side.OURS);
            double theirMillis = millis(Side.THEIRS);
            if (round >= 0) {
                ours[round] = ourMillis;
                theirs[round] = theirMillis;
            }
        }
        report.add(
                String.format(
                        "reset to running, %,d writers with %d files each",
                        WRITERS, FILES_OF_WRITER),
                "ms",
                ours,
                theirs,
                0.5);
    }

    private double millis(Side side) throws Exception {
        OperatorEvent[] restoreEvents = new OperatorEvent[WRITERS];
        byte[] state = lose(side, restoreEvents);
        long files = (long) WRITERS * FILES_OF_WRITER;
        long startNanos = System.nanoTime();
        try (BenchJob job = BenchJob.restore(side, table, WRITERS, CHECKPOINT, state)) {
            job.sendAll(restoreEvents);
            if (side == Side.THEIRS) {
                if (job.awaitFailure() == null) {
                    throw new IllegalStateException("The job did not fail after its recovery");
                }
                job.coordinator.resetToCheckpoint(CHECKPOINT, state);
                job.attemptsReady();
                job.sendAll(restoreEvents);
            }
            job.awaitRunning();
            double millis = (System.nanoTime() - startNanos) / MILLI;
            job.awaitCommitted(files);
            return millis;
        }
    }

    /** Runs a job up to a checkpoint that completes and is not committed. */
    private byte[] lose(Side side, OperatorEvent[] restoreEvents) throws Exception {
        try (BenchJob job = BenchJob.start(side, table, WRITERS)) {
            job.watch.gate = new CountDownLatch(1);
            byte[] state = job.requireCheckpoint(CHECKPOINT);
            for (int subtask = 0; subtask < WRITERS; subtask++) {
                restoreEvents[subtask] =
                        side.restoreEvent(
                                subtask,
                                WRITERS,
                                CHECKPOINT,
                                table.committables(
                                        CHECKPOINT, subtask * FILES_OF_WRITER, FILES_OF_WRITER));
            }
            return state;
        }
    }
}
