package io.paimonwriter.coordinator;

import org.apache.flink.metrics.MetricGroup;
import org.apache.paimon.Snapshot;
import org.apache.paimon.flink.FlinkConnectorOptions;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.flink.sink.state.MemoryBackendStateStore;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.ScanMode;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import javax.annotation.Nullable;

/** Paimon 2.0's committer of one commit user, together with the state of its listeners. */
final class PairCommitter implements AutoCloseable {

    private final Committer<Committable, ManifestCommittable> committer;
    private final FileStoreTable table;
    private final MemoryBackendStateStore stateStore;
    private final boolean markDoneWhenRecovering;

    /**
     * @param state what {@link #snapshotState} of a former committer returned, null if nothing
     */
    PairCommitter(
            Committer.Factory<Committable, ManifestCommittable> factory,
            FileStoreTable table,
            String commitUser,
            @Nullable MetricGroup metricGroup,
            boolean checkpointingEnabled,
            boolean restored,
            @Nullable byte[] state) {
        this.table = table;
        this.stateStore = new MemoryBackendStateStore(CommitterStates.decode(state));
        this.markDoneWhenRecovering =
                Options.fromMap(table.options())
                        .get(FlinkConnectorOptions.PARTITION_MARK_DONE_RECOVER_FROM_STATE);
        this.committer =
                factory.create(
                        Committer.createContext(
                                commitUser,
                                metricGroup,
                                checkpointingEnabled,
                                restored,
                                stateStore,
                                1,
                                0));
    }

    boolean forceCreatingSnapshot() {
        return committer.forceCreatingSnapshot();
    }

    /**
     * Commits unless the table already shows a commit of this user up to the identifier. Paimon
     * looks at the identifier only in this method, not in its plain commit (h08).
     *
     * @param recovering whether the commit repeats one from before a restore
     */
    void filterAndCommit(
            long identifier, long watermark, List<Committable> committables, boolean recovering)
            throws Exception {
        committer.filterAndCommit(
                Collections.singletonList(committer.combine(identifier, watermark, committables)),
                true,
                !recovering || markDoneWhenRecovering);
    }

    /**
     * Commits once more what is in the table already. That makes no snapshot; what follows one is
     * done again: Paimon's commit callbacks, for example the partitions of a metastore, and the
     * listeners that mark partitions as done.
     */
    void repeat(Snapshot snapshot) throws Exception {
        List<Committable> committables = new ArrayList<>();
        for (ManifestEntry entry :
                table.store()
                        .newScan()
                        .withSnapshot(snapshot)
                        .withKind(ScanMode.DELTA)
                        .plan()
                        .files(FileKind.ADD)) {
            CommitMessage message =
                    new CommitMessageImpl(
                            entry.partition(),
                            entry.bucket(),
                            entry.totalBuckets(),
                            new DataIncrement(
                                    Collections.singletonList(entry.file()),
                                    Collections.emptyList(),
                                    Collections.emptyList()),
                            CompactIncrement.emptyIncrement());
            committables.add(new Committable(snapshot.commitIdentifier(), message));
        }
        long watermark = snapshot.watermark() == null ? Long.MIN_VALUE : snapshot.watermark();
        filterAndCommit(snapshot.commitIdentifier(), watermark, committables, false);
    }

    /** The committer's own state after its last commit, null if there is none. */
    @Nullable
    byte[] snapshotState() throws Exception {
        committer.snapshotState();
        return CommitterStates.encode(stateStore.getSerializedStates());
    }

    @Override
    public void close() throws Exception {
        committer.close();
    }
}
