package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.ScriptedSplit;
import io.paimonwriter.coordinator.job.ScriptedSplitEnumerator;

import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SupportsBatchSnapshot;

import java.util.List;

/**
 * Without the marker Flink would run every task of the vertex again after the loss of a job
 * manager, the finished ones, too.
 */
final class GatedSourceEnumerator extends ScriptedSplitEnumerator implements SupportsBatchSnapshot {

    GatedSourceEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context, List<ScriptedSplit> unassigned) {
        super(context, unassigned);
    }
}
