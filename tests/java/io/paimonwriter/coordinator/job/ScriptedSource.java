package io.paimonwriter.coordinator.job;

import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.table.data.RowData;

import java.util.List;

/**
 * A parallel source of rows (id BIGINT, subtask INT, payload STRING) whose every step is decided by
 * a {@link SourceScript}, with exactly-once positions.
 */
final class ScriptedSource implements Source<RowData, ScriptedSplit, List<ScriptedSplit>> {

    private static final long serialVersionUID = 1L;

    private final String scriptKey;
    private final int splitCount;
    private final boolean bounded;

    ScriptedSource(SourceScript script) {
        scriptKey = script.key();
        splitCount = script.splitCount();
        bounded = script.isBounded();
    }

    /**
     * The source may always be ended by its script, but unless that says so Flink believes that it
     * goes on for ever.
     */
    @Override
    public Boundedness getBoundedness() {
        return bounded ? Boundedness.BOUNDED : Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<RowData, ScriptedSplit> createReader(SourceReaderContext context) {
        return new ScriptedSourceReader(SourceScript.of(scriptKey));
    }

    @Override
    public SplitEnumerator<ScriptedSplit, List<ScriptedSplit>> createEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context) {
        return restoreEnumerator(context, ScriptedSplit.unread(splitCount));
    }

    @Override
    public SplitEnumerator<ScriptedSplit, List<ScriptedSplit>> restoreEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context, List<ScriptedSplit> unassigned) {
        return new ScriptedSourceEnumerator(context, SourceScript.of(scriptKey), unassigned);
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
