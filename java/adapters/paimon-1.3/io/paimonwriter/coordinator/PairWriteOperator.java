package io.paimonwriter.coordinator;

import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.NoopStoreSinkWriteState;
import org.apache.paimon.flink.sink.RowDataStoreWriteOperator;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.flink.sink.StoreSinkWriteState;
import org.apache.paimon.table.FileStoreTable;

/**
 * Paimon's append writer without state of Paimon's own: Flink declines every checkpoint in which a
 * writer with union state has finished (h21). Paimon 1.3 makes such a writer in its sink, for
 * itself.
 */
abstract class PairWriteOperator extends RowDataStoreWriteOperator {

    private static final long serialVersionUID = 1L;

    PairWriteOperator(
            StreamOperatorParameters<Committable> parameters,
            FileStoreTable table,
            StoreSinkWrite.Provider writeProvider,
            String commitUser) {
        super(parameters, table, null, writeProvider, commitUser);
    }

    @Override
    protected StoreSinkWriteState createState(
            int subtask,
            StateInitializationContext context,
            StoreSinkWriteState.StateValueFilter stateFilter) {
        return new NoopStoreSinkWriteState(subtask);
    }

    @Override
    protected String getCommitUser(StateInitializationContext context) {
        return initialCommitUser;
    }
}
