package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.ScriptedSplit;

import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.apache.flink.api.connector.source.SupportsBatchSnapshot;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Gives split s to subtask s.
 *
 * <p>Without the marker Flink would run every task of the vertex again after the loss of a job
 * manager, the finished ones, too.
 */
final class GatedSourceEnumerator
        implements SplitEnumerator<ScriptedSplit, List<ScriptedSplit>>, SupportsBatchSnapshot {

    private final SplitEnumeratorContext<ScriptedSplit> context;
    private final List<ScriptedSplit> unassigned;

    GatedSourceEnumerator(
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
                        .filter(split -> split.index == subtask)
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
