package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.StatelessRowDataStoreWriteOperator;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.FileStoreTable;

/**
 * Paimon's append writer without state of Paimon's own: Flink declines every checkpoint in which a
 * writer with union state has finished (h21). Paimon 2.0 has such a writer.
 */
abstract class PairWriteOperator extends StatelessRowDataStoreWriteOperator {

    private static final long serialVersionUID = 1L;

    PairWriteOperator(
            StreamOperatorParameters<Committable> parameters,
            FileStoreTable table,
            StoreSinkWrite.Provider writeProvider,
            String commitUser) {
        super(parameters, table, writeProvider, commitUser);
    }
}
