package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.streaming.api.operators.collect.CollectCoordinationResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** How a writer asks and what it makes of the answers. */
@Timeout(30)
class CoordinatorClientTest {

    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofMillis(300);

    private final FakeGateways coordinator = new FakeGateways();
    private final WriterEntry entry =
            WriterEntry.ofCheckpoint(
                    coordinator.identity.incarnation,
                    5,
                    Long.MIN_VALUE,
                    false,
                    CommittableBytes.of(3, Collections.emptyList()));
    private final WriterEntry endOfInput =
            WriterEntry.ofEndOfInput(
                    coordinator.identity.incarnation,
                    5,
                    Long.MIN_VALUE,
                    false,
                    CommittableBytes.of(3, Collections.emptyList()));

    @Test
    void s24ConfirmReturnsWhatIsCommitted() throws Exception {
        coordinator.answer(RequestStatus.HELD, 3);

        assertEquals(3, client(LONG).confirm(entry));
        assertEquals(0, coordinator.events.size());
    }

    @Test
    void s24ConfirmSendsAgainWhenAskedTo() throws Exception {
        coordinator.answer(RequestStatus.RESEND).answer(RequestStatus.HELD);

        client(LONG).confirm(entry);

        assertEquals(1, coordinator.events.size());
        assertEquals(2, coordinator.requests.size());
    }

    @Test
    void s24FailedRequestIsAskedAgain() throws Exception {
        CompletableFuture<CoordinationResponse> failed = new CompletableFuture<>();
        failed.completeExceptionally(new TimeoutException("ask timed out"));
        coordinator.answer(failed).answer(RequestStatus.HELD);

        client(LONG).confirm(entry);

        assertEquals(2, coordinator.requests.size());
    }

    @Test
    void s24NoConfirmationInTimeFailsWithEverythingNamed() {
        CoordinatorException error =
                assertThrows(CoordinatorException.class, () -> client(SHORT).confirm(entry));

        for (String part :
                new String[] {"db.t", "subtask 1", "attempt 4", "checkpoint 5", "300 ms"}) {
            assertTrue(error.getMessage().contains(part), error.getMessage());
        }
        assertTrue(error.getMessage().contains("confirm-timeout"), error.getMessage());
    }

    @Test
    void s24EndlessResendFails() {
        for (int i = 0; i < 100; i++) {
            coordinator.answer(RequestStatus.RESEND);
        }

        assertThrows(CoordinatorException.class, () -> client(SHORT).confirm(entry));
        assertTrue(coordinator.requests.size() < 20, "asked " + coordinator.requests.size());
    }

    @Test
    void h25RejectedConfirmFailsAtOnce() {
        coordinator.answer(RequestStatus.REJECTED);

        CoordinatorException error =
                assertThrows(CoordinatorException.class, () -> client(LONG).confirm(entry));

        assertTrue(error.getMessage().contains("REJECTED"), error.getMessage());
    }

    @Test
    void confirmStopsWhenTheTaskIsCancelled() {
        AtomicInteger looks = new AtomicInteger();

        assertThrows(
                CancelTaskException.class,
                () -> coordinator.client(LONG, () -> looks.incrementAndGet() > 3).confirm(entry));
    }

    @Test
    void s61WaitIsAskedAgainUntilGo() throws Exception {
        coordinator.answer(RequestStatus.WAIT).answer(RequestStatus.WAIT).answer(RequestStatus.GO);

        client(LONG).awaitMayFinish(5, endOfInput);

        assertEquals(3, coordinator.requests.size());
        assertEquals(0, coordinator.events.size());
    }

    @Test
    void s61WaitIsNotBoundedByTheConfirmTimeout() throws Exception {
        for (int i = 0; i < 4; i++) {
            coordinator.answer(
                    new CompletableFuture<CoordinationResponse>()
                            .completeOnTimeout(
                                    new CollectCoordinationResponse(
                                            "WAIT", 0, Collections.emptyList()),
                                    150,
                                    TimeUnit.MILLISECONDS));
        }
        coordinator.answer(RequestStatus.GO);

        client(SHORT).awaitMayFinish(5, null);

        assertEquals(5, coordinator.requests.size());
    }

    @Test
    void h07FinishSendsTheEndOfInputAgain() throws Exception {
        coordinator.answer(RequestStatus.RESEND).answer(RequestStatus.GO);

        client(LONG).awaitMayFinish(5, endOfInput);

        assertEquals(1, coordinator.events.size());
    }

    @Test
    void h11FinishOfACancelledTaskDoesNotWait() {
        assertTimeoutPreemptively(
                Duration.ofSeconds(5),
                () -> coordinator.client(LONG, () -> true).awaitMayFinish(5, null));
        assertEquals(0, coordinator.requests.size());
    }

    @Test
    void finishWithoutAnyAnswerFails() {
        CoordinatorException error =
                assertThrows(
                        CoordinatorException.class, () -> client(SHORT).awaitMayFinish(5, null));

        assertTrue(error.getMessage().contains("after checkpoint 5"), error.getMessage());
    }

    private CoordinatorClient client(Duration confirmTimeout) {
        return coordinator.client(confirmTimeout, () -> false);
    }
}
