package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.Committable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;

import javax.annotation.Nullable;

/**
 * What the native coordinator may ask of Java. Its methods are called on the loop thread, by name
 * and signature; they hand over and return.
 */
final class CoordinatorHost {

    private static final Logger LOG = LoggerFactory.getLogger("io.paimonwriter.coordinator");

    private final CoordinatorSettings settings;
    private final TableCommitter committer;
    private final PendingAnswers pending;
    private final Consumer<Throwable> failJob;
    private final CoordinatorMetrics.Loop metrics;
    private final CommittableReader reader = new CommittableReader();

    CoordinatorHost(
            CoordinatorSettings settings,
            TableCommitter committer,
            PendingAnswers pending,
            CoordinatorMetrics.Loop metrics,
            Consumer<Throwable> failJob) {
        this.settings = settings;
        this.metrics = metrics;
        this.committer = committer;
        this.pending = pending;
        this.failJob = failJob;
    }

    void openCommitter(
            long epoch, String commitUser, boolean restored, @Nullable byte[] committerState) {
        committer.open(epoch, commitUser, restored, committerState);
    }

    /**
     * Queues a commit. The payloads are the native side's memory: they are read here, before this
     * method returns (h12).
     */
    void commit(
            long epoch,
            long commitId,
            String commitUser,
            long identifier,
            long watermark,
            boolean completed,
            boolean savepoint,
            int attempt,
            int[] serializerVersions,
            int[] committableCounts,
            ByteBuffer[] payloads) {
        List<Committable> committables = Collections.emptyList();
        CommitOutcome unreadable = null;
        try {
            committables = reader.read(serializerVersions, committableCounts, payloads);
        } catch (Throwable t) {
            unreadable = unreadable(identifier, t);
        }
        CommitOrder order =
                new CommitOrder(
                        commitUser,
                        identifier,
                        watermark,
                        completed,
                        savepoint,
                        attempt,
                        committables);
        if (unreadable == null) {
            committer.commit(epoch, commitId, order);
        } else {
            committer.reject(epoch, commitId, order, unreadable);
        }
    }

    private CommitOutcome unreadable(long identifier, Throwable t) {
        String message =
                String.format(
                        "%s: the committables cannot be read: %s. Restore with the"
                                + " version of Paimon that wrote them, stop that job with a"
                                + " savepoint, and restore that savepoint with this version.",
                        CommitFailure.describeIdentifier(identifier), CommitFailure.describe(t));
        // Not yet an error: the table may hold them.
        LOG.info("{}, {}", settings.describe(), message, t);
        return CommitOutcome.failed(
                t instanceof Error ? CommitFailure.FAILS_JOB : CommitFailure.FINAL, message);
    }

    void deleteTag(long epoch, String commitUser, long identifier) {
        committer.deleteTag(epoch, commitUser, identifier);
    }

    void completeCheckpoint(long futureId, byte[] state) {
        pending.completeCheckpoint(futureId, state);
    }

    void failCheckpoint(long futureId, String message) {
        pending.failCheckpoint(futureId, message);
    }

    void answer(long requestId, int status, long committedThrough) {
        pending.answerRequest(requestId, RequestStatus.ofCode(status), committedThrough);
    }

    void failJob(String message, boolean recoverable) {
        CoordinatorException failure =
                recoverable
                        ? new CoordinatorException(message)
                        : new NonRecoverableCoordinatorException(message);
        Throwable attempt = committer.lastFailure();
        if (attempt != null) {
            // Its text is in the message; its stack trace was not logged when it was to be tried
            // again.
            failure.addSuppressed(attempt);
        }
        failJob.accept(failure);
    }

    /** Takes the numbers that {@link CoordinatorMetrics} names. */
    void show(long[] numbers) {
        metrics.show(numbers);
    }

    void log(int level, String text) {
        String message = settings.describe() + ": " + text;
        switch (level) {
            case 1:
                LOG.error(message);
                break;
            case 2:
                LOG.warn(message);
                break;
            case 3:
                LOG.info(message);
                break;
            default:
                LOG.debug(message);
        }
    }
}
