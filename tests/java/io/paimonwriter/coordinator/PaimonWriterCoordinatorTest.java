package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.runtime.operators.coordination.CoordinationRequest;
import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.runtime.throwable.ThrowableClassifier;
import org.apache.flink.runtime.throwable.ThrowableType;
import org.apache.flink.streaming.api.operators.collect.CollectCoordinationResponse;
import org.apache.flink.util.ExceptionUtils;
import org.apache.flink.util.FlinkException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The shim around the native coordinator, with a recording stand-in for the native side. */
@Timeout(60)
class PaimonWriterCoordinatorTest {

    private final FakeNatives natives = new FakeNatives();
    private final FakeContext context = new FakeContext();
    private final WriterIdentity writer = new WriterIdentity("db.t", 0, 0, UUID.randomUUID());

    @TempDir private Path folder;
    private PaimonWriterCoordinator coordinator;

    @BeforeEach
    void create() throws Exception {
        LocalTable table = LocalTable.create(folder, Map.of());
        coordinator =
                new PaimonWriterCoordinator(
                        context,
                        CoordinatorSettings.builder("user", "db.t", "Writer").build(),
                        table.table,
                        table.committerFactory(),
                        natives);
    }

    @AfterEach
    void close() {
        coordinator.close();
        assertEquals(List.of(), natives.callsOfDeadHandles);
    }

    @Test
    void resetBeforeStartIsOnlyRemembered() {
        coordinator.resetToCheckpoint(7, new byte[] {1});
        assertEquals(List.of(), natives.calls);

        coordinator.start();

        assertEquals("create 1", natives.calls.get(0));
        assertEquals("reset 1 epoch 1 checkpoint 7", natives.calls.get(1));
    }

    @Test
    void s42ResetAfterStartBeginsTheNextEpoch() {
        coordinator.start();

        coordinator.resetToCheckpoint(-1, null);

        assertTrue(natives.calls.contains("reset 1 epoch 1 checkpoint -1"));
        assertTrue(natives.calls.contains("reset 1 epoch 2 checkpoint -1"));
    }

    @Test
    void callbacksAreForwarded() {
        coordinator.start();

        coordinator.executionAttemptReady(1, 2, null);
        coordinator.executionAttemptFailed(1, 2, null);
        coordinator.subtaskReset(1, 5);
        coordinator.notifyCheckpointComplete(6);
        coordinator.notifyCheckpointAborted(7);
        coordinator.handleEventFromOperator(1, 2, new WriterEvent(new byte[0]));

        for (String call :
                List.of(
                        "notify 1 subtask 1 attempt 2 checkpoint 0",
                        "notify 2 subtask 1 attempt 2 checkpoint 0",
                        "notify 3 subtask 1 attempt 0 checkpoint 5",
                        "notify 5 subtask 0 attempt 0 checkpoint 6",
                        "notify 6 subtask 0 attempt 0 checkpoint 7",
                        "event of 1 attempt 2")) {
            assertTrue(natives.calls.contains(call), call);
        }
    }

    @Test
    void s10CheckpointBeforeStartIsDeclinedWithoutAnIoException() {
        CompletableFuture<byte[]> result = new CompletableFuture<>();

        coordinator.checkpointCoordinator(3, result);

        assertDeclined(result, "checkpoint 3");
    }

    @Test
    void s10CheckpointAfterCloseIsDeclinedWithoutAnIoException() {
        coordinator.start();
        coordinator.close();
        CompletableFuture<byte[]> result = new CompletableFuture<>();

        coordinator.checkpointCoordinator(3, result);

        assertDeclined(result, "ended");
    }

    @Test
    void s10PendingCheckpointIsDeclinedByClose() {
        coordinator.start();
        CompletableFuture<byte[]> result = new CompletableFuture<>();
        coordinator.checkpointCoordinator(3, result);
        assertFalse(result.isDone());

        coordinator.close();

        assertTrue(result.isDone());
        assertTrue(result.isCompletedExceptionally());
    }

    @Test
    void checkpointIsCompletedOnce() throws Exception {
        start();
        CompletableFuture<byte[]> result = new CompletableFuture<>();
        coordinator.checkpointCoordinator(3, result);
        long id = natives.lastFutureId;

        natives.host.completeCheckpoint(id, new byte[] {5});
        natives.host.failCheckpoint(id, "too late");

        assertArrayEquals(new byte[] {5}, result.get());
    }

    @Test
    void requestIsAnsweredWithFlinksOwnClass() throws Exception {
        start();
        CompletableFuture<CoordinationResponse> response =
                coordinator.handleCoordinationRequest(WriterRequest.mayFinish(writer, 4, null));

        natives.host.answer(natives.lastRequestId, 4, 17);

        CollectCoordinationResponse answer = (CollectCoordinationResponse) response.get();
        assertEquals("GO", answer.getVersion());
        assertEquals(17, answer.getLastCheckpointedOffset());
    }

    @Test
    void requestThatIsNotOursOrComesTooEarlyIsAnsweredWithFlinksException() {
        assertRefused(
                coordinator.handleCoordinationRequest(WriterRequest.mayFinish(writer, 4, null)));
        coordinator.start();
        assertRefused(coordinator.handleCoordinationRequest(new CoordinationRequest() {}));
        coordinator.close();
        assertRefused(
                coordinator.handleCoordinationRequest(WriterRequest.mayFinish(writer, 4, null)));
        assertTrue(context.failures.isEmpty());
    }

