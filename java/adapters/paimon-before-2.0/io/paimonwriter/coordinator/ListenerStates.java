package io.paimonwriter.coordinator;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.metrics.MetricGroup;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.manifest.ManifestCommittable;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * The operator states of Paimon's commit listeners, kept in memory and written out by name: a
 * coordinator has no operator state.
 */
final class ListenerStates {

    private final Map<String, byte[]> restored;
    private final Map<String, State<?>> states = new HashMap<>();

    ListenerStates(Map<String, byte[]> restored) {
        this.restored = restored;
    }

    /** For a committer whose listeners keep their state here. */
    Committer.Context context(
            String commitUser,
            @Nullable MetricGroup metricGroup,
            boolean checkpointingEnabled,
            boolean restored) {
        return Committer.createContext(
                commitUser,
                metricGroup == null ? null : new CommitterMetrics(metricGroup),
                checkpointingEnabled,
                restored,
                store(),
                1,
                0);
    }

    /** What that committer's listeners store now. */
    Map<String, byte[]> snapshot(Committer<Committable, ManifestCommittable> committer)
            throws Exception {
        // Paimon's operator groups its committables for each checkpoint, and with that the
        // listeners store their state.
        committer.groupByCheckpoint(Collections.emptyList());
        return serialize();
    }

    /**
     * A store of list states and of nothing else. Flink's lines have different methods in this
     * interface; Paimon calls the one that all of them have.
     */
    private OperatorStateStore store() {
        return (OperatorStateStore)
                Proxy.newProxyInstance(
                        ListenerStates.class.getClassLoader(),
                        new Class<?>[] {OperatorStateStore.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().equals("getListState")
                                    && arguments[0] instanceof ListStateDescriptor) {
                                return listState((ListStateDescriptor<?>) arguments[0]);
                            }
                            throw new UnsupportedOperationException(
                                    "A commit listener asked its state store for " + method);
                        });
    }

    private <T> ListState<T> listState(ListStateDescriptor<T> descriptor) throws IOException {
        State<T> state = new State<>(descriptor.getElementSerializer());
        byte[] bytes = restored.get(descriptor.getName());
        if (bytes != null) {
            state.read(bytes);
        }
        states.put(descriptor.getName(), state);
        return state;
    }

    /** All states that are not empty, by name. */
    private Map<String, byte[]> serialize() throws IOException {
        // What nobody has asked for is kept for a listener that another restart brings back.
        Map<String, byte[]> serialized = new HashMap<>(restored);
        for (Map.Entry<String, State<?>> state : states.entrySet()) {
            serialized.remove(state.getKey());
            if (!state.getValue().elements.isEmpty()) {
                serialized.put(state.getKey(), state.getValue().write());
            }
        }
        return serialized;
    }

    /** Its bytes: i32 count, then the elements as their serializer writes them. */
    private static final class State<T> implements ListState<T> {

        private final TypeSerializer<T> serializer;
        private final List<T> elements = new ArrayList<>();

        private State(TypeSerializer<T> serializer) {
            this.serializer = serializer;
        }

        private void read(byte[] bytes) throws IOException {
            DataInputDeserializer in = new DataInputDeserializer(bytes);
            for (int left = in.readInt(); left > 0; left--) {
                elements.add(serializer.deserialize(in));
            }
        }

        private byte[] write() throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(128);
            out.writeInt(elements.size());
            for (T element : elements) {
                serializer.serialize(element, out);
            }
            return out.getCopyOfBuffer();
        }

        @Override
        public Iterable<T> get() {
            return elements;
        }

        @Override
        public void add(T element) {
            elements.add(element);
        }

        @Override
        public void addAll(List<T> more) {
            elements.addAll(more);
        }

        @Override
        public void update(List<T> replacement) {
            List<T> copied = new ArrayList<>(replacement);
            elements.clear();
            elements.addAll(copied);
        }

        @Override
        public void clear() {
            elements.clear();
        }
    }
}
