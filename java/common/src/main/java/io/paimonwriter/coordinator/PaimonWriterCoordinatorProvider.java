package io.paimonwriter.coordinator;

import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;

/** Carries what the coordinator needs in the job graph, and makes the coordinator from it. */
public final class PaimonWriterCoordinatorProvider implements OperatorCoordinator.Provider {

    private static final long serialVersionUID = 1L;

    private final OperatorID operatorId;
    private final CoordinatorSettings settings;
    private final FileStoreTable table;
    private final Committer.Factory<Committable, ManifestCommittable> committerFactory;

    public PaimonWriterCoordinatorProvider(
            OperatorID operatorId,
            CoordinatorSettings settings,
            FileStoreTable table,
            Committer.Factory<Committable, ManifestCommittable> committerFactory) {
        this.operatorId = operatorId;
        this.settings = settings;
        this.table = table;
        this.committerFactory = committerFactory;
    }

    @Override
    public OperatorID getOperatorId() {
        return operatorId;
    }

    @Override
    public OperatorCoordinator create(OperatorCoordinator.Context context) {
        return new PaimonWriterCoordinator(
                context, settings, table, committerFactory, NativeCoordinator.INSTANCE);
    }
}
