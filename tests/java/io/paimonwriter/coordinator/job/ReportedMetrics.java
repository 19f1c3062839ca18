package io.paimonwriter.coordinator.job;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

/** What a test cluster's metric reporter was given: the metrics of one sink's coordinator. */
final class ReportedMetrics {

    private static final Queue<Reported> ALL = new ConcurrentLinkedQueue<>();

    private final String jobId;
    private final String table;

    ReportedMetrics(RunningJob job, AppendTable table) {
        this.jobId = job.id().toString();
        this.table = table.name();
    }

    static void reportFrom(Configuration configuration) {
        configuration.setString("metrics.reporters", "test");
        configuration.setString("metrics.reporter.test.factory.class", Factory.class.getName());
    }

    /** The value of the only metric of this name that is reported now. */
    long value(String name) {
        List<Reported> found =
                ALL.stream().filter(it -> it.is(jobId, table, name)).collect(Collectors.toList());
        if (found.size() != 1) {
            throw new AssertionError(found.size() + " metrics " + name + " are reported");
        }
        return found.get(0).value();
    }

    void await(String name, long expected) {
        Await.until(
                name + " is " + expected,
                Duration.ofSeconds(30),
                () -> value(name) == expected,
                () -> "It is " + value(name));
    }

    private static final class Reported {

        private final Metric metric;
        private final String identifier;
        private final Map<String, String> variables;

        private Reported(Metric metric, String name, MetricGroup group) {
            this.metric = metric;
            this.identifier = group.getMetricIdentifier(name);
            this.variables = group.getAllVariables();
        }

        private boolean is(String jobId, String table, String name) {
            return identifier.contains(".coordinator.")
                    && identifier.endsWith("." + name)
                    && variables.getOrDefault("<job_id>", "").equals(jobId)
                    && variables.getOrDefault("<table>", "").equals(table);
        }

        private long value() {
            return metric instanceof Counter
                    ? ((Counter) metric).getCount()
                    : ((Number) ((Gauge<?>) metric).getValue()).longValue();
        }
    }

    private static final class Reporter implements MetricReporter {

        @Override
        public void open(MetricConfig config) {}

        @Override
        public void close() {}

        @Override
        public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
            ALL.add(new Reported(metric, name, group));
        }

        @Override
        public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
            ALL.removeIf(reported -> reported.metric == metric);
        }
    }

    /** Flink finds it as a service. */
    public static final class Factory implements MetricReporterFactory {

        @Override
        public MetricReporter createMetricReporter(Properties properties) {
            return new Reporter();
        }
    }
}
