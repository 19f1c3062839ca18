package io.paimonwriter.coordinator.job;

import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Gives split s to subtask s modulo the parallelism. */
public class ScriptedSplitEnumerator
        implements SplitEnumerator<ScriptedSplit, List<ScriptedSplit>> {

    protected final SplitEnumeratorContext<ScriptedSplit> context;
    private final List<ScriptedSplit> unassigned;

    public ScriptedSplitEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context, List<ScriptedSplit> unassigned) {
        this.context = context;
        this.unassigned = new ArrayList<>(unassigned);
    }

    @Override
    public void start() {}

    @Override
    public void addReader(int subtask) {
        List<ScriptedSplit> own =
                unassigned.stream()
                        .filter(split -> split.index % context.currentParallelism() == subtask)
                        .collect(Collectors.toList());
        unassigned.removeAll(own);
        if (!own.isEmpty()) {
            context.assignSplits(new SplitsAssignment<>(Map.of(subtask, own)));
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
