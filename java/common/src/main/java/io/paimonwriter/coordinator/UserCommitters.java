package io.paimonwriter.coordinator;

import org.apache.flink.metrics.MetricGroup;
import org.apache.paimon.Snapshot;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.tag.TagBatchCreation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Optional;
import java.util.function.BooleanSupplier;

import javax.annotation.Nullable;

/**
 * Paimon's committer of the commit user whose turn it is. After some restores what is old is
 * committed under the old user and what is new under a fresh one (h03); all of one user's commits
 * come before the next one's, so one committer is open at a time. Used by the committer thread
 * alone.
 */
final class UserCommitters {

    private static final Logger LOG = LoggerFactory.getLogger("io.paimonwriter.coordinator");

    private final CoordinatorSettings settings;
    private final FileStoreTable table;
    private final Committer.Factory<Committable, ManifestCommittable> factory;
    @Nullable private final MetricGroup metricGroup;
    private final SavepointTags savepointTags;
    @Nullable private OpenCommitter current;
    private long epoch;

    UserCommitters(
            CoordinatorSettings settings,
            FileStoreTable table,
            Committer.Factory<Committable, ManifestCommittable> factory,
            @Nullable MetricGroup metricGroup) {
        this.settings = settings;
        this.table = table;
        this.factory = factory;
        this.metricGroup = metricGroup;
        this.savepointTags = new SavepointTags(table);
    }

    /**
     * Opens the committer of a user and closes the one that was open.
     *
     * @param obsolete looked at once more when nothing else commits for this user
     * @return null if it is obsolete
     */
    @Nullable
    CommitOutcome open(
            long openEpoch,
            String commitUser,
            boolean restored,
            @Nullable byte[] state,
            BooleanSupplier obsolete)
            throws Exception {
        closeAll();
        epoch = openEpoch;
        // A commit that an older coordinator still runs must be visible in what is looked up here.
        try (CommitLocks.Held ignored = acquireLock(commitUser)) {
            if (obsolete.getAsBoolean()) {
                return null;
            }
            Optional<Snapshot> latest = table.snapshotManager().latestSnapshotOfUser(commitUser);
            current = open(commitUser, restored, state);
            current.lastSnapshotId = latest.map(Snapshot::id).orElse(CommitOutcome.NO_SNAPSHOT);
            if (!settings.checkpointingEnabled()
                    && latest.isPresent()
                    && isLast(latest.get().commitIdentifier())) {
                // No commit will follow, and the run that made this one may have ended right after.
                repeat(current.committer, latest.get());
                createBatchTag();
            }
            return CommitOutcome.success(
                    latest.map(Snapshot::commitIdentifier).orElse(CommitOutcome.NO_COMMIT), state);
        }
    }

    private OpenCommitter open(String commitUser, boolean restored, @Nullable byte[] state) {
        UserCommitter committer =
                new UserCommitter(
                        factory,
                        table,
                        commitUser,
                        metricGroup,
                        settings.checkpointingEnabled(),
                        restored,
                        state);
        return new OpenCommitter(commitUser, committer, state);
    }

    /**
     * The committer of this user; when its turn has just come, it takes over what the last kept.
     */
    private OpenCommitter committerOf(String commitUser) {
        if (current == null || !current.commitUser.equals(commitUser)) {
            byte[] state = current == null ? null : current.state;
            closeAll();
            current = open(commitUser, true, state);
        }
        return current;
    }

    /**
     * Commits unless the table already shows it.
     *
     * @param recovering whether the commit repeats one from before the restore of this epoch
     * @param obsolete looked at right before the attempt, when nothing else commits for this user
     * @return null if it is obsolete
     */
    @Nullable
    CommitOutcome commit(
            long commitEpoch, CommitOrder order, boolean recovering, BooleanSupplier obsolete)
            throws Exception {
        if (epoch != commitEpoch) {
            return null;
        }
        long startNanos = System.nanoTime();
        boolean isNew = false;
        OpenCommitter open = committerOf(order.commitUser);
        boolean makesSnapshot =
                !order.committables.isEmpty()
                        || (order.completed && open.committer.forceCreatingSnapshot());
        if (makesSnapshot) {
            try (CommitLocks.Held ignored = acquireLock(order.commitUser)) {
                if (obsolete.getAsBoolean()) {
                    return null;
                }
                isNew =
                        open.committer.filterAndCommit(
                                order.identifier, order.watermark, order.committables, recovering);
            }
            if (order.savepoint) {
                savepointTags.create(order.commitUser, order.identifier);
            }
            open.state = open.committer.snapshotState();
            open.lastSnapshotId =
                    table.snapshotManager()
                            .latestSnapshotOfUser(order.commitUser)
                            .map(Snapshot::id)
                            .orElse(CommitOutcome.NO_SNAPSHOT);
        }
        if (isLast(order.identifier)) {
            createBatchTag();
        }
        if (makesSnapshot) {
            log(order, isNew, open.lastSnapshotId, (System.nanoTime() - startNanos) / 1_000_000);
        } else {
            logEmpty(order);
        }
        return CommitOutcome.success(open.lastSnapshotId, open.state);
    }

