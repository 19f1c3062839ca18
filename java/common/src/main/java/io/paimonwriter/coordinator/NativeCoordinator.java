package io.paimonwriter.coordinator;

import javax.annotation.Nullable;

/** The natives themselves, which live in the library that {@link NativeLibrary} loads. */
final class NativeCoordinator implements NativeCalls {

    static final NativeCalls INSTANCE = new NativeCoordinator();

    private NativeCoordinator() {}

    @Override
    public native long create(byte[] settings);

    @Override
    public native void run(long handle, CoordinatorHost host);

    @Override
    public native void destroy(long handle);

    @Override
    public native void reset(
            long handle,
            long epoch,
            long checkpointId,
            @Nullable byte[] state,
            String freshCommitUser);

    @Override
    public native void handleEvent(long handle, int subtask, int attempt, byte[] event);

    @Override
    public native void handleRequest(long handle, long requestId, byte[] request);

    @Override
    public native void notify(
            long handle, int kind, int subtask, int attempt, long checkpointId, long futureId);

    @Override
    public native void committerReported(
            long handle,
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message);
}
