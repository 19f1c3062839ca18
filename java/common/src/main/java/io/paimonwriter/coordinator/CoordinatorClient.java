package io.paimonwriter.coordinator;

import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.runtime.operators.coordination.OperatorEventGateway;
import org.apache.flink.streaming.api.operators.collect.CollectCoordinationResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

import javax.annotation.Nullable;

/**
 * The writer's side of the conversation with the coordinator: events out, questions answered.
 *
 * <p>Flink tells the sender of an event nothing about its delivery, so a report counts only when
 * the coordinator has confirmed that it holds it whole. All waits are cut into slices between which
 * the task's cancellation is looked at, because at the end of a task nobody interrupts it.
 */
final class CoordinatorClient {

    private static final Logger LOG = LoggerFactory.getLogger("io.paimonwriter.coordinator");

    private static final long SLICE_MILLIS = 100;

    /** Least time between two questions, so that quick failures do not become a busy loop. */
    private static final long PAUSE_MILLIS = 100;

    private static final String WHAT_TO_DO =
            "The task fails so that its region restarts and replays. If this repeats, look in the"
                    + " job manager's log for the coordinator's own errors, and compare"
                    + " sink.committer-coordinator-operator.confirm-timeout with pekko.ask.timeout"
                    + " and pekko.framesize of the job manager with that of the task manager.";

    private final WriterIdentity identity;
    private final OperatorEventGateway events;
    private final RequestGateway requests;
    private final int chunkSizeBytes;
    private final long confirmTimeoutMillis;
    private final BooleanSupplier cancelled;

    @Nullable private String lastProblem;

    CoordinatorClient(
            WriterIdentity identity,
            OperatorEventGateway events,
            RequestGateway requests,
            CoordinatorSettings settings,
            int chunkSizeBytes,
            BooleanSupplier cancelled) {
        this.identity = identity;
        this.events = events;
        this.requests = requests;
        this.chunkSizeBytes = chunkSizeBytes;
        this.confirmTimeoutMillis = settings.confirmTimeoutMillis();
        this.cancelled = cancelled;
    }

    /** Reports an entry; returns before it has arrived. */
    void send(WriterEntry entry) {
        send(WriterEvent.Kind.ENTRY, entry.checkpointId, entry.encode());
    }

    /** Reports what the writer was given when it was restored; returns before it has arrived. */
    void sendRestored(long restoredCheckpointId, WriterState state) {
        send(WriterEvent.Kind.RESTORE, restoredCheckpointId, state.encodeRestoreBody());
    }

    private void send(WriterEvent.Kind kind, long checkpointId, byte[] body) {
        for (WriterEvent event :
                WriterEvent.split(kind, identity, checkpointId, body, chunkSizeBytes)) {
            events.sendEventToCoordinator(event);
        }
    }

    /**
     * Waits until the coordinator holds a sent entry whole (s24), sending it again when asked to.
     *
     * @return the checkpoint up to which everything is durably committed, {@link Long#MIN_VALUE} if
     *     none
     * @throws CoordinatorException if the coordinator refuses or does not confirm in time
     * @throws CancelTaskException if the task is cancelled meanwhile
     */
    long confirm(WriterEntry entry) throws Exception {
        WriterRequest request = WriterRequest.confirm(identity, entry);
        Deadline deadline = new Deadline(confirmTimeoutMillis);
        while (true) {
            CollectCoordinationResponse answer = ask(request, deadline);
            if (cancelled.getAsBoolean()) {
                throw new CancelTaskException(
                        "cancelled while waiting for the confirmation of the " + entry);
            }
            if (answer != null) {
                switch (status(answer)) {
                    case HELD:
                        return answer.getLastCheckpointedOffset();
                    case RESEND:
                        send(entry);
                        break;
                    default:
                        throw refused("confirm the " + entry, answer);
                }
            }
            if (deadline.hasPassed()) {
                throw notAnswered("confirm that it holds the " + entry);
            }
        }
    }

