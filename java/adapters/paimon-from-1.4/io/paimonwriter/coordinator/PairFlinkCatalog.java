package io.paimonwriter.coordinator;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.flink.FlinkCatalog;
import org.apache.paimon.options.Options;

/** Paimon's catalog, which needs no class loader from 1.4 on. */
abstract class PairFlinkCatalog extends FlinkCatalog {

    PairFlinkCatalog(
            Catalog catalog,
            String name,
            String defaultDatabase,
            ClassLoader classLoader,
            Options options) {
        super(catalog, name, defaultDatabase, options);
    }
}
