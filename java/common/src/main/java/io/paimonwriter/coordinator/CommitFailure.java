package io.paimonwriter.coordinator;

import java.io.IOException;
import java.io.UncheckedIOException;

/** How a failure of the committer is reported to the native coordinator. */
final class CommitFailure {

    static final int NONE = 0;

    /** An IO error: the same commit is tried again in place. */
    static final int RETRYABLE = 1;

    /** Fails the job; the restart strategy applies. */
    static final int FAILS_JOB = 2;

    /** A restart cannot mend it: the job ends FAILED (h15). */
    static final int FINAL = 3;

    private static final int MOST_CAUSES = 20;

    private CommitFailure() {}

    static int classify(Throwable failure) {
        if (isInterrupt(failure)) {
            return FAILS_JOB;
        }
        if (failure instanceof NonRecoverableCoordinatorException
                || saysThatFilesAreDeleted(failure)) {
            return FINAL;
        }
        return hasIoCause(failure) ? RETRYABLE : FAILS_JOB;
    }

    /**
     * Paimon checks before a commit whether its files exist, and throws a plain RuntimeException
     * without a cause when they do not (s37). There is no kind to tell it by, so the text is
     * matched, as narrowly as can be: a failure that only resembles it stays recoverable.
     */
    static boolean saysThatFilesAreDeleted(Throwable failure) {
        return failure.getClass() == RuntimeException.class
                && failure.getCause() == null
                && failure.getMessage() != null
                && failure.getMessage().startsWith("Cannot recover from this checkpoint")
                && failure.getMessage().contains("have been deleted");
    }

    private static boolean isInterrupt(Throwable failure) {
        int depth = 0;
        for (Throwable t = failure; t != null && depth < MOST_CAUSES; t = t.getCause(), depth++) {
            if (t instanceof InterruptedException) {
                return true;
            }
        }
        return false;
    }

    private static boolean hasIoCause(Throwable failure) {
        int depth = 0;
        for (Throwable t = failure; t != null && depth < MOST_CAUSES; t = t.getCause(), depth++) {
            if (t instanceof IOException || t instanceof UncheckedIOException) {
                return true;
            }
        }
        return false;
    }

    /** The texts of a failure and of its causes, in one line. */
    static String describe(Throwable failure) {
        StringBuilder text = new StringBuilder(failure.toString());
        int depth = 0;
        for (Throwable cause = failure.getCause();
                cause != null && depth < MOST_CAUSES;
                cause = cause.getCause(), depth++) {
            text.append(", caused by ").append(cause);
        }
        return text.toString();
    }

    static String describeIdentifier(long identifier) {
        return identifier == WriterEntry.END_OF_INPUT ? "end of input" : "checkpoint " + identifier;
    }
}
