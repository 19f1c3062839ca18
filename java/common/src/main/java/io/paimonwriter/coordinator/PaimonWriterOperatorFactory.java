package io.paimonwriter.coordinator;

import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEventGateway;
import org.apache.flink.streaming.api.operators.CoordinatedOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;

/** Makes the writers in the task managers and their coordinator in the job manager. */
public class PaimonWriterOperatorFactory extends PairWriteOperatorFactory
        implements CoordinatedOperatorFactory<Committable> {

    private static final long serialVersionUID = 1L;

    private final CoordinatorSettings settings;
    private final Committer.Factory<Committable, ManifestCommittable> committerFactory;

    public PaimonWriterOperatorFactory(
            FileStoreTable table,
            StoreSinkWrite.Provider writeProvider,
            CoordinatorSettings settings,
            Committer.Factory<Committable, ManifestCommittable> committerFactory) {
        super(table, writeProvider, settings.commitUser());
        this.settings = settings;
        this.committerFactory = committerFactory;
    }

    @Override
    public OperatorCoordinator.Provider getCoordinatorProvider(
            String operatorName, OperatorID operatorID) {
        return new PaimonWriterCoordinatorProvider(operatorID, settings, table, committerFactory);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends StreamOperator<Committable>> T createStreamOperator(
            StreamOperatorParameters<Committable> parameters) {
        OperatorID operatorId = parameters.getStreamConfig().getOperatorID();
        OperatorEventGateway eventGateway =
                parameters.getOperatorEventDispatcher().getOperatorEventGateway(operatorId);
        return (T)
                new PaimonWriterOperator(
                        parameters, table, storeSinkWriteProvider, settings, eventGateway);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader classLoader) {
        return PaimonWriterOperator.class;
    }
}
