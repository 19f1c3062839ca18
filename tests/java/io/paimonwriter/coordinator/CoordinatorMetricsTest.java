package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.paimonwriter.coordinator.job.Await;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.junit.jupiter.api.Test;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;

class CoordinatorMetricsTest {

    private static final long[] RUNNING = {2, 5, 4, 3, 300, 1, 0, 0, 2};
    private static final long[] CLOSED = {3, 4, 4, 0, 0, 0, 0, 0, 7};

    /** Keeps what is registered, each name once, as Flink's groups do. */
    private static final class FlinkGroup extends UnregisteredMetricsGroup {

        private final Map<String, Metric> metrics = new HashMap<>();
        private final Map<String, FlinkGroup> groups = new HashMap<>();

        @Override
        public <C extends Counter> C counter(String name, C counter) {
            assertNull(metrics.put(name, counter), name);
            return counter;
        }

        @Override
        public <T, G extends Gauge<T>> G gauge(String name, G gauge) {
            assertNull(metrics.put(name, gauge), name);
            return gauge;
        }

        @Override
        public MetricGroup addGroup(String key, String value) {
            return groups.computeIfAbsent(key + value, added -> new FlinkGroup());
        }

        private long value(String table, String name) {
            Metric metric = groups.get("table" + table).metrics.get(name);
            return metric instanceof Counter
                    ? ((Counter) metric).getCount()
                    : ((Number) ((Gauge<?>) metric).getValue()).longValue();
        }
    }

    private final FlinkGroup group = new FlinkGroup();

    @Test
    void s108TheNewestLoopIsShownAndNoEventOfAnOlderIsForgotten() {
        CoordinatorMetrics.Loop old = CoordinatorMetrics.of(group, "t").beginLoop();
        old.show(CLOSED.clone());
        CoordinatorMetrics.Loop newest = CoordinatorMetrics.of(group, "t").beginLoop();
        newest.show(RUNNING.clone());
        long[] late = CLOSED.clone();
        late[late.length - 1] = 8;
        old.show(late);

        assertEquals(2, group.value("t", "phase"));
        assertEquals(5, group.value("t", "lastCompletedCheckpointId"));
        assertEquals(4, group.value("t", "lastCommittedCheckpointId"));
        assertEquals(3, group.value("t", "numPendingEntries"));
        assertEquals(300, group.value("t", "pendingBytes"));
        assertEquals(1, group.value("t", "numDueCommits"));
        assertEquals(8 + 2, group.value("t", "numStaleEventsDropped"));
    }

    @Test
    void s108AnAttemptThatHangsBeyondItsCoordinatorDoesNotHideTheNext() {
        CoordinatorMetrics.Attempt hanging = CoordinatorMetrics.of(group, "t").beginAttempt(1);
        CoordinatorMetrics next = CoordinatorMetrics.of(group, "t");
        CoordinatorMetrics.Attempt second = next.beginAttempt(2);
        hanging.end();
        Await.until("the second is timed", () -> group.value("t", "commitAttemptMillis") > 0);
        second.succeeded();
        second.end();

        assertEquals(0, group.value("t", "commitAttemptMillis"));
        assertEquals(1, group.value("t", "numCommits"));
        assertEquals(1, group.value("t", "numCommitRetries"));
    }

    @Test
    void s108TablesAndGroupsHaveTheirOwn() {
        CoordinatorMetrics.of(group, "t").failed();
        CoordinatorMetrics.of(group, "other").beginLoop();
        FlinkGroup another = new FlinkGroup();
        CoordinatorMetrics.of(another, "t").beginLoop();

        assertEquals(1, group.value("t", "numCommitFailures"));
        assertEquals(0, group.value("other", "numCommitFailures"));
        assertEquals(0, another.value("t", "numCommitFailures"));
    }

    @Test
    void s108TheMetricsLiveAsLongAsTheirGroup() {
        FlinkGroup flinks = new FlinkGroup();
        WeakReference<CoordinatorMetrics> metrics =
                new WeakReference<>(CoordinatorMetrics.of(flinks, "t"));
        System.gc();
        assertEquals(metrics.get(), CoordinatorMetrics.of(flinks, "t"));
        flinks.groups.clear();
        flinks = null;

        Await.until(
                "the metrics went with their group",
                () -> {
                    System.gc();
                    return metrics.get() == null;
                });
    }
}
