package io.paimonwriter.coordinator.job;

import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.CoordinationRequest;
import org.apache.flink.runtime.operators.coordination.CoordinationRequestHandler;
import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.CoordinatedOperatorFactory;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.Committable;

import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Loses the events of one writer's first attempt on their way to its coordinator. Inside one JVM no
 * message is ever lost, so this stands at the coordinator's door and turns them away: the writer
 * believes to have sent them, as it would when a connection breaks.
 */
final class LossyLink {

    private static final int NOBODY = -1;
    private static final Map<String, LossyLink> LINKS = new ConcurrentHashMap<>();

    private final String key = UUID.randomUUID().toString();
    private final Queue<OperatorEvent> lost = new ConcurrentLinkedQueue<>();
    private volatile int losingSubtask = NOBODY;
    private volatile boolean delayed;

    static LossyLink create() {
        LossyLink link = new LossyLink();
        LINKS.put(link.key, link);
        return link;
    }

    /** From now on the events of this subtask's first attempt are lost; a restart gets through. */
    void loseEventsOf(int losing) {
        losingSubtask = losing;
    }

    /** As {@link #loseEventsOf}, but they arrive after the first event of the next attempt. */
    void delayEventsOf(int losing) {
        delayed = true;
        losingSubtask = losing;
    }

    /** How many events are lost or still to arrive. */
    int lost() {
        return lost.size();
    }

    /** The environment's job, with this link between its writers and their coordinator. */
    @SuppressWarnings("unchecked")
    StreamGraph insertInto(StreamExecutionEnvironment environment) {
        StreamGraph graph = environment.getStreamGraph();
        for (StreamNode node : graph.getStreamNodes()) {
            if (node.getOperatorName().contains(RunningJob.WRITER)
                    && node.getOperatorFactory() instanceof CoordinatedOperatorFactory) {
                StreamGraphs.setOperatorFactory(
                        node,
                        new LossyWriterFactory(
                                key,
                                (OneInputStreamOperatorFactory<InternalRow, Committable>)
                                        node.getOperatorFactory()));
                return graph;
            }
        }
        throw new AssertionError("The job has no writer with a coordinator.");
    }

    private static final class LossyWriterFactory extends AbstractStreamOperatorFactory<Committable>
            implements OneInputStreamOperatorFactory<InternalRow, Committable>,
                    CoordinatedOperatorFactory<Committable> {

        private static final long serialVersionUID = 1L;

        private final String linkKey;
        private final OneInputStreamOperatorFactory<InternalRow, Committable> writer;

        LossyWriterFactory(
                String linkKey, OneInputStreamOperatorFactory<InternalRow, Committable> writer) {
            this.linkKey = linkKey;
            this.writer = writer;
            setChainingStrategy(writer.getChainingStrategy());
        }

        @Override
        public <T extends StreamOperator<Committable>> T createStreamOperator(
                StreamOperatorParameters<Committable> parameters) {
            return writer.createStreamOperator(parameters);
        }

        @Override
        @SuppressWarnings("rawtypes")
        public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
            return writer.getStreamOperatorClass(loader);
        }

        @Override
        public OperatorCoordinator.Provider getCoordinatorProvider(
                String operatorName, OperatorID operatorId) {
            return new LossyProvider(
                    linkKey,
                    ((CoordinatedOperatorFactory<?>) writer)
                            .getCoordinatorProvider(operatorName, operatorId));
        }
    }

    private static final class LossyProvider implements OperatorCoordinator.Provider {

        private static final long serialVersionUID = 1L;

        private final String linkKey;
        private final OperatorCoordinator.Provider provider;

        LossyProvider(String linkKey, OperatorCoordinator.Provider provider) {
            this.linkKey = linkKey;
            this.provider = provider;
        }

        @Override
        public OperatorID getOperatorId() {
            return provider.getOperatorId();
        }

        @Override
        public OperatorCoordinator create(OperatorCoordinator.Context context) throws Exception {
            return new LossyCoordinator(LINKS.get(linkKey), provider.create(context));
        }
    }

    private static final class LossyCoordinator
            implements OperatorCoordinator, CoordinationRequestHandler {

        private final LossyLink link;
        private final OperatorCoordinator coordinator;

        LossyCoordinator(LossyLink link, OperatorCoordinator coordinator) {
            this.link = link;
            this.coordinator = coordinator;
        }

        @Override
        public void handleEventFromOperator(int subtask, int attempt, OperatorEvent event)
                throws Exception {
            boolean concerned = subtask == link.losingSubtask;
            if (concerned && attempt == 0) {
                link.lost.add(event);
                return;
            }
            coordinator.handleEventFromOperator(subtask, attempt, event);
            while (concerned && link.delayed && !link.lost.isEmpty()) {
                coordinator.handleEventFromOperator(subtask, 0, link.lost.remove());
            }
        }

        @Override
        public CompletableFuture<CoordinationResponse> handleCoordinationRequest(
                CoordinationRequest request) {
            return ((CoordinationRequestHandler) coordinator).handleCoordinationRequest(request);
        }

        @Override
        public void start() throws Exception {
            coordinator.start();
        }

        @Override
        public void close() throws Exception {
            coordinator.close();
        }

        @Override
        public void checkpointCoordinator(long checkpointId, CompletableFuture<byte[]> result)
                throws Exception {
            coordinator.checkpointCoordinator(checkpointId, result);
        }

        @Override
        public void notifyCheckpointComplete(long checkpointId) {
            coordinator.notifyCheckpointComplete(checkpointId);
        }

        @Override
        public void notifyCheckpointAborted(long checkpointId) {
            coordinator.notifyCheckpointAborted(checkpointId);
        }

        @Override
        public void resetToCheckpoint(long checkpointId, byte[] state) throws Exception {
            coordinator.resetToCheckpoint(checkpointId, state);
        }

        @Override
        public void subtaskReset(int subtask, long checkpointId) {
            coordinator.subtaskReset(subtask, checkpointId);
        }

        @Override
        public void executionAttemptFailed(int subtask, int attempt, Throwable reason) {
            coordinator.executionAttemptFailed(subtask, attempt, reason);
        }

        @Override
        public void executionAttemptReady(int subtask, int attempt, SubtaskGateway gateway) {
            coordinator.executionAttemptReady(subtask, attempt, gateway);
        }
    }
}
