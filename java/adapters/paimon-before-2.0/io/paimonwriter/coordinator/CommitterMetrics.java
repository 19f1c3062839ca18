package io.paimonwriter.coordinator;

import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.OperatorIOMetricGroup;
import org.apache.flink.metrics.groups.OperatorMetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.metrics.groups.ProxyMetricGroup;

/** The coordinator's metric group as Paimon's committer wants it: as if it were an operator's. */
final class CommitterMetrics extends ProxyMetricGroup<MetricGroup> implements OperatorMetricGroup {

    CommitterMetrics(MetricGroup group) {
        super(group);
    }

    /** Records in and out are those of an operator, which there is none. */
    @Override
    public OperatorIOMetricGroup getIOMetricGroup() {
        return UnregisteredMetricsGroup.createOperatorIOMetricGroup();
    }
}
