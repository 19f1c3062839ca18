package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.Committable;

import java.util.List;

/** One commit that the native coordinator has ordered, with its committables as Java objects. */
final class CommitOrder {

    final String commitUser;
    final long identifier;
    final long watermark;

    /** Whether the checkpoint has completed, so that an empty commit may create a snapshot. */
    final boolean completed;

    /** Whether its snapshot is that of a savepoint. */
    final boolean savepoint;

    final int attempt;
    final List<Committable> committables;

    CommitOrder(
            String commitUser,
            long identifier,
            long watermark,
            boolean completed,
            boolean savepoint,
            int attempt,
            List<Committable> committables) {
        this.commitUser = commitUser;
        this.identifier = identifier;
        this.watermark = watermark;
        this.completed = completed;
        this.savepoint = savepoint;
        this.attempt = attempt;
        this.committables = committables;
    }

    @Override
    public String toString() {
        return String.format(
                "commit of %s by user %s (%d committables, attempt %d)",
                CommitFailure.describeIdentifier(identifier),
                commitUser,
                committables.size(),
                attempt);
    }
}
