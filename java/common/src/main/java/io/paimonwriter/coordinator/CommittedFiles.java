package io.paimonwriter.coordinator;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.sink.CommitMessageImpl;

import java.util.List;

/** The new data files of one commit, in numbers. */
final class CommittedFiles {

    final long count;
    final long rows;
    final long bytes;

    private CommittedFiles(long count, long rows, long bytes) {
        this.count = count;
        this.rows = rows;
        this.bytes = bytes;
    }

    static CommittedFiles of(List<Committable> committables) {
        long count = 0;
        long rows = 0;
        long bytes = 0;
        for (Committable committable : committables) {
            CommitMessageImpl message = (CommitMessageImpl) PairCommittables.message(committable);
            for (DataFileMeta file : message.newFilesIncrement().newFiles()) {
                count++;
                rows += file.rowCount();
                bytes += file.fileSize();
            }
        }
        return new CommittedFiles(count, rows, bytes);
    }
}
