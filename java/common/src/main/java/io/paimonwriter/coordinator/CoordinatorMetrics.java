package io.paimonwriter.coordinator;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.SimpleCounter;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The metrics of one sink in one job manager; docs/operations.md says what each means.
 *
 * <p>Flink keeps a sink's metric group for as long as the job manager works for the job, and
 * refuses a second metric of a name. A coordinator lives shorter: each restart may make a new one.
 * So these metrics belong to the group, and all coordinators that share it share them, one after
 * another.
 */
final class CoordinatorMetrics {

    // What a loop shows, in this order; its native side names the same numbers.
    private static final int PHASE = 0;
    private static final int LAST_COMPLETED_CHECKPOINT_ID = 1;
    private static final int LAST_COMMITTED_CHECKPOINT_ID = 2;
    private static final int PENDING_ENTRIES = 3;
    private static final int PENDING_BYTES = 4;
    private static final int DUE_COMMITS = 5;
    private static final int HELD_CHECKPOINTS = 6;
    private static final int AWAITED_WRITERS = 7;
    private static final int STALE_EVENTS = 8;

    private static final long NONE = -1;

    /** A group holds its metrics, and those hold this; here nothing keeps either alive. */
    private static final Map<MetricGroup, WeakReference<CoordinatorMetrics>> OF_GROUPS =
            new WeakHashMap<>();

    private final LastingMetricGroup paimons;
    private final Counter commits;
    private final Counter retries;
    private final Counter failures;
    private final Counter staleEvents;

    private volatile Loop loop = new Loop();
    private volatile long[] shown = {0, NONE, NONE, 0, 0, 0, 0, 0, 0};
    private volatile long lastCommitDurationMillis = NONE;
    private volatile long lastCommitNanos = System.nanoTime();
    private volatile Attempt attempt = new Attempt(true);

    private CoordinatorMetrics(MetricGroup group, LastingMetricGroup paimons) {
        this.paimons = paimons;
        commits = group.counter("numCommits", new SimpleCounter());
        retries = group.counter("numCommitRetries", new SimpleCounter());
        failures = group.counter("numCommitFailures", new SimpleCounter());
        staleEvents = group.counter("numStaleEventsDropped", new SimpleCounter());
        gauge(group, "phase", PHASE);
        gauge(group, "lastCompletedCheckpointId", LAST_COMPLETED_CHECKPOINT_ID);
        gauge(group, "lastCommittedCheckpointId", LAST_COMMITTED_CHECKPOINT_ID);
        gauge(group, "numPendingEntries", PENDING_ENTRIES);
        gauge(group, "pendingBytes", PENDING_BYTES);
        gauge(group, "numDueCommits", DUE_COMMITS);
        gauge(group, "numHeldCheckpoints", HELD_CHECKPOINTS);
        gauge(group, "numAwaitedWriters", AWAITED_WRITERS);
        group.<Long, Gauge<Long>>gauge("lastCommitDurationMillis", () -> lastCommitDurationMillis);
        group.<Long, Gauge<Long>>gauge("millisSinceLastCommit", () -> millisSince(lastCommitNanos));
        group.<Long, Gauge<Long>>gauge("commitAttemptMillis", () -> attempt.millisSoFar());
    }

    private void gauge(MetricGroup group, String name, int number) {
        group.<Long, Gauge<Long>>gauge(name, () -> shown[number]);
    }

    /**
     * The metrics of a sink, which earlier coordinators of this job manager may have moved.
     *
     * @param coordinatorGroup the group of the coordinator: a wrapper of its own for each, around
     *     one group of Flink's
     */
    static CoordinatorMetrics of(MetricGroup coordinatorGroup, String tableName) {
        // The name tells two sinks of one task apart, which Flink both calls by the task's name.
        MetricGroup own = coordinatorGroup.addGroup("table", tableName);
        synchronized (OF_GROUPS) {
            WeakReference<CoordinatorMetrics> reference = OF_GROUPS.get(own);
            CoordinatorMetrics metrics = reference == null ? null : reference.get();
            if (metrics == null) {
                metrics = new CoordinatorMetrics(own, new LastingMetricGroup(coordinatorGroup));
                OF_GROUPS.put(own, new WeakReference<>(metrics));
            }
            return metrics;
        }
    }

    /** Where Paimon's committers register their metrics. */
    MetricGroup paimons() {
        return paimons;
    }

    /** What the loop shows that begins now; what an earlier one still says is not reported. */
    Loop beginLoop() {
        Loop begun = new Loop();
        loop = begun;
        return begun;
    }

    /**
     * An attempt of a commit begins.
     *
     * @param number 1 for the first
     */
    synchronized Attempt beginAttempt(int number) {
        if (number > 1) {
            retries.inc();
        }
        Attempt begun = new Attempt(false);
        attempt = begun;
        return begun;
    }

    synchronized void failed() {
        failures.inc();
    }

    private static long millisSince(long nanos) {
        return (System.nanoTime() - nanos) / 1_000_000;
    }

    /** What one native loop shows of itself. */
    final class Loop {

        private long staleEventsSoFar;

        private Loop() {}

        void show(long[] numbers) {
            synchronized (CoordinatorMetrics.this) {
                staleEvents.inc(numbers[STALE_EVENTS] - staleEventsSoFar);
                staleEventsSoFar = numbers[STALE_EVENTS];
                if (loop == this) {
                    shown = numbers;
                }
            }
        }
    }

    /** One attempt of a commit. */
    final class Attempt {

        private final long startNanos = System.nanoTime();
        private volatile boolean ended;

        private Attempt(boolean ended) {
            this.ended = ended;
        }

        private long millisSoFar() {
            return ended ? 0 : millisSince(startNanos);
        }

        /** However it ended. */
        void end() {
            ended = true;
        }

        void succeeded() {
            synchronized (CoordinatorMetrics.this) {
                commits.inc();
                lastCommitDurationMillis = millisSince(startNanos);
                lastCommitNanos = System.nanoTime();
            }
        }
    }
}
