package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.streaming.api.operators.collect.CollectCoordinationResponse;
import org.apache.flink.util.FlinkException;

import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The futures that the native coordinator knows by number. Whoever removes a future completes it,
 * so each is completed exactly once.
 */
final class PendingAnswers {

    private final Map<Long, CompletableFuture<byte[]>> checkpoints = new ConcurrentHashMap<>();
    private final Map<Long, CompletableFuture<CoordinationResponse>> requests =
            new ConcurrentHashMap<>();
    private final AtomicLong lastId = new AtomicLong();

    long addCheckpoint(CompletableFuture<byte[]> future) {
        long id = lastId.incrementAndGet();
        checkpoints.put(id, future);
        return id;
    }

    long addRequest(CompletableFuture<CoordinationResponse> future) {
        long id = lastId.incrementAndGet();
        requests.put(id, future);
        return id;
    }

    void completeCheckpoint(long id, byte[] state) {
        CompletableFuture<byte[]> future = checkpoints.remove(id);
        if (future != null) {
            future.complete(state);
        }
    }

    /**
     * Declines a checkpoint. The exception has no IOException in its chain, because Flink would
     * count that against the tolerable failed checkpoints and fail the job (h15).
     */
    void failCheckpoint(long id, String message) {
        CompletableFuture<byte[]> future = checkpoints.remove(id);
        if (future != null) {
            future.completeExceptionally(new IllegalStateException(message));
        }
    }

    /**
     * Answers with one of Flink's own classes: the task manager does not know ours in a response.
     */
    void answerRequest(long id, RequestStatus status, long committedThrough) {
        CompletableFuture<CoordinationResponse> future = requests.remove(id);
        if (future != null) {
            future.complete(
                    new CollectCoordinationResponse(
                            status.name(), committedThrough, Collections.emptyList()));
        }
    }

    void failRequest(long id, String message) {
        CompletableFuture<CoordinationResponse> future = requests.remove(id);
        if (future != null) {
            future.completeExceptionally(new FlinkException(message));
        }
    }

    void failAll(String message) {
        for (Long id : checkpoints.keySet()) {
            failCheckpoint(id, message);
        }
        for (Long id : requests.keySet()) {
            failRequest(id, message);
        }
    }
}
