package io.paimonwriter.coordinator;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.FormatCatalogTable;
import org.apache.paimon.flink.sink.FlinkSinkBuilder;
import org.apache.paimon.flink.sink.RowAppendTableSink;
import org.apache.paimon.table.FileStoreTable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import javax.annotation.Nullable;

/**
 * What Paimon's own classes call in the drop-in jar, in which they have been patched; {@code
 * java/drop-in.gradle} says where each call stands.
 */
public final class DropIn {

    private static final String BUILDER =
            FlinkSinkBuilder.class.getName().replace('.', '/') + ".class";

    private DropIn() {}

    /**
     * Called by {@code FlinkSinkBuilder.build()} before it does anything.
     *
     * @throws org.apache.flink.table.api.ValidationException if the coordinated sink is asked for
     *     and cannot write this table in this job
     */
    public static void beforeBuild(
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            DataStream<RowData> input) {
        if (isEnabled(table)) {
            SupportedPair.check();
            checkNoOtherPaimon(table.fullName(), FlinkSinkBuilder.class.getClassLoader());
            SinkPreconditions.check(table, overwritePartition, input);
        }
    }

    /** Called by {@code FlinkSinkBuilder.build()} in place of {@code sink.sinkFrom(rows)}. */
    public static DataStreamSink<?> sinkFrom(
            RowAppendTableSink sink,
            DataStream<InternalRow> rows,
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            @Nullable Integer parallelism) {
        return isEnabled(table)
                ? new CoordinatedAppendTableSink(table, overwritePartition, parallelism, rows)
                        .sinkFrom(rows)
                : sink.sinkFrom(rows);
    }

    /**
     * Called by {@code FlinkTableFactory.createDynamicTableSink} before it does anything: format
     * tables never reach the sink builder.
     *
     * @throws org.apache.flink.table.api.ValidationException if the coordinated sink is asked for a
     *     format table
     */
    public static void beforeTableSink(DynamicTableFactory.Context context) {
        CatalogTable origin = context.getCatalogTable().getOrigin();
        if (origin instanceof FormatCatalogTable) {
            CoordinatedFlinkTableFactory.checkFormatTable(
                    context.getObjectIdentifier().asSummaryString(), (FormatCatalogTable) origin);
        }
    }

    /**
     * Which of two jars with Paimon's classes is taken depends on their order, which may be another
     * on the next machine; and without the patched ones the option would do nothing.
     */
    static void checkNoOtherPaimon(String tableName, ClassLoader paimons) {
        List<URL> builders;
        try {
            builders = Collections.list(paimons.getResources(BUILDER));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (builders.size() > 1) {
            throw SinkPreconditions.refusal(
                    tableName,
                    String.format("Paimon is there %d times, in %s", builders.size(), builders),
                    "Leave one jar with Paimon in it, the one whose name begins with"
                            + " paimon-coordinated");
        }
    }

    private static boolean isEnabled(FileStoreTable table) {
        return CoordinatorOptions.isEnabled(table.fullName(), table.options());
    }
}
