package io.paimonwriter.coordinator;

import javax.annotation.Nullable;

/**
 * The natives as an interface, so that the rules around them can be tested without the library. See
 * {@link NativeCoordinator} for what they do.
 */
interface NativeCalls {

    long callCreate(byte[] settings);

    void callRun(long handle, CoordinatorHost host);

    void callDestroy(long handle);

    void callReset(
            long handle,
            long epoch,
            long checkpointId,
            @Nullable byte[] state,
            String freshCommitUser);

    void callHandleEvent(long handle, int subtask, int attempt, byte[] event);

    void callHandleRequest(long handle, long requestId, byte[] request);

    void callNotify(
            long handle, int kind, int subtask, int attempt, long checkpointId, long futureId);

    void callCommitterReported(
            long handle,
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message);
}
