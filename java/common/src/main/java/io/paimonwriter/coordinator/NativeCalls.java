package io.paimonwriter.coordinator;

import javax.annotation.Nullable;

/**
 * What the native coordinator can be told. Only {@link NativeHandle} calls it, because a handle
 * that is used after its end must never reach native code. An interface, so that the rules around
 * it can be tested without the library.
 *
 * <p>All calls but {@code run} copy what they are given and return at once; an event, which may be
 * large, is copied by the loop, so its bytes must not change. They throw {@link
 * IllegalStateException} for a coordinator that has ended, and {@link RuntimeException} with the
 * whole text for bytes that are not ours and for a native panic.
 */
interface NativeCalls {

    long create(byte[] settings);

    void run(long handle, CoordinatorHost host);

    void destroy(long handle);

    void reset(
            long handle,
            long epoch,
            long checkpointId,
            @Nullable byte[] state,
            String freshCommitUser);

    void handleEvent(long handle, int subtask, int attempt, byte[] event);

    void handleRequest(long handle, long requestId, byte[] request);

    void notify(long handle, int kind, int subtask, int attempt, long checkpointId, long futureId);

    void committerReported(
            long handle,
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message);
}