    @Test
    void s105ForeignEventFailsTheJobAndNamesTheSender() {
        coordinator.start();

        coordinator.handleEventFromOperator(1, 2, new ForeignEvent());

        Throwable failure = context.failures.poll();
        for (String part : List.of("db.t", "subtask 1", "attempt 2", "ForeignEvent")) {
            assertTrue(failure.getMessage().contains(part), failure.getMessage());
        }
    }

    @Test
    void s94FailureOfTheLoopFailsTheJobAndAnswersEverything() throws Exception {
        start();
        CompletableFuture<byte[]> checkpoint = new CompletableFuture<>();
        coordinator.checkpointCoordinator(3, checkpoint);
        CompletableFuture<CoordinationResponse> request =
                coordinator.handleCoordinationRequest(WriterRequest.mayFinish(writer, 4, null));

        natives.fail(new IllegalStateException("panicked at somewhere"));

        Throwable failure = context.failures.poll(30, TimeUnit.SECONDS);
        assertTrue(failure.getMessage().contains("panicked at somewhere"), failure.getMessage());
        assertDeclined(checkpoint, "ended");
        assertRefused(request);
        CompletableFuture<byte[]> later = new CompletableFuture<>();
        coordinator.checkpointCoordinator(4, later);
        assertDeclined(later, "ended");
        coordinator.notifyCheckpointComplete(4);
        assertTrue(natives.calls.contains("destroy 1"));
    }

    @Test
    void s94ResetAfterAFailureOfTheLoopMakesANewOne() throws Exception {
        start();
        natives.fail(new IllegalStateException("panicked"));
        context.failures.poll(30, TimeUnit.SECONDS);

        coordinator.resetToCheckpoint(3, new byte[0]);

        assertTrue(natives.calls.contains("create 2"));
        assertTrue(natives.calls.contains("reset 2 epoch 2 checkpoint 3"));
    }

    @Test
    void s106CloseWithoutStartTwice() {
        coordinator.close();
        coordinator.close();

        assertEquals(List.of(), natives.calls);
        assertThrows(IllegalStateException.class, () -> coordinator.start());
    }

    @Test
    void s106CloseConcurrentlyWithCallbacks() throws Exception {
        start();
        List<Thread> threads = new ArrayList<>();
        List<CompletableFuture<?>> futures = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 4; i++) {
            Thread thread =
                    new Thread(
                            () -> {
                                for (int n = 0; n < 2_000; n++) {
                                    CompletableFuture<byte[]> result = new CompletableFuture<>();
                                    futures.add(result);
                                    coordinator.checkpointCoordinator(n, result);
                                    futures.add(
                                            coordinator.handleCoordinationRequest(
                                                    WriterRequest.mayFinish(writer, n, null)));
                                    coordinator.notifyCheckpointComplete(n);
                                }
                            });
            thread.start();
            threads.add(thread);
        }

        coordinator.close();

        for (Thread thread : threads) {
            thread.join();
        }
        for (CompletableFuture<?> future : futures) {
            assertTrue(future.isDone());
        }
        assertEquals(1, natives.calls.stream().filter(c -> c.startsWith("destroy")).count());
        assertTrue(context.failures.isEmpty());
    }

    @Test
    void failingTheJobAfterFlinkHasLetGoIsTolerated() throws Exception {
        start();
        context.disposed = true;

        natives.host.failJob("too late", true);
    }

    @Test
    void h15FailuresKnowWhetherTheJobMayRestart() throws Exception {
        start();

        natives.host.failJob("again", true);
        natives.host.failJob("never again", false);

        Throwable recoverable = context.failures.take();
        Throwable last = context.failures.take();
        assertFalse(isNonRecoverable(recoverable));
        assertTrue(isNonRecoverable(last));
        assertEquals("never again", last.getMessage());
    }

    @Test
    void committerOutcomesReachTheLoop() throws Exception {
        start();

        natives.host.openCommitter(1, "user", false, null);

        await(() -> natives.calls.contains("committer reported 0 failure 0"));
    }

    private static boolean isNonRecoverable(Throwable failure) {
        return ThrowableClassifier.findThrowableOfThrowableType(
                        failure, ThrowableType.NonRecoverableError)
                .isPresent();
    }

    /** Starts and waits until the loop's thread is in the native side. */
    private void start() throws Exception {
        coordinator.start();
        await(() -> natives.calls.contains("run 1"));
    }

    private static void await(BooleanSupplier condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "the condition did not become true");
            Thread.onSpinWait();
        }
    }

    private static void assertDeclined(CompletableFuture<byte[]> result, String part) {
        ExecutionException error = assertThrows(ExecutionException.class, result::get);
        assertTrue(error.getCause().getMessage().contains(part), error.getMessage());
        assertFalse(ExceptionUtils.findThrowable(error, IOException.class).isPresent());
    }

    private static void assertRefused(CompletableFuture<CoordinationResponse> response) {
        ExecutionException error =
                assertThrows(ExecutionException.class, () -> response.get(30, TimeUnit.SECONDS));
        assertInstanceOf(FlinkException.class, error.getCause());
    }

    private static final class ForeignEvent implements OperatorEvent {
        private static final long serialVersionUID = 1L;
    }
}
