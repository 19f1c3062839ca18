package io.paimonwriter.coordinator.job;

import org.apache.flink.api.common.JobID;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;

/** What tests change in a job's graph. */
final class StreamGraphs {

    private StreamGraphs() {}

    static void setOperatorFactory(StreamNode node, StreamOperatorFactory<?> factory) {
        node.setOperatorFactory(factory);
    }

    /** Makes a graph that has run already one of another job. */
    static void renewJobId(StreamGraph graph) {
        graph.setJobId(new JobID());
    }
}
