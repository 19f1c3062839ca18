package io.paimonwriter.coordinator;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.flink.FlinkCatalog;
import org.apache.paimon.options.Options;

/** Paimon 1.3's catalog. */
abstract class PairFlinkCatalog extends FlinkCatalog {

    PairFlinkCatalog(
            Catalog catalog,
            String name,
            String defaultDatabase,
            ClassLoader classLoader,
            Options options) {
        super(catalog, name, defaultDatabase, classLoader, options);
    }
}
