package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.RowDataStoreWriteOperator;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.FileStoreTable;

/** Paimon 1.3's factory of append writers; other versions take other arguments. */
abstract class PairWriteOperatorFactory extends RowDataStoreWriteOperator.Factory {

    private static final long serialVersionUID = 1L;

    PairWriteOperatorFactory(
            FileStoreTable table, StoreSinkWrite.Provider writeProvider, String commitUser) {
        super(table, null, writeProvider, commitUser);
    }
}
