package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Which failures of a commit are tried again, which restart the job and which end it. */
class CommitFailureTest {

    @Test
    void ioErrorsAnywhereInTheChainAreTriedAgain() {
        assertEquals(CommitFailure.RETRYABLE, CommitFailure.classify(new IOException("x")));
        assertEquals(
                CommitFailure.RETRYABLE,
                CommitFailure.classify(
                        new RuntimeException(
                                new IllegalStateException(
                                        new UncheckedIOException(new IOException("x"))))));
        assertEquals(
                CommitFailure.RETRYABLE, CommitFailure.classify(new FileNotFoundException("x")));
    }

    @Test
    void s94InterruptsAndErrorsFailTheJob() {
        assertEquals(
                CommitFailure.FAILS_JOB,
                CommitFailure.classify(new RuntimeException(new InterruptedException())));
        assertEquals(CommitFailure.FAILS_JOB, CommitFailure.classify(new OutOfMemoryError()));
        assertEquals(CommitFailure.FAILS_JOB, CommitFailure.classify(new RuntimeException("x")));
    }

    @Test
    void s37OnlyPaimonsOwnWordsAboutDeletedFilesAreFinal() {
        String paimons =
                "Cannot recover from this checkpoint because some files in the snapshot that need"
                        + " to be resubmitted have been deleted:\n    file:/a";
        assertEquals(CommitFailure.FINAL, CommitFailure.classify(new RuntimeException(paimons)));
        assertEquals(
                CommitFailure.FAILS_JOB,
                CommitFailure.classify(new IllegalStateException(paimons)));
        assertEquals(
                CommitFailure.RETRYABLE,
                CommitFailure.classify(new RuntimeException(paimons, new IOException("x"))));
    }

    @Test
    void aChainThatRefersToItselfEnds() {
        Exception first = new RuntimeException("first");
        Exception second = new RuntimeException("second", first);
        first.initCause(second);

        assertEquals(CommitFailure.FAILS_JOB, CommitFailure.classify(first));
        CommitFailure.describe(first);
    }
}
