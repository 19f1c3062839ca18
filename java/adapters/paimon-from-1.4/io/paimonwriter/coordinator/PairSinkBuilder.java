package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.table.Table;

/** Paimon's sink builder. */
abstract class PairSinkBuilder extends FlinkSinkBuilder {

    PairSinkBuilder(Table table) {
        super(table);
    }
}
