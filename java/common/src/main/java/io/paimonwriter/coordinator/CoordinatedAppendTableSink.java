package io.paimonwriter.coordinator;

import static org.apache.paimon.flink.FlinkConnectorOptions.SINK_OPERATOR_UID_SUFFIX;
import static org.apache.paimon.flink.FlinkConnectorOptions.generateCustomUid;

import org.apache.flink.api.dag.Transformation;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.flink.utils.ParallelismUtils;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;

import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

/**
 * Paimon's sink for append tables, with the commit in the coordinator of the writer instead of in
 * an operator behind it.
 *
 * <p>Nothing follows the writer but a sink in its own chain that discards, so nothing joins the
 * writers and each of them stays in the failover region of what feeds it.
 */
public final class CoordinatedAppendTableSink extends PairAppendTableSink {

    private static final long serialVersionUID = 1L;

    private static final String WRITER_NAME = "Coordinated Writer";

    /** Only planning reads it; Paimon's committer factory takes this object into the job graph. */
    private final transient DataStream<?> input;

    CoordinatedAppendTableSink(
            FileStoreTable table,
            @Nullable Map<String, String> overwritePartition,
            @Nullable Integer parallelism,
            DataStream<?> input) {
        super(table, overwritePartition, parallelism);
        this.input = input;
    }

    /**
     * Called by Paimon while it plans, with the commit user that {@code sinkFrom} has drawn on the
     * client (h19).
     */
    @Override
    protected OneInputStreamOperatorFactory<InternalRow, Committable> createWriteOperatorFactory(
            StoreSinkWrite.Provider writeProvider, String commitUser) {
        return new PaimonWriterOperatorFactory(
                table,
                SinkParts.resolvingBlobDescriptors(table, writeProvider),
                CoordinatorOptions.settings(table, commitUser, writerName(), input),
                createCommitterFactory());
    }

    @Override
    public DataStream<Committable> doWrite(
            DataStream<InternalRow> input, String commitUser, @Nullable Integer parallelism) {
        DataStream<Committable> written = super.doWrite(input, commitUser, parallelism);
        OneInputTransformation<?, ?> writer = writerOf(written);
        writer.setName(writerName());
        // Two attempts of one writer at once would both report their files (s76).
        writer.setSupportsConcurrentExecutionAttempts(false);
        writer.setUid(unusedUid());
        return written;
    }

    @Override
    public DataStreamSink<?> doCommit(DataStream<Committable> written, String commitUser) {
        DataStreamSink<Committable> end =
                written.sinkTo(SinkParts.discardingSink(table)).name("end");
        // Not setParallelism: it would take the choice from the adaptive batch scheduler (s75).
        ParallelismUtils.forwardParallelism(end.getTransformation(), written);
        return end;
    }

    private String writerName() {
        return WRITER_NAME + " : " + table.name();
    }

    /**
     * Always a uid of our own. Flink's generated ids may well be the same with and without this
     * sink, and a savepoint would then be restored across the two, with what waits for its commit
     * in there left out without a word; with different ids Flink refuses (h26).
     *
     * <p>Without a suffix chosen by the user the table's location keeps the files of one table from
     * ever being restored into another. A number tells several sinks of one job apart; Flink plans
     * each job with an environment that holds the steps of this job only, so the numbers are the
     * same whenever the same job is planned.
     */
    private String unusedUid() {
        String suffix = Options.fromMap(table.options()).get(SINK_OPERATOR_UID_SUFFIX);
        String first =
                suffix != null
                        ? generateCustomUid(WRITER_NAME, table.name(), suffix)
                        : generateCustomUid(
                                WRITER_NAME, table.fullName(), table.location().toString());
        Set<String> used =
                input.getExecutionEnvironment().getTransformations().stream()
                        .map(Transformation::getUid)
                        .collect(Collectors.toSet());
        String uid = first;
        for (int number = 2; used.contains(uid); number++) {
            uid = first + "_" + number;
        }
        return uid;
    }

    /**
     * The preconditions refuse every option for which Paimon puts an operator behind the writer; if
     * it had one more of them, its output must not be thrown away.
     */
    private OneInputTransformation<?, ?> writerOf(DataStream<Committable> written) {
        if (written.getTransformation() instanceof OneInputTransformation) {
            OneInputTransformation<?, ?> last =
                    (OneInputTransformation<?, ?>) written.getTransformation();
            if (last.getOperatorFactory() instanceof PaimonWriterOperatorFactory) {
                return last;
            }
        }
        throw SinkPreconditions.refusal(
                table.fullName(),
                String.format(
                        "Paimon adds the operator '%s' between the writer and the commit",
                        written.getTransformation().getName()),
                "Remove the table option that asks for it");
    }
}
