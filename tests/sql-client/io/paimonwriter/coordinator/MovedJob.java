package io.paimonwriter.coordinator;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.fs.Path;
import org.apache.paimon.table.Table;

/** A user's job that writes 0, 1, 2 … to the table default.events of a warehouse. */
public final class MovedJob {

    private MovedJob() {}

    /** The warehouse. */
    public static void main(String[] arguments) throws Exception {
        Table table =
                CatalogFactory.createCatalog(CatalogContext.create(new Path(arguments[0])))
                        .getTable(Identifier.create("default", "events"));
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        DataGeneratorSource<RowData> source =
                new DataGeneratorSource<>(
                        (GeneratorFunction<Long, RowData>)
                                id -> GenericRowData.of(id, StringData.fromString("row " + id)),
                        Long.MAX_VALUE,
                        RateLimiterStrategy.perSecond(100),
                        InternalTypeInfo.ofFields(
                                new BigIntType(), new VarCharType(VarCharType.MAX_LENGTH)));
        new FlinkSinkBuilder(table)
                .forRowData(
                        environment
                                .fromSource(source, WatermarkStrategy.noWatermarks(), "ids")
                                .uid("ids"))
                .build();
        environment.execute();
    }
}
