package io.paimonwriter.coordinator;

import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.flink.FlinkCatalog;
import org.apache.paimon.flink.FlinkCatalogFactory;
import org.apache.paimon.flink.FlinkFileIOLoader;
import org.apache.paimon.options.Options;

/**
 * Makes catalogs with {@code 'type' = 'paimon-coordinated'}. All other options are those of
 * Paimon's own catalog, and both kinds may be used on the same warehouse.
 */
public final class CoordinatedFlinkCatalogFactory extends FlinkCatalogFactory {

    public static final String IDENTIFIER = "paimon-coordinated";

    @Override
    public String factoryIdentifier() {
        return IDENTIFIER;
    }

    @Override
    public FlinkCatalog createCatalog(Context context) {
        SupportedPair.check();
        return CoordinatedFlinkCatalog.create(
                context.getName(),
                CatalogContext.create(
                        Options.fromMap(context.getOptions()), new FlinkFileIOLoader()),
                context.getClassLoader());
    }
}
