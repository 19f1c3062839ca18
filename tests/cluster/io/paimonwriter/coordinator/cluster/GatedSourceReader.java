package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.ScriptedSplit;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Emits the rows of its splits as the source releases them. */
final class GatedSourceReader implements SourceReader<RowData, ScriptedSplit> {

    private static final long POLL_MILLIS = 10;

    private final GatedSource source;
    private final int subtask;
    private final List<ScriptedSplit> splits = new ArrayList<>();
    private boolean noMoreSplits;

    GatedSourceReader(GatedSource source, int subtask) {
        this.source = source;
        this.subtask = subtask;
    }

    @Override
    public void start() {
        source.gates.markStart(source.name, subtask);
    }

    @Override
    public InputStatus pollNext(ReaderOutput<RowData> output) {
        boolean allEnded = noMoreSplits;
        for (ScriptedSplit split : splits) {
            if (split.nextRow < source.released(split.index)) {
                long id = split.index * GatedSource.STRIDE + split.nextRow;
                output.collect(
                        GenericRowData.of(
                                id, split.index, StringData.fromString("payload of " + id)));
                split.nextRow++;
                return source.rests(split.index)
                        ? InputStatus.NOTHING_AVAILABLE
                        : InputStatus.MORE_AVAILABLE;
            }
            allEnded &= split.nextRow == source.length();
        }
        return allEnded ? InputStatus.END_OF_INPUT : InputStatus.NOTHING_AVAILABLE;
    }

    /** A file cannot wake a task, so a task without work looks at it again and again. */
    @Override
    public CompletableFuture<Void> isAvailable() {
        return new CompletableFuture<Void>()
                .completeOnTimeout(
                        null, Math.max(POLL_MILLIS, source.pauseMillis), TimeUnit.MILLISECONDS);
    }

    @Override
    public List<ScriptedSplit> snapshotState(long checkpointId) {
        List<ScriptedSplit> snapshot = new ArrayList<>();
        splits.forEach(split -> snapshot.add(new ScriptedSplit(split.index, split.nextRow)));
        return snapshot;
    }

    @Override
    public void addSplits(List<ScriptedSplit> added) {
        splits.addAll(added);
    }

    @Override
    public void notifyNoMoreSplits() {
        noMoreSplits = true;
    }

    @Override
    public void close() {}
}
