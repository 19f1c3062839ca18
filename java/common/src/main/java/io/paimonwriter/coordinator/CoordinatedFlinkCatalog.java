package io.paimonwriter.coordinator;

import org.apache.flink.table.factories.Factory;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.flink.FlinkCatalogOptions;
import org.apache.paimon.options.Options;

import java.util.Optional;

/** Paimon's catalog, whose tables may have the coordinated sink. */
public final class CoordinatedFlinkCatalog extends PairFlinkCatalog {

    private CoordinatedFlinkCatalog(
            Catalog catalog,
            String name,
            String defaultDatabase,
            ClassLoader classLoader,
            Options options) {
        super(catalog, name, defaultDatabase, classLoader, options);
    }

    static CoordinatedFlinkCatalog create(
            String name, CatalogContext context, ClassLoader classLoader) {
        return new CoordinatedFlinkCatalog(
                CatalogFactory.createCatalog(context, classLoader),
                name,
                context.options().get(FlinkCatalogOptions.DEFAULT_DATABASE),
                classLoader,
                context.options());
    }

    @Override
    public Optional<Factory> getFactory() {
        return Optional.of(new CoordinatedFlinkTableFactory(this));
    }
}
