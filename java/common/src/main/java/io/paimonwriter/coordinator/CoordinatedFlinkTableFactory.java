package io.paimonwriter.coordinator;

import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.paimon.flink.FlinkCatalog;
import org.apache.paimon.flink.FlinkTableFactory;
import org.apache.paimon.flink.FormatCatalogTable;
import org.apache.paimon.flink.source.FlinkTableSource;
import org.apache.paimon.table.Table;

/** Paimon's table factory, with the coordinated sink for tables whose options ask for it. */
final class CoordinatedFlinkTableFactory extends FlinkTableFactory {

    CoordinatedFlinkTableFactory(FlinkCatalog catalog) {
        super(catalog);
    }

    @Override
    public String factoryIdentifier() {
        return CoordinatedFlinkCatalogFactory.IDENTIFIER;
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        String tableName = context.getObjectIdentifier().asSummaryString();
        CatalogTable origin = context.getCatalogTable().getOrigin();
        if (origin instanceof FormatCatalogTable) {
            checkFormatTable(tableName, (FormatCatalogTable) origin);
            return super.createDynamicTableSink(context);
        }
        Table table = paimonTable(context);
        return CoordinatorOptions.isEnabled(tableName, table.options())
                ? new CoordinatedFlinkTableSink(context.getObjectIdentifier(), table, context)
                : super.createDynamicTableSink(context);
    }

    /**
     * @throws ValidationException if the coordinated sink is asked for this table
     */
    static void checkFormatTable(String tableName, FormatCatalogTable table) {
        // The catalog table hides all options but those of the format.
        if (CoordinatorOptions.isEnabled(tableName, table.table().options())) {
            throw SinkPreconditions.formatTable(tableName);
        }
    }

    /**
     * The table as Paimon sees it, with hints and dynamic options of the job applied. Paimon's sink
     * keeps it to itself; its source is made of the same table and shows it.
     */
    private Table paimonTable(Context context) {
        return ((FlinkTableSource) super.createDynamicTableSource(context)).getTable();
    }
}
