package io.paimonwriter.coordinator.job;

import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Gives split s to subtask s modulo the parallelism, and fails the job when the script says so. */
final class ScriptedSourceEnumerator
        implements SplitEnumerator<ScriptedSplit, List<ScriptedSplit>> {

    private static final long POLL_MILLIS = 5;

    private final SplitEnumeratorContext<ScriptedSplit> context;
    private final SourceScript script;
    private final List<ScriptedSplit> unassigned;

    ScriptedSourceEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context,
            SourceScript script,
            List<ScriptedSplit> unassigned) {
        this.context = context;
        this.script = script;
        this.unassigned = new ArrayList<>(unassigned);
    }

    @Override
    public void start() {
        context.callAsync(script::takeJobFailure, this::failJobIf, 0, POLL_MILLIS);
    }

    private void failJobIf(boolean due, Throwable error) {
        if (due) {
            throw new IllegalStateException("The script fails the whole job.");
        }
    }

    @Override
    public void addReader(int subtask) {
        List<ScriptedSplit> own = new ArrayList<>();
        for (ScriptedSplit split : unassigned) {
            if (split.index % context.currentParallelism() == subtask) {
                own.add(split);
            }
        }
        unassigned.removeAll(own);
        if (!own.isEmpty()) {
            context.assignSplits(new SplitsAssignment<>(Collections.singletonMap(subtask, own)));
        }
        context.signalNoMoreSplits(subtask);
    }

    @Override
    public void addSplitsBack(List<ScriptedSplit> splits, int subtask) {
        unassigned.addAll(splits);
    }

    @Override
    public List<ScriptedSplit> snapshotState(long checkpointId) {
        return new ArrayList<>(unassigned);
    }

    @Override
    public void handleSplitRequest(int subtask, String host) {}

    @Override
    public void close() {}
}
