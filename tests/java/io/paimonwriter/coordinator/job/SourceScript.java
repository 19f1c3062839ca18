package io.paimonwriter.coordinator.job;

import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * What the test wants its {@link ScriptedSource} to do, and when.
 *
 * <p>Tasks and test share one JVM but tasks are deserialised copies, so they find the script by its
 * key. The script outlives failovers and whole jobs: it is the outside world, a source restored to
 * an earlier position emits the same rows again.
 */
final class SourceScript {

    /** Row n of split s has the id s * STRIDE + n, so that a missing id tells where it belongs. */
    static final long STRIDE = 1_000_000L;

    /** A split never gets here: it stays open until the test ends it. */
    private static final long OPEN = Long.MAX_VALUE;

    private static final Map<String, SourceScript> SCRIPTS = new ConcurrentHashMap<>();

    private final String key = UUID.randomUUID().toString();
    private final SplitScript[] splits;
    private final AtomicBoolean jobFailure = new AtomicBoolean();
    private volatile long rowsPerSecond = Long.MAX_VALUE;
    private boolean bounded;

    private SourceScript(int splitCount) {
        splits = new SplitScript[splitCount];
        for (int split = 0; split < splitCount; split++) {
            splits[split] = new SplitScript();
        }
    }

    /** A script for a source of so many splits; at first no row may be emitted. */
    static SourceScript create(int splitCount) {
        SourceScript script = new SourceScript(splitCount);
        SCRIPTS.put(script.key, script);
        return script;
    }

    static SourceScript of(String key) {
        return SCRIPTS.get(key);
    }

    String key() {
        return key;
    }

    int splitCount() {
        return splits.length;
    }

    /** Every split may now emit so many rows more. */
    SourceScript allowAll(long rows) {
        for (int split = 0; split < splits.length; split++) {
            allow(split, rows);
        }
        return this;
    }

    /** The split may now emit so many rows more. */
    SourceScript allow(int split, long rows) {
        splits[split].idle &= rows == 0;
        splits[split].allowed += rows;
        return this;
    }

    /** The split ends after the rows allowed so far. */
    SourceScript end(int split) {
        splits[split].end = splits[split].allowed;
        return this;
    }

    /** Every split ends after the rows allowed so far. */
    SourceScript endAll() {
        for (int split = 0; split < splits.length; split++) {
            end(split);
        }
        return this;
    }

    /** Flink is told that the source will end, as batch jobs demand. */
    SourceScript bounded() {
        bounded = true;
        return this;
    }

    boolean isBounded() {
        return bounded;
    }

    /** Limits the rows per second of each reader. */
    SourceScript rowsPerSecond(long rows) {
        rowsPerSecond = rows;
        return this;
    }

    /** The split's reader emits this watermark after the rows it may emit now. */
    SourceScript watermark(int split, long watermark) {
        splits[split].watermark = watermark;
        return this;
    }

    /** The split's reader declares its output idle after the rows it may emit now. */
    SourceScript idle(int split) {
        splits[split].idle = true;
        return this;
    }

    /**
     * Stops the thread of the task that reads the split, so that barriers wait, too. Returns once
     * it stands still.
     */
    void pause(int split) {
        splits[split].pauseRequested = true;
        Await.until("the reader of split " + split + " pauses", () -> splits[split].paused);
    }

    /** The paused task goes on. */
    void resume(int split) {
        splits[split].pauseRequested = false;
    }

    /** Fails the task that reads the split, once, at its next chance. */
    SourceScript failTask(int split) {
        splits[split].failAtRow = 0;
        return this;
    }

    /** Fails the task that reads the split, once, when row {@code row} of the split is due. */
    SourceScript failAtRow(int split, long row) {
        splits[split].failAtRow = row;
        return this;
    }

    /**
     * Fails the task that reads the split, once, in the next checkpoint that it snapshots. The
     * writer is behind the source in its chain and is snapshotted before it, so its entry of that
     * checkpoint has been delivered by then.
     */
    SourceScript failInSnapshot(int split) {
        splits[split].failInSnapshot.set(true);
        return this;
    }

    /** Fails the whole job, once, from the source's coordinator: a global failover. */
    SourceScript failJob() {
        jobFailure.set(true);
        return this;
    }

    /** The ids of all rows allowed so far. */
    TreeSet<Long> ids() {
        TreeSet<Long> ids = new TreeSet<>();
        for (int split = 0; split < splits.length; split++) {
            for (long row = 0; row < splits[split].allowed; row++) {
                ids.add(split * STRIDE + row);
            }
        }
        return ids;
    }

    /** Returns once the readers have emitted everything that they may. */
    void awaitDrained() {
        Await.until("the source has emitted all rows that it may", this::isDrained);
    }

    private boolean isDrained() {
        for (SplitScript split : splits) {
            if (split.emitted < split.allowed
                    || split.emittedWatermark < split.watermark
                    || split.isIdle != split.idle) {
                return false;
            }
        }
        return true;
    }

    SplitScript split(int split) {
        return splits[split];
    }

    long rowsPerSecond() {
        return rowsPerSecond;
    }

    boolean takeJobFailure() {
        return jobFailure.getAndSet(false);
    }

    /** The script of one split. Written by the test, read by the one task that reads the split. */
    static final class SplitScript {

        private static final long NEVER = Long.MAX_VALUE;

        volatile long allowed;
        volatile long end = OPEN;
        volatile long emitted;
        volatile long watermark = Long.MIN_VALUE;
        volatile boolean idle;
        volatile long emittedWatermark = Long.MIN_VALUE;
        volatile boolean isIdle;
        private volatile boolean pauseRequested;
        private volatile boolean paused;
        private volatile long failAtRow = NEVER;
        private final AtomicBoolean failInSnapshot = new AtomicBoolean();

        boolean takeFailureAt(long row) {
            boolean fails = row >= failAtRow;
            if (fails) {
                failAtRow = NEVER;
            }
            return fails;
        }

        void pauseIfRequested() {
            while (pauseRequested && !Thread.currentThread().isInterrupted()) {
                paused = true;
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
            paused = false;
        }

        boolean takeFailureInSnapshot() {
            return failInSnapshot.getAndSet(false);
        }
    }
}
