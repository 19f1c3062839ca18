package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.flink.sink.StoreCommitter;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Paimon's committer as its sink makes it, told when a commit begins and when it has ended. It can
 * be made slow, as a table on a slow file system is, or count files instead of committing them.
 */
final class BenchCommitter extends StoreCommitter {

    private final Watch watch;

    private BenchCommitter(FileStoreTable table, Context context, Watch watch) {
        super(table, table.newCommit(context.commitUser()).ignoreEmptyCommit(false), context);
        this.watch = watch;
    }

    @Override
    public void commit(List<ManifestCommittable> committables)
            throws IOException, InterruptedException {
        watch.begin();
        if (!watch.countsOnly) {
            super.commit(committables);
        }
        watch.end(committables);
    }

    @Override
    public int filterAndCommit(
            List<ManifestCommittable> committables,
            boolean checkAppendFiles,
            boolean partitionMarkDoneRecoverFromState) {
        watch.begin();
        int committed =
                watch.countsOnly
                        ? committables.size()
                        : super.filterAndCommit(
                                committables, checkAppendFiles, partitionMarkDoneRecoverFromState);
        watch.end(committables);
        return committed;
    }

    /** What happens to the commits of one coordinator. */
    static final class Watch {

        /** Commits wait for it. */
        volatile CountDownLatch gate = new CountDownLatch(0);

        /** Whether files are counted instead of committed. */
        volatile boolean countsOnly;

        /** Commits that have begun. */
        final CountDownLatch begun = new CountDownLatch(1);

        private long files;
        private long lastEndNanos;

        Committer.Factory<Committable, ManifestCommittable> factory(FileStoreTable table) {
            return context -> new BenchCommitter(table, context, this);
        }

        private void begin() {
            begun.countDown();
            try {
                gate.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted at the gate", e);
            }
        }

        private synchronized void end(List<ManifestCommittable> committables) {
            lastEndNanos = System.nanoTime();
            for (ManifestCommittable committable : committables) {
                for (CommitMessage message : committable.fileCommittables()) {
                    files += ((CommitMessageImpl) message).newFilesIncrement().newFiles().size();
                }
            }
            notifyAll();
        }

        /**
         * Waits until so many files have passed through commits.
         *
         * @return when the last of these commits ended, as {@link System#nanoTime}
         */
        synchronized long await(long expectedFiles) throws InterruptedException {
            long deadlineNanos = System.nanoTime() + BenchJob.LIMIT_NANOS;
            while (files < expectedFiles) {
                long leftMillis = (deadlineNanos - System.nanoTime()) / 1_000_000;
                if (leftMillis <= 0) {
                    throw new IllegalStateException(
                            files + " files were committed, not " + expectedFiles);
                }
                wait(leftMillis);
            }
            return lastEndNanos;
        }
    }
}
