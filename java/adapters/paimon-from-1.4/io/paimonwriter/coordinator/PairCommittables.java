package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.table.sink.CommitMessage;

/** Committables of this version of Paimon. */
final class PairCommittables {

    private PairCommittables() {}

    static Committable of(long checkpointId, CommitMessage message) {
        return new Committable(checkpointId, message);
    }

    static CommitMessage message(Committable committable) {
        return committable.commitMessage();
    }
}
