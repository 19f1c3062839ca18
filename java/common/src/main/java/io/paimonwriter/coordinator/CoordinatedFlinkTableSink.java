package io.paimonwriter.coordinator;

import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.paimon.table.Table;

import java.util.HashMap;

/** Paimon's table sink, which builds its stream with {@link PaimonCoordinatedSinkBuilder}. */
final class CoordinatedFlinkTableSink extends PairFlinkTableSink {

    CoordinatedFlinkTableSink(
            ObjectIdentifier tableIdentifier, Table table, DynamicTableFactory.Context context) {
        super(tableIdentifier, table, context);
    }

    @Override
    protected PaimonCoordinatedSinkBuilder createSinkBuilder() {
        return new PaimonCoordinatedSinkBuilder(table);
    }

    /** Paimon's own method would return Paimon's own sink. */
    @Override
    public DynamicTableSink copy() {
        CoordinatedFlinkTableSink copied =
                new CoordinatedFlinkTableSink(tableIdentifier, table, context);
        copied.staticPartitions = new HashMap<>(staticPartitions);
        copied.overwrite = overwrite;
        copied.deletePredicate = deletePredicate;
        return copied;
    }
}
