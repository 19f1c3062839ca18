package io.paimonwriter.coordinator;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import javax.annotation.Nullable;

/** A coordinator as Flink drives it: the calling thread is the job manager's main thread. */
final class BenchJob implements AutoCloseable {

    static final long LIMIT_NANOS = TimeUnit.MINUTES.toNanos(2);

    private static final long TRY_NANOS = 100_000;

    final OperatorCoordinator coordinator;
    final BenchCommitter.Watch watch = new BenchCommitter.Watch();
    private final BenchTable table;
    private final FakeContext context;

    private BenchJob(Side side, BenchTable table, int parallelism) throws Exception {
        this.table = table;
        this.context =
                new FakeContext(parallelism) {
                    @Override
                    public JobID getJobID() {
                        return new JobID();
                    }
                };
        this.coordinator = side.provider(table.table, watch.factory(table.table)).create(context);
    }

    /** A coordinator of a job that begins with an empty table; it is running. */
    static BenchJob start(Side side, BenchTable table, int parallelism) throws Exception {
        table.clear();
        BenchJob job = new BenchJob(side, table, parallelism);
        job.coordinator.start();
        job.attemptsReady();
        job.awaitRunning();
        return job;
    }

    /** A coordinator of a job that is restored; its writers have not reported yet. */
    static BenchJob restore(
            Side side, BenchTable table, int parallelism, long checkpointId, byte[] state)
            throws Exception {
        BenchJob job = new BenchJob(side, table, parallelism);
        job.coordinator.resetToCheckpoint(checkpointId, state);
        job.coordinator.start();
        job.attemptsReady();
        return job;
    }

    void attemptsReady() {
        for (int subtask = 0; subtask < context.currentParallelism(); subtask++) {
            coordinator.executionAttemptReady(subtask, 0, null);
        }
    }

    void send(int subtask, OperatorEvent event) throws Exception {
        coordinator.handleEventFromOperator(subtask, 0, event);
    }

    /** One event of each writer. */
    void sendAll(OperatorEvent[] events) throws Exception {
        for (int subtask = 0; subtask < events.length; subtask++) {
            send(subtask, events[subtask]);
        }
    }

    /** The coordinator's part of a checkpoint, which it must not decline. */
    byte[] requireCheckpoint(long checkpointId) throws Exception {
        byte[] state = checkpoint(checkpointId);
        if (state == null) {
            failIfFailed();
            throw new IllegalStateException("Checkpoint " + checkpointId + " was declined");
        }
        return state;
    }

    /** The coordinator's part of a checkpoint; null if it declines. */
    @Nullable
    byte[] checkpoint(long checkpointId) throws Exception {
        CompletableFuture<byte[]> state = new CompletableFuture<>();
        coordinator.checkpointCoordinator(checkpointId, state);
        try {
            return state.get(LIMIT_NANOS, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            return null;
        }
    }

    /** Waits until the coordinator takes checkpoints; that is what running means to Flink. */
    void awaitRunning() throws Exception {
        long deadlineNanos = System.nanoTime() + LIMIT_NANOS;
        while (checkpoint(0) == null) {
            failIfFailed();
            if (System.nanoTime() > deadlineNanos) {
                throw new IllegalStateException("The coordinator does not begin to run");
            }
            TimeUnit.NANOSECONDS.sleep(TRY_NANOS);
        }
    }

    /** Waits until so many files are in the table, and checks that there are not more. */
    long awaitCommitted(long files) throws Exception {
        long endNanos = watch.await(files);
        long found = table.committedFiles();
        if (found != files) {
            throw new IllegalStateException(
                    String.format("The table has %d files, expected %d", found, files));
        }
        failIfFailed();
        return endNanos;
    }

    /** Waits until the coordinator fails the job. */
    Throwable awaitFailure() throws InterruptedException {
        return context.failures.poll(LIMIT_NANOS, TimeUnit.NANOSECONDS);
    }

    void failIfFailed() {
        Throwable failure = context.failures.poll();
        if (failure != null) {
            throw new IllegalStateException("The coordinator has failed the job", failure);
        }
    }

    @Override
    public void close() throws Exception {
        coordinator.close();
    }
}