    private void log(CommitOrder order, boolean isNew, long snapshotId, long millis) {
        CommittedFiles files = CommittedFiles.of(order.committables);
        LOG.info(
                "{}: {} by user {} {}: files={} rows={} bytes={} millis={} attempt={} snapshot={}",
                settings.describe(),
                CommitFailure.describeIdentifier(order.identifier),
                order.commitUser,
                isNew ? "committed" : "was in the table already",
                files.count,
                files.rows,
                files.bytes,
                millis,
                order.attempt,
                snapshotId);
    }

    /** An idle job shall not fill the log, but the end of a job is worth a line. */
    private void logEmpty(CommitOrder order) {
        String text = "{}: nothing to do for the {}";
        if (isLast(order.identifier)) {
            LOG.info(text, settings.describe(), order);
        } else {
            LOG.debug(text, settings.describe(), order);
        }
    }

    /**
     * What becomes of a commit whose committables cannot be read: success if the table shows it
     * already, as {@code filterAndCommit} would find, and otherwise {@code failure}.
     *
     * @return null if it is obsolete
     */
    @Nullable
    CommitOutcome reject(long commitEpoch, CommitOrder order, CommitOutcome failure)
            throws Exception {
        if (epoch != commitEpoch) {
            return null;
        }
        Optional<Snapshot> latest;
        try (CommitLocks.Held ignored = acquireLock(order.commitUser)) {
            latest = table.snapshotManager().latestSnapshotOfUser(order.commitUser);
        }
        if (!latest.filter(found -> found.commitIdentifier() >= order.identifier).isPresent()) {
            return failure;
        }
        LOG.info(
                "{}: {} by user {} was in the table already, so what cannot be read is not needed",
                settings.describe(),
                CommitFailure.describeIdentifier(order.identifier),
                order.commitUser);
        if (order.savepoint) {
            savepointTags.create(order.commitUser, order.identifier);
        }
        OpenCommitter open = committerOf(order.commitUser);
        open.lastSnapshotId = latest.get().id();
        return CommitOutcome.success(open.lastSnapshotId, open.state);
    }

    /**
     * Commits once more what is in the table already. That makes no snapshot; what follows one is
     * done again: Paimon's commit callbacks, for example the partitions of a metastore, and the
     * listeners that mark partitions as done.
     */
    private void repeat(UserCommitter committer, Snapshot snapshot) throws Exception {
        committer.filterAndCommit(
                snapshot.commitIdentifier(),
                snapshot.watermark() == null ? Long.MIN_VALUE : snapshot.watermark(),
                SnapshotFiles.committables(table, snapshot),
                false);
    }

    private static boolean isLast(long identifier) {
        return identifier == WriterEntry.END_OF_INPUT;
    }

    /**
     * Paimon tags the newest snapshot when a batch job ends, also one that wrote nothing, and takes
     * an earlier tag of the same name away. So it may be done again after a crash or a failure, and
     * there is one tag (s78).
     */
    private void createBatchTag() {
        if (settings.batchTag()) {
            new TagBatchCreation(table).createTag();
        }
    }

    /** A tag too many does no harm to the table, so a failure is no reason to fail the job. */
    void deleteTag(String commitUser, long identifier) {
        try {
            savepointTags.delete(identifier);
        } catch (RuntimeException e) {
            LOG.warn(
                    "{}: the tag of savepoint {} by user {}, which was aborted, could not be"
                            + " deleted",
                    settings.describe(),
                    identifier,
                    commitUser,
                    e);
        }
    }

    void closeAll() {
        closeQuietly(current);
        current = null;
    }

    private CommitLocks.Held acquireLock(String commitUser) throws InterruptedException {
        return CommitLocks.acquire(table.location().toString(), commitUser);
    }

    private void closeQuietly(@Nullable OpenCommitter open) {
        if (open == null) {
            return;
        }
        try {
            open.committer.close();
        } catch (Throwable t) {
            LOG.warn(
                    "{}: the committer of user {} could not be closed",
                    settings.describe(),
                    open.commitUser,
                    t);
        }
    }

    private static final class OpenCommitter {

        private final String commitUser;
        private final UserCommitter committer;
        @Nullable private byte[] state;
        private long lastSnapshotId = CommitOutcome.NO_SNAPSHOT;

        private OpenCommitter(String commitUser, UserCommitter committer, @Nullable byte[] state) {
            this.commitUser = commitUser;
            this.committer = committer;
            this.state = state;
        }
    }
}
