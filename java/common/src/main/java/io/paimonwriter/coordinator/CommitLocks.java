package io.paimonwriter.coordinator;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One commit at a time for each table and commit user, across all coordinators of a class loader: a
 * commit of a closed coordinator that hangs must have ended before its successor looks at the table
 * (h08).
 */
final class CommitLocks {

    private static final ConcurrentHashMap<String, CountedLock> LOCKS = new ConcurrentHashMap<>();

    private CommitLocks() {}

    /** Waits for the lock; it stays in the table only while somebody holds it or waits for it. */
    static Held acquire(String tableLocation, String commitUser) throws InterruptedException {
        Held held = new Held(tableLocation + '\n' + commitUser);
        CountedLock lock =
                LOCKS.compute(
                        held.key,
                        (key, present) -> {
                            CountedLock counted = present != null ? present : new CountedLock();
                            counted.users++;
                            return counted;
                        });
        try {
            lock.lockInterruptibly();
        } catch (InterruptedException e) {
            forget(held.key);
            throw e;
        }
        held.lock = lock;
        return held;
    }

    static int size() {
        return LOCKS.size();
    }

    private static void forget(String key) {
        LOCKS.computeIfPresent(
                key,
                (ignored, counted) -> {
                    counted.users--;
                    return counted.users == 0 ? null : counted;
                });
    }

    private static final class CountedLock extends ReentrantLock {
        private static final long serialVersionUID = 1L;

        /** Changed only inside the map's atomic methods. */
        private int users;
    }

    /** A lock that is held; closing it gives it back. */
    static final class Held implements AutoCloseable {

        private final String key;
        private CountedLock lock;

        private Held(String key) {
            this.key = key;
        }

        @Override
        public void close() {
            lock.unlock();
            forget(key);
        }
    }
}
