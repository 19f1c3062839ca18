package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.table.sink.CommitMessage;

/** Committables of Paimon 1.3, which may also be the offsets of a log; append tables have none. */
final class PairCommittables {

    private PairCommittables() {}

    static Committable of(long checkpointId, CommitMessage message) {
        return new Committable(checkpointId, Committable.Kind.FILE, message);
    }

    static CommitMessage message(Committable committable) {
        return (CommitMessage) committable.wrappedCommittable();
    }
}
