package io.paimonwriter.coordinator;

import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.paimon.flink.sink.FlinkTableSink;
import org.apache.paimon.table.Table;

/** Paimon 1.3's table sink, without a log. */
abstract class PairFlinkTableSink extends FlinkTableSink {

    PairFlinkTableSink(
            ObjectIdentifier tableIdentifier, Table table, DynamicTableFactory.Context context) {
        // The preconditions refuse tables with one.
        super(tableIdentifier, table, context, null);
    }
}
