package io.paimonwriter.coordinator;

import javax.annotation.Nullable;

/** What the committer thread reports to the native coordinator about one command. */
final class CommitOutcome {

    /** Value of an opened committer whose user has no commit in the table, or was not looked up. */
    static final long NO_COMMIT = Long.MIN_VALUE;

    /** Value of a commit whose user has no snapshot in the table. */
    static final long NO_SNAPSHOT = -1;

    /** One of the constants of {@link CommitFailure}. */
    final int failure;

    final long value;
    @Nullable final byte[] committerState;
    @Nullable final String message;

    private CommitOutcome(
            int failure, long value, @Nullable byte[] committerState, @Nullable String message) {
        this.failure = failure;
        this.value = value;
        this.committerState = committerState;
        this.message = message;
    }

    static CommitOutcome success(long value, @Nullable byte[] committerState) {
        return new CommitOutcome(CommitFailure.NONE, value, committerState, null);
    }

    static CommitOutcome failed(int failure, String message) {
        return new CommitOutcome(failure, NO_COMMIT, null, message);
    }
}
