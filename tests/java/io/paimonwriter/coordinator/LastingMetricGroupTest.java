package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.Map;

class LastingMetricGroupTest {

    /** Keeps what Flink would report; a second registration of a name is a failure here. */
    private static final class Reported extends UnregisteredMetricsGroup {

        private final Map<String, Object> metrics;
        private final String prefix;

        private Reported(Map<String, Object> metrics, String prefix) {
            this.metrics = metrics;
            this.prefix = prefix;
        }

        @Override
        public <T, G extends Gauge<T>> G gauge(String name, G gauge) {
            assertNull(metrics.put(prefix + name, gauge), name);
            return gauge;
        }

        @Override
        public <C extends Counter> C counter(String name, C counter) {
            assertNull(metrics.put(prefix + name, counter), name);
            return counter;
        }

        @Override
        public MetricGroup addGroup(String name) {
            return new Reported(metrics, prefix + name + ".");
        }
    }

    private final Map<String, Object> reported = new HashMap<>();
    private final MetricGroup group = new LastingMetricGroup(new Reported(reported, ""));

    @Test
    void s108TheNewestMetricOfANameIsReported() {
        group.addGroup("commit").gauge("lastSnapshot", () -> 1L);
        group.addGroup("commit").gauge("lastSnapshot", () -> 2L);

        assertEquals(2L, ((Gauge<?>) reported.get("commit.lastSnapshot")).getValue());
    }

    @Test
    void s108CountersOfSeveralCommittersFollowOneAnother() {
        Counter first = group.counter("rows", new SimpleCounter());
        first.inc(5);
        Counter second = new SimpleCounter();
        assertSame(second, group.counter("rows", second));
        second.inc(7);

        assertEquals(7, ((Counter) reported.get("rows")).getCount());
    }
}
