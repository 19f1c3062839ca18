package io.paimonwriter.coordinator;

import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.paimon.flink.sink.FlinkTableSink;
import org.apache.paimon.table.Table;

/** Paimon's table sink. */
abstract class PairFlinkTableSink extends FlinkTableSink {

    PairFlinkTableSink(
            ObjectIdentifier tableIdentifier, Table table, DynamicTableFactory.Context context) {
        super(tableIdentifier, table, context);
    }
}
