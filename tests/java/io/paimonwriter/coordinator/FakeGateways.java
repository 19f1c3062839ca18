package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.streaming.api.operators.collect.CollectCoordinationResponse;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/** The coordinator as a writer sees it: records what arrives, answers from a script. */
final class FakeGateways {

    final List<WriterEvent> events = new ArrayList<>();
    final List<WriterRequest> requests = new ArrayList<>();
    final WriterIdentity identity = new WriterIdentity("db.t", 1, 4, UUID.randomUUID());

    private final Queue<CompletableFuture<CoordinationResponse>> answers = new ArrayDeque<>();

    FakeGateways answer(RequestStatus status) {
        return answer(status, Long.MIN_VALUE);
    }

    FakeGateways answer(RequestStatus status, long committedThrough) {
        return answer(
                CompletableFuture.completedFuture(
                        new CollectCoordinationResponse(
                                status.name(), committedThrough, Collections.emptyList())));
    }

    FakeGateways answer(CompletableFuture<CoordinationResponse> answer) {
        answers.add(answer);
        return this;
    }

    CoordinatorClient client(Duration confirmTimeout, BooleanSupplier cancelled) {
        return new CoordinatorClient(
                identity,
                event -> events.add((WriterEvent) event),
                request -> {
                    requests.add(request);
                    CompletableFuture<CoordinationResponse> answer = answers.poll();
                    return answer != null ? answer : new CompletableFuture<>();
                },
                CoordinatorSettings.builder("user", "db.t", "Writer")
                        .confirmTimeout(confirmTimeout)
                        .build(),
                2 << 20,
                cancelled);
    }
}
