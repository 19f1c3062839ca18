package io.paimonwriter.coordinator.job;

import org.apache.flink.api.connector.source.SplitEnumeratorContext;

import java.util.List;

/** Fails the job when the script says so. */
final class ScriptedSourceEnumerator extends ScriptedSplitEnumerator {

    private static final long POLL_MILLIS = 5;

    private final SourceScript script;

    ScriptedSourceEnumerator(
            SplitEnumeratorContext<ScriptedSplit> context,
            SourceScript script,
            List<ScriptedSplit> unassigned) {
        super(context, unassigned);
        this.script = script;
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
}
