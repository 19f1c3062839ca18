package io.paimonwriter.coordinator;

import org.apache.flink.metrics.MetricGroup;
import org.apache.paimon.flink.FlinkConnectorOptions;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;

import java.util.Collections;
import java.util.List;

import javax.annotation.Nullable;

/** Paimon's committer of one commit user, together with the state of its listeners. */
final class UserCommitter implements AutoCloseable {

    private final Committer<Committable, ManifestCommittable> committer;
    private final ListenerStates states;
    private final boolean markDoneWhenRecovering;

    /**
     * @param state what {@link #snapshotState} of a former committer returned, null if nothing
     */
    UserCommitter(
            Committer.Factory<Committable, ManifestCommittable> factory,
            FileStoreTable table,
            String commitUser,
            @Nullable MetricGroup metricGroup,
            boolean checkpointingEnabled,
            boolean restored,
            @Nullable byte[] state) {
        this.states = new ListenerStates(CommitterStates.decode(state));
        this.markDoneWhenRecovering =
                Options.fromMap(table.options())
                        .get(FlinkConnectorOptions.PARTITION_MARK_DONE_RECOVER_FROM_STATE);
        this.committer =
                factory.create(
                        states.context(commitUser, metricGroup, checkpointingEnabled, restored));
    }

    boolean forceCreatingSnapshot() {
        return committer.forceCreatingSnapshot();
    }

    /**
     * Commits unless the table already shows a commit of this user up to the identifier. Paimon
     * looks at the identifier only in this method, not in its plain commit (h08).
     *
     * @param recovering whether the commit repeats one from before a restore
     * @return whether the table did not show it yet
     */
    boolean filterAndCommit(
            long identifier, long watermark, List<Committable> committables, boolean recovering)
            throws Exception {
        return committer.filterAndCommit(
                        Collections.singletonList(
                                committer.combine(identifier, watermark, committables)),
                        true,
                        !recovering || markDoneWhenRecovering)
                > 0;
    }

    /** The committer's own state after its last commit, null if there is none. */
    @Nullable
    byte[] snapshotState() throws Exception {
        return CommitterStates.encode(states.snapshot(committer));
    }

    @Override
    public void close() throws Exception {
        committer.close();
    }
}
