package io.paimonwriter.coordinator.job;

import org.apache.flink.api.common.eventtime.Watermark;
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

/** Emits what the script allows, fails when the script says so, ends when all its splits end. */
final class ScriptedSourceReader implements SourceReader<RowData, ScriptedSplit> {

    private static final long POLL_MILLIS = 2;

    private final SourceScript script;
    private final List<ScriptedSplit> splits = new ArrayList<>();
    private boolean noMoreSplits;
    private long startNanos;
    private long emitted;
    private long watermark = Long.MIN_VALUE;
    private boolean idle;

    ScriptedSourceReader(SourceScript script) {
        this.script = script;
    }

    @Override
    public void start() {
        startNanos = System.nanoTime();
    }

    @Override
    public InputStatus pollNext(ReaderOutput<RowData> output) {
        boolean allEnded = noMoreSplits;
        for (ScriptedSplit split : splits) {
            SourceScript.SplitScript splitScript = script.split(split.index);
            splitScript.pauseIfRequested();
            if (splitScript.takeFailureAt(split.nextRow)) {
                throw new IllegalStateException(
                        "The script fails split " + split.index + " at row " + split.nextRow + ".");
            }
            if (split.nextRow < splitScript.allowed && isWithinRate()) {
                emit(split, splitScript, output);
                return InputStatus.MORE_AVAILABLE;
            }
            emitWatermark(splitScript, output);
            allEnded &= split.nextRow >= splitScript.end;
        }
        return allEnded ? InputStatus.END_OF_INPUT : InputStatus.NOTHING_AVAILABLE;
    }

    private void emit(
            ScriptedSplit split,
            SourceScript.SplitScript splitScript,
            ReaderOutput<RowData> output) {
        if (idle) {
            output.markActive();
            idle = false;
        }
        long id = split.index * SourceScript.STRIDE + split.nextRow;
        output.collect(
                GenericRowData.of(id, split.index, StringData.fromString("payload of " + id)));
        split.nextRow++;
        splitScript.emitted = split.nextRow;
        emitted++;
    }

    private void emitWatermark(SourceScript.SplitScript splitScript, ReaderOutput<RowData> output) {
        if (splitScript.watermark > watermark) {
            watermark = splitScript.watermark;
            output.emitWatermark(new Watermark(watermark));
        }
        splitScript.emittedWatermark = watermark;
        if (splitScript.idle && !idle) {
            idle = true;
            output.markIdle();
        }
        splitScript.isIdle = idle;
    }

    private boolean isWithinRate() {
        long rate = script.rowsPerSecond();
        return rate == Long.MAX_VALUE
                || emitted < (System.nanoTime() - startNanos) / 1_000L * rate / 1_000_000L;
    }

    /**
     * The script cannot wake a task, so a task without work looks at the script again and again.
     */
    @Override
    public CompletableFuture<Void> isAvailable() {
        return new CompletableFuture<Void>()
                .completeOnTimeout(null, POLL_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public List<ScriptedSplit> snapshotState(long checkpointId) {
        List<ScriptedSplit> snapshot = new ArrayList<>();
        for (ScriptedSplit split : splits) {
            if (script.split(split.index).takeFailureInSnapshot()) {
                throw new IllegalStateException(
                        "The script fails split " + split.index + " in checkpoint " + checkpointId);
            }
            snapshot.add(new ScriptedSplit(split.index, split.nextRow));
        }
        return snapshot;
    }

    @Override
    public void addSplits(List<ScriptedSplit> added) {
        for (ScriptedSplit split : added) {
            splits.add(split);
            script.split(split.index).emitted = split.nextRow;
        }
    }

    @Override
    public void notifyNoMoreSplits() {
        noMoreSplits = true;
    }

    @Override
    public void close() {}
}
