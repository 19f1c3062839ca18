package io.paimonwriter.coordinator.job;

import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;

import java.lang.reflect.Field;

/** What tests change in a job's graph. */
final class StreamGraphs {

    private StreamGraphs() {}

    static void setOperatorFactory(StreamNode node, StreamOperatorFactory<?> factory) {
        try {
            Field field = StreamNode.class.getDeclaredField("operatorFactory");
            field.setAccessible(true);
            field.set(node, factory);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Flink 1 draws a new job id for each run of a graph. */
    static void renewJobId(StreamGraph graph) {}
}
