package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.LogFlinkSinkBuilder;
import org.apache.paimon.table.Table;

/** Paimon 1.3's sink builder as its table sink wants it: one that can write a log as well. */
abstract class PairSinkBuilder extends LogFlinkSinkBuilder {

    PairSinkBuilder(Table table) {
        super(table);
    }
}
