package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.CoordinationResponse;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

import javax.annotation.Nullable;

/**
 * One life of the native coordinator: its handle, the thread that runs its loop, and the futures
 * that wait for its answers. When the loop ends, the handle is destroyed first and the futures fail
 * afterwards, so that a call either is refused or has its future among those that fail.
 */
final class NativeLoop {

    final NativeHandle handle;

    private final CoordinatorSettings settings;
    private final PendingAnswers pending = new PendingAnswers();
    private final CoordinatorHost host;
    private final Thread thread;
    private final Consumer<Throwable> onEnd;
    private volatile boolean ended;

    /**
     * @param onEnd told on the loop thread when the loop has ended, with the error or null
     */
    NativeLoop(
            NativeHandle handle,
            CoordinatorSettings settings,
            TableCommitter committer,
            CoordinatorMetrics metrics,
            ClassLoader userClassLoader,
            Consumer<Throwable> failJob,
            Consumer<Throwable> onEnd) {
        this.handle = handle;
        this.settings = settings;
        this.host = new CoordinatorHost(settings, committer, pending, metrics.beginLoop(), failJob);
        this.onEnd = onEnd;
        this.thread =
                new Thread(this::run, "paimon-writer-coordinator of " + settings.operatorName());
        this.thread.setDaemon(true);
        this.thread.setContextClassLoader(userClassLoader);
    }

    void start() {
        thread.start();
    }

    /** Asks for the coordinator's part of a checkpoint; an ended loop declines it. */
    void checkpoint(long checkpointId, CompletableFuture<byte[]> result) {
        long id = pending.addCheckpoint(result);
        try {
            handle.notify(NativeHandle.CHECKPOINT, 0, 0, checkpointId, id);
        } catch (RuntimeException e) {
            pending.failCheckpoint(
                    id,
                    String.format("%s: checkpoint %d: %s", settings.describe(), checkpointId, e));
        }
    }

    /** Passes a writer's request on; an ended loop fails it. */
    void request(byte[] request, CompletableFuture<CoordinationResponse> response) {
        long id = pending.addRequest(response);
        try {
            handle.handleRequest(id, request);
        } catch (RuntimeException e) {
            pending.failRequest(
                    id,
                    String.format("%s: the coordinator cannot answer: %s", settings.describe(), e));
        }
    }

    /** Whether the loop has ended; it may still be telling so. */
    boolean hasEnded() {
        return ended;
    }

    private void run() {
        Throwable failure = null;
        try {
            handle.run(host);
        } catch (Throwable t) {
            failure = t;
        }
        end(failure);
    }

    private void end(@Nullable Throwable failure) {
        ended = true;
        try {
            handle.destroy();
        } catch (Throwable t) {
            failure = failure != null ? failure : t;
        }
        pending.failAll("the coordinator has ended");
        onEnd.accept(failure);
    }

    /**
     * Asks the loop to end and waits for it. A loop that does not end in time keeps its handle and
     * destroys it when it ends.
     *
     * @return whether the loop has ended
     */
    boolean close(long timeoutMillis) {
        try {
            handle.notify(NativeHandle.CLOSE, 0, 0, 0, 0);
        } catch (IllegalStateException e) {
            // The loop has ended already.
        }
        try {
            thread.join(timeoutMillis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        pending.failAll("the coordinator is closed");
        return !thread.isAlive();
    }
}
