package io.paimonwriter.coordinator;

import org.apache.flink.api.common.JobID;
import org.apache.flink.metrics.groups.OperatorCoordinatorMetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.CoordinatorStore;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Flink as a coordinator sees it, with parallelism 2 unless another is given. */
class FakeContext implements OperatorCoordinator.Context {

    private final int parallelism;

    final BlockingQueue<Throwable> failures = new LinkedBlockingQueue<>();

    /** Whether failing the job is refused, as Flink does after it has disposed of a coordinator. */
    volatile boolean disposed;

    FakeContext() {
        this(2);
    }

    FakeContext(int parallelism) {
        this.parallelism = parallelism;
    }

    @Override
    public void failJob(Throwable cause) {
        if (disposed) {
            throw new IllegalStateException("Context was not yet initialized");
        }
        failures.add(cause);
    }

    @Override
    public int currentParallelism() {
        return parallelism;
    }

    @Override
    public ClassLoader getUserCodeClassloader() {
        return getClass().getClassLoader();
    }

    @Override
    public OperatorCoordinatorMetricGroup metricGroup() {
        return new UnregisteredCoordinatorGroup();
    }

    /** Flink 1.20 has no such method. */
    public JobID getJobID() {
        throw new UnsupportedOperationException("Flink 1.20 has no such method");
    }

    @Override
    public OperatorID getOperatorId() {
        return new OperatorID();
    }

    @Override
    public CoordinatorStore getCoordinatorStore() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isConcurrentExecutionAttemptsSupported() {
        return false;
    }

    @Override
    public CheckpointCoordinator getCheckpointCoordinator() {
        return null;
    }

    private static final class UnregisteredCoordinatorGroup extends UnregisteredMetricsGroup
            implements OperatorCoordinatorMetricGroup {}
}
