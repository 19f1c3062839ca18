package io.paimonwriter.coordinator;

import org.apache.paimon.Snapshot;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Removes what a writer of a job without checkpoints wrote once more after the final commit (s72).
 *
 * <p>The coordinator knows that no commit holds these files. The snapshot of the final commit is
 * looked at all the same: a file too many costs some space until Paimon's orphan cleaning takes it,
 * a file too few is lost data (h09).
 */
final class UnusedFiles {

    private static final Logger LOG = LoggerFactory.getLogger(UnusedFiles.class);

    private final FileStoreTable table;
    private final String commitUser;

    UnusedFiles(FileStoreTable table, String commitUser) {
        this.table = table;
        this.commitUser = commitUser;
    }

    /** Deletes the files of an entry; what cannot be deleted stays, with a line in the log. */
    void delete(WriterEntry entry) {
        try {
            List<CommitMessage> messages = new ArrayList<>();
            for (Committable committable : new CommittableReader().read(entry.committables)) {
                messages.add(PairCommittables.message(committable));
            }
            if (!messages.isEmpty() && areInNoSnapshot(messages)) {
                try (TableCommitImpl commit = table.newCommit(commitUser)) {
                    commit.abort(messages);
                }
                LOG.info("Table {}: deleted the unused files of the {}", table.fullName(), entry);
            }
        } catch (Exception e) {
            LOG.warn(
                    "Table {}: the unused files of the {} could not be deleted",
                    table.fullName(),
                    entry,
                    e);
        }
    }

    private boolean areInNoSnapshot(List<CommitMessage> messages) {
        Optional<Snapshot> last =
                table.snapshotManager()
                        .latestSnapshotOfUser(commitUser)
                        .filter(found -> found.commitIdentifier() == WriterEntry.END_OF_INPUT);
        if (!last.isPresent()) {
            LOG.info("Table {}: the final commit is not to be seen any more", table.fullName());
            return false;
        }
        Set<String> committed = SnapshotFiles.names(table, last.get());
        return messages.stream()
                .flatMap(
                        message ->
                                ((CommitMessageImpl) message)
                                        .newFilesIncrement().newFiles().stream())
                .map(DataFileMeta::fileName)
                .noneMatch(committed::contains);
    }
}
