package io.paimonwriter.coordinator;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

import javax.annotation.Nullable;

/** Native coordinators that only record what they are told and run until they are closed. */
final class FakeNatives implements NativeCalls {

    /** One line for each call, such as "reset 1 epoch 1 checkpoint -1". */
    final List<String> calls = new CopyOnWriteArrayList<>();

    /** Calls that reached a handle which had been destroyed, or was never made. */
    final List<String> callsOfDeadHandles = new CopyOnWriteArrayList<>();

    private final Map<Long, CompletableFuture<Void>> running =
            Collections.synchronizedMap(new HashMap<>());
    private long lastHandle;

    @Nullable volatile CoordinatorHost host;
    volatile long lastFutureId;
    volatile long lastRequestId;

    @Override
    public synchronized long create(byte[] settings) {
        lastHandle++;
        running.put(lastHandle, new CompletableFuture<>());
        record(lastHandle, "create " + lastHandle);
        return lastHandle;
    }

    @Override
    public void run(long handle, CoordinatorHost host) {
        this.host = host;
        record(handle, "run " + handle);
        running.get(handle).join();
    }

    @Override
    public void destroy(long handle) {
        record(handle, "destroy " + handle);
        running.remove(handle);
    }

    @Override
    public void reset(
            long handle,
            long epoch,
            long checkpointId,
            @Nullable byte[] state,
            String freshCommitUser) {
        if (!freshCommitUser.startsWith("user-")) {
            throw new IllegalArgumentException(freshCommitUser);
        }
        record(handle, "reset " + handle + " epoch " + epoch + " checkpoint " + checkpointId);
    }

    @Override
    public void handleEvent(long handle, int subtask, int attempt, byte[] event) {
        record(handle, "event of " + subtask + " attempt " + attempt);
    }

    @Override
    public void handleRequest(long handle, long requestId, byte[] request) {
        lastRequestId = requestId;
        record(handle, "request");
    }

    @Override
    public void notify(
            long handle, int kind, int subtask, int attempt, long checkpointId, long futureId) {
        lastFutureId = futureId;
        record(
                handle,
                "notify "
                        + kind
                        + " subtask "
                        + subtask
                        + " attempt "
                        + attempt
                        + " checkpoint "
                        + checkpointId);
        if (kind == NativeHandle.CLOSE) {
            running.get(handle).complete(null);
        }
    }

    @Override
    public void committerReported(
            long handle,
            long epoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message) {
        record(handle, "committer reported " + commitId + " failure " + failure);
    }

    /** Ends the loop of the newest handle as a native panic would. */
    synchronized void fail(RuntimeException error) {
        running.get(lastHandle).completeExceptionally(error);
    }

    private void record(long handle, String call) {
        (running.containsKey(handle) ? calls : callsOfDeadHandles).add(call);
    }
}
