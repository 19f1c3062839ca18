package io.paimonwriter.coordinator;

import javax.annotation.Nullable;

/**
 * Owns one native coordinator. Every native call passes {@link #open()} under this object's
 * monitor, so that none can begin after {@link #destroy()}; {@code run} alone is called outside of
 * the monitor, because it stays in native code for the life of the coordinator, and the thread that
 * runs it is the one that destroys the handle afterwards.
 */
final class NativeHandle {

    static final int ATTEMPT_READY = 1;
    static final int ATTEMPT_FAILED = 2;
    static final int SUBTASK_RESET = 3;
    static final int CHECKPOINT = 4;
    static final int CHECKPOINT_COMPLETE = 5;
    static final int CHECKPOINT_ABORTED = 6;
    static final int CLOSE = 7;
    static final int BATCH_SNAPSHOTS_ASKED_FOR = 8;

    private static final long GONE = 0;

    private final NativeCalls natives;
    private long handle;

    NativeHandle(NativeCalls natives, byte[] settings) {
        this.natives = natives;
        this.handle = natives.create(settings);
        if (handle == GONE) {
            throw new IllegalStateException("the native coordinator returned no handle");
        }
    }

    private long open() {
        if (handle == GONE) {
            throw new IllegalStateException("the native coordinator has ended");
        }
        return handle;
    }

    /** Runs the coordinator's loop in the calling thread until it is closed. */
    void run(CoordinatorHost host) {
        long running;
        synchronized (this) {
            running = open();
        }
        natives.run(running, host);
    }

    /** Frees the native coordinator, once; later calls are refused. */
    synchronized void destroy() {
        if (handle != GONE) {
            long ended = handle;
            handle = GONE;
            natives.destroy(ended);
        }
    }

    synchronized void reset(
            long epoch, long checkpointId, @Nullable byte[] state, String freshCommitUser) {
        natives.reset(open(), epoch, checkpointId, state, freshCommitUser);
    }

    synchronized void handleEvent(int subtask, int attempt, byte[] event) {
        natives.handleEvent(open(), subtask, attempt, event);
    }

    synchronized void handleRequest(long requestId, byte[] request) {
        natives.handleRequest(open(), requestId, request);
    }

    synchronized void notify(int kind, int subtask, int attempt, long checkpointId, long futureId) {
        natives.notify(open(), kind, subtask, attempt, checkpointId, futureId);
    }

    synchronized void committerReported(
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message) {
        natives.committerReported(open(), epoch, commitId, failure, value, committerState, message);
    }
}
