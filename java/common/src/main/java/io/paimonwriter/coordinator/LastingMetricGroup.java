package io.paimonwriter.coordinator;

import org.apache.flink.metrics.CharacterFilter;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Histogram;
import org.apache.flink.metrics.HistogramStatistics;
import org.apache.flink.metrics.Meter;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.SimpleCounter;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * A metric group in which a name may be registered again. Flink refuses that and goes on reporting
 * the first metric, while Paimon makes new metrics with each committer, and a coordinator has one
 * committer after the other: here the newest metric of a name is the one that is reported.
 */
final class LastingMetricGroup implements MetricGroup {

    private final MetricGroup group;
    private final Map<String, Lasting<?>> metrics = new HashMap<>();
    private final Map<String, LastingMetricGroup> groups = new HashMap<>();

    LastingMetricGroup(MetricGroup group) {
        this.group = group;
    }

    /** Registers the metric's stand-in when its name is new, and makes the metric its newest. */
    @SuppressWarnings("unchecked")
    private synchronized <M, S extends Lasting<M>> void register(
            String name, M metric, Function<M, S> standIn, Function<S, ?> registration) {
        Lasting<?> known = metrics.get(name);
        S lasting = standIn.apply(metric);
        if (known != null && known.getClass() == lasting.getClass()) {
            ((S) known).newest = metric;
        } else {
            metrics.put(name, lasting);
            registration.apply(lasting);
        }
    }

    @Override
    public Counter counter(String name) {
        return counter(name, new SimpleCounter());
    }

    @Override
    public <C extends Counter> C counter(String name, C counter) {
        register(name, (Counter) counter, LastingCounter::new, it -> group.counter(name, it));
        return counter;
    }

    @Override
    public <T, G extends Gauge<T>> G gauge(String name, G gauge) {
        register(name, (Gauge<?>) gauge, LastingGauge::new, it -> group.gauge(name, it));
        return gauge;
    }

    @Override
    public <H extends Histogram> H histogram(String name, H histogram) {
        register(
                name,
                (Histogram) histogram,
                LastingHistogram::new,
                it -> group.histogram(name, it));
        return histogram;
    }

    @Override
    public <M extends Meter> M meter(String name, M meter) {
        register(name, (Meter) meter, LastingMeter::new, it -> group.meter(name, it));
        return meter;
    }

    @Override
    public synchronized MetricGroup addGroup(String name) {
        return groups.computeIfAbsent(name, added -> new LastingMetricGroup(group.addGroup(added)));
    }

    @Override
    public synchronized MetricGroup addGroup(String key, String value) {
        return groups.computeIfAbsent(
                key + '\n' + value, added -> new LastingMetricGroup(group.addGroup(key, value)));
    }

    @Override
    public String[] getScopeComponents() {
        return group.getScopeComponents();
    }

    @Override
    public Map<String, String> getAllVariables() {
        return group.getAllVariables();
    }

    @Override
    public String getMetricIdentifier(String metricName) {
        return group.getMetricIdentifier(metricName);
    }

    @Override
    public String getMetricIdentifier(String metricName, CharacterFilter filter) {
        return group.getMetricIdentifier(metricName, filter);
    }

    private abstract static class Lasting<M> {

        volatile M newest;

        Lasting(M newest) {
            this.newest = newest;
        }
    }

    private static final class LastingGauge extends Lasting<Gauge<?>> implements Gauge<Object> {

        LastingGauge(Gauge<?> newest) {
            super(newest);
        }

        @Override
        public Object getValue() {
            return newest.getValue();
        }
    }

    private static final class LastingCounter extends Lasting<Counter> implements Counter {

        LastingCounter(Counter newest) {
            super(newest);
        }

        @Override
        public void inc() {
            newest.inc();
        }

        @Override
        public void inc(long n) {
            newest.inc(n);
        }

        @Override
        public void dec() {
            newest.dec();
        }

        @Override
        public void dec(long n) {
            newest.dec(n);
        }

        @Override
        public long getCount() {
            return newest.getCount();
        }
    }

    private static final class LastingMeter extends Lasting<Meter> implements Meter {

        LastingMeter(Meter newest) {
            super(newest);
        }

        @Override
        public void markEvent() {
            newest.markEvent();
        }

        @Override
        public void markEvent(long n) {
            newest.markEvent(n);
        }

        @Override
        public double getRate() {
            return newest.getRate();
        }

        @Override
        public long getCount() {
            return newest.getCount();
        }
    }

    private static final class LastingHistogram extends Lasting<Histogram> implements Histogram {

        LastingHistogram(Histogram newest) {
            super(newest);
        }

        @Override
        public void update(long value) {
            newest.update(value);
        }

        @Override
        public long getCount() {
            return newest.getCount();
        }

        @Override
        public HistogramStatistics getStatistics() {
            return newest.getStatistics();
        }
    }
}