    /**
     * Waits at the end of a task until nothing that the task has handed over can get lost (s61,
     * h11). Waits as long as the coordinator says so; returns when the task is cancelled meanwhile.
     *
     * @param completedCheckpointId last checkpoint whose completion the task was told of, -1 if
     *     none
     * @param endOfInput the writer's entry of its end of input; null if its input has not ended
     * @return whether what the writer wrote is used; false if its files belong to no commit
     * @throws CoordinatorException if the coordinator refuses or does not answer in time
     */
    boolean awaitMayFinish(long completedCheckpointId, @Nullable WriterEntry endOfInput)
            throws Exception {
        WriterRequest request =
                WriterRequest.mayFinish(identity, completedCheckpointId, endOfInput);
        Deadline deadline = new Deadline(confirmTimeoutMillis);
        while (!cancelled.getAsBoolean()) {
            CollectCoordinationResponse answer = ask(request, deadline);
            if (answer != null) {
                switch (status(answer)) {
                    case GO:
                        return true;
                    case GO_UNUSED:
                        return false;
                    case WAIT:
                        deadline = new Deadline(confirmTimeoutMillis);
                        break;
                    case RESEND:
                        if (endOfInput != null) {
                            send(endOfInput);
                        }
                        break;
                    default:
                        throw refused(describeFinish(completedCheckpointId), answer);
                }
            }
            if (deadline.hasPassed() && !cancelled.getAsBoolean()) {
                throw notAnswered(describeFinish(completedCheckpointId));
            }
        }
        return true;
    }

    private static String describeFinish(long completedCheckpointId) {
        return "let the writer finish after checkpoint " + completedCheckpointId;
    }

    /** One question; null when it was not answered, after a pause. */
    @Nullable
    private CollectCoordinationResponse ask(WriterRequest request, Deadline deadline)
            throws Exception {
        Deadline pause = new Deadline(PAUSE_MILLIS);
        CollectCoordinationResponse answer = null;
        try {
            CompletableFuture<CoordinationResponse> response = requests.send(request);
            await(response, deadline);
            if (response.isDone()) {
                answer = (CollectCoordinationResponse) response.get();
                lastProblem = null;
            } else {
                lastProblem = "the request was not answered";
            }
        } catch (ExecutionException | CancellationException e) {
            lastProblem = String.valueOf(e.getCause() != null ? e.getCause() : e);
            LOG.warn("{}: a request to the coordinator failed, asking again", identity, e);
        }
        boolean answered = answer != null && status(answer) != RequestStatus.RESEND;
        if (!answered && !cancelled.getAsBoolean()) {
            await(new CompletableFuture<>(), pause);
        }
        return answer;
    }

    /** Waits until the future is done, the deadline has passed or the task is cancelled. */
    private void await(CompletableFuture<?> future, Deadline deadline) throws InterruptedException {
        while (!future.isDone() && !deadline.hasPassed() && !cancelled.getAsBoolean()) {
            try {
                future.get(
                        Math.min(SLICE_MILLIS, deadline.remainingMillis()), TimeUnit.MILLISECONDS);
            } catch (TimeoutException | ExecutionException | CancellationException e) {
                // The loop's condition and the caller look at the future itself.
            }
        }
    }

    private static RequestStatus status(CollectCoordinationResponse answer) {
        return RequestStatus.valueOf(answer.getVersion());
    }

    private CoordinatorException refused(String what, CollectCoordinationResponse answer) {
        return new CoordinatorException(
                String.format(
                        "%s: the coordinator answered %s when asked to %s. Most likely this task"
                                + " is not the current attempt of its subtask any more. %s",
                        identity, answer.getVersion(), what, WHAT_TO_DO));
    }

    private CoordinatorException notAnswered(String what) {
        return new CoordinatorException(
                String.format(
                        "%s: the coordinator did not %s within %d ms (last problem: %s). %s",
                        identity,
                        what,
                        confirmTimeoutMillis,
                        lastProblem != null ? lastProblem : "it asked for the report again",
                        WHAT_TO_DO));
    }

    /** Sends a request to the coordinator of this operator. */
    interface RequestGateway {
        CompletableFuture<CoordinationResponse> send(WriterRequest request) throws Exception;
    }

    private static final class Deadline {

        private final long endNanos;

        Deadline(long millis) {
            this.endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        }

        long remainingMillis() {
            return Math.max(0, TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime()) + 1);
        }

        boolean hasPassed() {
            return endNanos - System.nanoTime() <= 0;
        }
    }
}
