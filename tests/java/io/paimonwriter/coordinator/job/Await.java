package io.paimonwriter.coordinator.job;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for a condition, never for a time: every wait has a deadline and says what it waited for.
 */
public final class Await {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private Await() {}

    /** Returns once {@code condition} holds. */
    public static void until(String what, Callable<Boolean> condition) {
        until(what, LIMIT, condition, () -> "");
    }

    /**
     * Returns once {@code condition} holds.
     *
     * @param observed describes the last state seen, for the message of the failure
     * @throws AssertionError when it does not hold within {@code limit}
     */
    public static void until(
            String what, Duration limit, Callable<Boolean> condition, Callable<String> observed) {
        long deadline = System.nanoTime() + limit.toNanos();
        try {
            while (!condition.call()) {
                if (System.nanoTime() > deadline) {
                    throw new AssertionError(
                            String.format(
                                    "Waited %d s in vain: %s. %s",
                                    limit.getSeconds(), what, observed.call()));
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
        } catch (Exception e) {
            throw new AssertionError("Could not tell whether " + what, e);
        }
    }
}
