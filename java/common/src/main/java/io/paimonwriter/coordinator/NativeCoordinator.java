package io.paimonwriter.coordinator;

import javax.annotation.Nullable;

/**
 * The natives of the coordinator. Only {@link NativeHandle} calls them, because a handle that is
 * used after its end must never reach native code.
 *
 * <p>All of them but {@code run} copy what they are given and return at once. They throw {@link
 * IllegalStateException} for a handle that is closed, {@link IllegalArgumentException} for bytes
 * that are not ours and {@link RuntimeException} with the whole text for a native panic.
 */
final class NativeCoordinator implements NativeCalls {

    static final NativeCalls INSTANCE = new NativeCoordinator();

    private NativeCoordinator() {}

    static native long create(byte[] settings);

    static native void run(long handle, CoordinatorHost host);

    static native void destroy(long handle);

    static native void reset(
            long handle,
            long epoch,
            long checkpointId,
            @Nullable byte[] state,
            String freshCommitUser);

    static native void handleEvent(long handle, int subtask, int attempt, byte[] event);

    static native void handleRequest(long handle, long requestId, byte[] request);

    static native void notify(
            long handle, int kind, int subtask, int attempt, long checkpointId, long futureId);

    static native void committerReported(
            long handle,
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message);

    @Override
    public long callCreate(byte[] settings) {
        return create(settings);
    }

    @Override
    public void callRun(long handle, CoordinatorHost host) {
        run(handle, host);
    }

    @Override
    public void callDestroy(long handle) {
        destroy(handle);
    }

    @Override
    public void callReset(
            long handle,
            long epoch,
            long checkpointId,
            @Nullable byte[] state,
            String freshCommitUser) {
        reset(handle, epoch, checkpointId, state, freshCommitUser);
    }

    @Override
    public void callHandleEvent(long handle, int subtask, int attempt, byte[] event) {
        handleEvent(handle, subtask, attempt, event);
    }

    @Override
    public void callHandleRequest(long handle, long requestId, byte[] request) {
        handleRequest(handle, requestId, request);
    }

    @Override
    public void callNotify(
            long handle, int kind, int subtask, int attempt, long checkpointId, long futureId) {
        notify(handle, kind, subtask, attempt, checkpointId, futureId);
    }

    @Override
    public void callCommitterReported(
            long handle,
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message) {
        committerReported(handle, epoch, commitId, failure, value, committerState, message);
    }
}
