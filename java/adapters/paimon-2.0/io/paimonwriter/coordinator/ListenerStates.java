package io.paimonwriter.coordinator;

import org.apache.flink.metrics.MetricGroup;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.flink.sink.state.MemoryBackendStateStore;
import org.apache.paimon.manifest.ManifestCommittable;

import java.util.Map;

import javax.annotation.Nullable;

/** The states of Paimon's commit listeners by name. Paimon 2.0 has a store of them in memory. */
final class ListenerStates {

    private final MemoryBackendStateStore store;

    ListenerStates(Map<String, byte[]> restored) {
        this.store = new MemoryBackendStateStore(restored);
    }

    /** For a committer whose listeners keep their state here. */
    Committer.Context context(
            String commitUser,
            @Nullable MetricGroup metricGroup,
            boolean checkpointingEnabled,
            boolean restored) {
        return Committer.createContext(
                commitUser, metricGroup, checkpointingEnabled, restored, store, 1, 0);
    }

    /** What that committer's listeners store now. */
    Map<String, byte[]> snapshot(Committer<Committable, ManifestCommittable> committer)
            throws Exception {
        committer.snapshotState();
        return store.getSerializedStates();
    }
}
