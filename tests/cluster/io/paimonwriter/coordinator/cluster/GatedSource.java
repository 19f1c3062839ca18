package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.ScriptedSplit;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.VarCharType;

import java.util.List;
import java.util.TreeSet;

/**
 * A bounded source of rows (id BIGINT, subtask INT, payload STRING) with one split for each
 * subtask. A split's last row is held back until its gate opens.
 */
class GatedSource implements Source<RowData, ScriptedSplit, List<ScriptedSplit>> {

    private static final long serialVersionUID = 1L;

    /** Row n of split s has the id s * STRIDE + n, so that a missing id tells where it belongs. */
    static final long STRIDE = 1_000_000_000L;

    final String name;
    final Gates gates;
    final int splitCount;
    private final long rowsPerSplit;

    /** How long a reader rests after each row until the split's gate opens. */
    final long pauseMillis;

    GatedSource(String name, Gates gates, int splitCount, long rowsPerSplit) {
        this(name, gates, splitCount, rowsPerSplit, 0);
    }

    GatedSource(String name, Gates gates, int splitCount, long rowsPerSplit, long pauseMillis) {
        this.name = name;
        this.gates = gates;
        this.splitCount = splitCount;
        this.rowsPerSplit = rowsPerSplit;
        this.pauseMillis = pauseMillis;
    }

    /** Lets the split end. */
    void open(int split) throws Exception {
        gates.open(gate(split));
    }

    /** Lets all splits end. */
    void openAll() throws Exception {
        for (int split = 0; split < splitCount; split++) {
            open(split);
        }
    }

    /** How many rows of the split may be emitted by now. */
    long released(int split) {
        return gates.isOpen(gate(split)) ? rowsPerSplit : rowsPerSplit - 1;
    }

    /** Whether the reader of the split rests after each row. */
    boolean rests(int split) {
        return pauseMillis > 0 && !gates.isOpen(gate(split));
    }

    /** How many rows each split has when it ends. */
    long length() {
        return rowsPerSplit;
    }

    /** The gate that holds back the last row of a split. */
    String gate(int split) {
        return "gate-of-" + name + "-" + split;
    }

    /** How often the reader of each split has started. */
    List<Integer> starts() throws Exception {
        return gates.starts(name, splitCount);
    }

    /** The ids of all rows. */
    TreeSet<Long> ids() {
        TreeSet<Long> ids = new TreeSet<>();
        for (int split = 0; split < splitCount; split++) {
            for (long row = 0; row < rowsPerSplit; row++) {
                ids.add(split * STRIDE + row);
            }
        }
        return ids;
    }

    /** The rows as a stream, with one subtask for each split. */
    DataStream<RowData> rows(StreamExecutionEnvironment environment) {
        return rows(environment, splitCount);
    }

    /** The same with another number of subtasks. */
    DataStream<RowData> rows(StreamExecutionEnvironment environment, int parallelism) {
        return environment
                .fromSource(
                        this,
                        WatermarkStrategy.noWatermarks(),
                        name,
                        InternalTypeInfo.ofFields(
                                new BigIntType(),
                                new IntType(),
                                new VarCharType(VarCharType.MAX_LENGTH)))
                .uid(name)
                .setParallelism(parallelism);
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<RowData, ScriptedSplit> createReader(SourceReaderContext context) {
        return new GatedSourceReader(this, context.getIndexOfSubtask());
    }

    @Override
    public SplitEnumerator<ScriptedSplit, List<ScriptedSplit>> createEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context) {
        return restoreEnumerator(context, ScriptedSplit.unread(splitCount));
    }

    @Override
    public SplitEnumerator<ScriptedSplit, List<ScriptedSplit>> restoreEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context, List<ScriptedSplit> unassigned) {
        return new GatedSourceEnumerator(context, unassigned);
    }

    @Override
    public SimpleVersionedSerializer<ScriptedSplit> getSplitSerializer() {
        return new ScriptedSplit.Serializer();
    }

    @Override
    public SimpleVersionedSerializer<List<ScriptedSplit>> getEnumeratorCheckpointSerializer() {
        return new ScriptedSplit.ListSerializer();
    }
}
