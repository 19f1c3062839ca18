package io.paimonwriter.coordinator;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

import javax.annotation.Nullable;

/**
 * Runs Paimon's commits on a thread of its own, one after another, and reports the outcome of each.
 *
 * <p>The thread outlives a reset of the coordinator: what belongs to an older epoch is dropped
 * unless it has begun, so a commit of an old epoch has ended before one of the new epoch begins.
 */
final class TableCommitter {

    private static final Logger LOG = LoggerFactory.getLogger("io.paimonwriter.coordinator");

    /** The outcome of opening a committer is reported as that of commit 0. */
    private static final long OPENING = 0;

    private final CoordinatorSettings settings;
    private final UserCommitters committers;
    private final CoordinatorMetrics metrics;
    private final Reports reports;
    private final Consumer<Throwable> failJob;
    private final Thread thread;
    private final LinkedBlockingQueue<Task> tasks = new LinkedBlockingQueue<>();

    private volatile Epoch epoch = new Epoch(0, -1);
    private volatile boolean closed;
    @Nullable private volatile Throwable lastFailure;

    /**
     * @param failJob told when an outcome cannot be reported
     */
    TableCommitter(
            CoordinatorSettings settings,
            UserCommitters committers,
            CoordinatorMetrics metrics,
            ClassLoader userClassLoader,
            Reports reports,
            Consumer<Throwable> failJob) {
        this.settings = settings;
        this.committers = committers;
        this.metrics = metrics;
        this.reports = reports;
        this.failJob = failJob;
        this.thread =
                new Thread(this::run, "paimon-writer-committer of " + settings.operatorName());
        this.thread.setDaemon(true);
        this.thread.setContextClassLoader(userClassLoader);
    }

    void start() {
        thread.start();
    }

    /**
     * Makes everything of an older epoch obsolete.
     *
     * @param restoredCheckpointId checkpoint that the epoch begins from, -1 if none
     */
    void beginEpoch(long number, long restoredCheckpointId) {
        epoch = new Epoch(number, restoredCheckpointId);
    }

    /** Opens the committer of a commit user and reports that user's latest commit in the table. */
    void open(long epochNumber, String commitUser, boolean restored, @Nullable byte[] state) {
        tasks.add(
                new Task(epochNumber, OPENING, "opening the committer of user " + commitUser) {
                    @Override
                    CommitOutcome execute() throws Exception {
                        return committers.open(
                                epochNumber, commitUser, restored, state, () -> isObsolete(this));
                    }
                });
    }

    /** Commits and reports the outcome. */
    void commit(long epochNumber, long commitId, CommitOrder order) {
        tasks.add(
                new Task(epochNumber, commitId, order.toString()) {
                    @Override
                    CommitOutcome execute() throws Exception {
                        boolean recovering = order.identifier <= epoch.restoredCheckpointId;
                        CoordinatorMetrics.Attempt attempt = metrics.beginAttempt(order.attempt);
                        try {
                            CommitOutcome outcome =
                                    committers.commit(
                                            epochNumber, order, recovering, () -> isObsolete(this));
                            if (outcome != null) {
                                attempt.succeeded();
                            }
                            return outcome;
                        } finally {
                            attempt.end();
                        }
                    }
                });
    }

    /** Takes the tag of an aborted savepoint away; there is no outcome to report. */
    void deleteTag(long epochNumber, String commitUser, long identifier) {
        tasks.add(
                new Task(epochNumber, OPENING, "deleting the tag of savepoint " + identifier) {
                    @Nullable
                    @Override
                    CommitOutcome execute() {
                        committers.deleteTag(commitUser, identifier);
                        return null;
                    }
                });
    }

    /**
     * Reports a commit whose committables cannot be read, behind what was queued before. That is no
     * failure if the table shows it already: every savepoint holds its own commit, so a job that
     * was stopped with one goes on with an older version of Paimon too.
     */
    void reject(long epochNumber, long commitId, CommitOrder order, CommitOutcome failure) {
        tasks.add(
                new Task(epochNumber, commitId, "looking for the " + order) {
                    @Nullable
                    @Override
                    CommitOutcome execute() throws Exception {
                        return committers.reject(epochNumber, order, failure);
                    }
                });
    }

    /** Begins to close without waiting: nothing new begins, and what hangs is interrupted. */
    void requestClose() {
        closed = true;
        thread.interrupt();
    }

    /**
     * Closes and waits for the thread, which closes Paimon's committers itself.
     *
     * @return whether the thread has ended in time
     */
    boolean close(long timeoutMillis) {
        requestClose();
        try {
            thread.join(timeoutMillis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return !thread.isAlive();
    }

    private void run() {
        while (!closed) {
            try {
                runTask(tasks.take());
            } catch (InterruptedException e) {
                LOG.debug("{}: the committer thread was interrupted", settings.describe());
            } catch (Throwable t) {
                failJob.accept(t);
            }
        }
        // Closing the committers must not be cut short by the interrupt that ended the loop.
        Thread.interrupted();
        committers.closeAll();
    }

    private void runTask(Task task) {
        CommitOutcome outcome;
        try {
            outcome = isObsolete(task) ? null : task.execute();
            lastFailure = null;
        } catch (Throwable t) {
            outcome = failed(task, t);
        }
        // An interrupt that was meant for this task must not hit the next one.
        Thread.interrupted();
        if (isObsolete(task)) {
            LOG.info("{}: after a reset or close, nobody waits for {}", settings.describe(), task);
            return;
        }
        if (outcome == null) {
            return;
        }
        if (outcome.failure != CommitFailure.NONE) {
            metrics.failed();
        }
        reports.report(
                task.epochNumber,
                task.commitId,
                outcome.failure,
                outcome.value,
                outcome.committerState,
                outcome.message);
    }

    /** Why the newest task failed; null if it did not. */
    @Nullable
    Throwable lastFailure() {
        return lastFailure;
    }

    private boolean isObsolete(Task task) {
        return closed || task.epochNumber != epoch.number;
    }

    private CommitOutcome failed(Task task, Throwable failure) {
        int kind = CommitFailure.classify(failure);
        String advice =
                kind == CommitFailure.FINAL
                        ? "Restore from a newer checkpoint or savepoint whose files still exist."
                        : "Look for the cause in the file system or the catalog of the table.";
        String message =
                String.format("%s failed: %s. %s", task, CommitFailure.describe(failure), advice);
        if (!closed) {
            // The native coordinator tells of it, and whether it is tried again.
            lastFailure = failure;
            LOG.debug("{}: {}", settings.describe(), message, failure);
        }
        return CommitOutcome.failed(kind, message);
    }

    /** Where outcomes go; see {@link NativeCoordinator} for what the arguments mean. */
    interface Reports {
        void report(
                long epoch,
                long commitId,
                int failure,
                long value,
                @Nullable byte[] committerState,
                @Nullable String message);
    }

    private static final class Epoch {

        private final long number;
        private final long restoredCheckpointId;

        private Epoch(long number, long restoredCheckpointId) {
            this.number = number;
            this.restoredCheckpointId = restoredCheckpointId;
        }
    }

    private abstract static class Task {

        private final long epochNumber;
        private final long commitId;
        private final String description;

        private Task(long epochNumber, long commitId, String description) {
            this.epochNumber = epochNumber;
            this.commitId = commitId;
            this.description = description;
        }

        /** The outcome; null if there is none, or if the task turned out to be of an old epoch. */
        @Nullable
        abstract CommitOutcome execute() throws Exception;

        @Override
        public String toString() {
            return description;
        }
    }
}
