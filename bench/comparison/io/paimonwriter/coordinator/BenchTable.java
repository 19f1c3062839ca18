package io.paimonwriter.coordinator;

import org.apache.flink.util.FileUtils;
import org.apache.paimon.Snapshot;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.CommitMessageSerializer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * An append table in a local folder, and as many data files for it as are asked for.
 *
 * <p>One row is really written; what describes its file stands for all files under other names.
 * Each name exists on the disk, because Paimon looks for the files of what it commits a second
 * time. Every file has one row, so the rows of a snapshot count what was committed. A table that is
 * cleared takes the same files again.
 */
final class BenchTable {

    private static final String TEMPLATE = "template.message";

    final FileStoreTable table;
    private final Path folder;
    private final CommitMessageImpl template;

    private BenchTable(Path folder) throws IOException {
        this.folder = folder;
        this.table =
                FileStoreTableFactory.create(
                        LocalFileIO.create(), new org.apache.paimon.fs.Path(folder.toUri()));
        this.template =
                (CommitMessageImpl)
                        new CommitMessageSerializer()
                                .deserialize(
                                        CommitMessageSerializer.CURRENT_VERSION,
                                        Files.readAllBytes(folder.resolve(TEMPLATE)));
    }

    /** Makes the table, with so many files to commit. */
    static BenchTable create(Path folder, int files) throws Exception {
        LocalTable table = LocalTable.create(folder, Collections.emptyMap());
        CommitMessageImpl message =
                (CommitMessageImpl) PairCommittables.message(table.write(1, 1).get(0));
        Files.write(folder.resolve(TEMPLATE), new CommitMessageSerializer().serialize(message));
        BenchTable created = new BenchTable(folder);
        Path bucket = folder.resolve("bucket-0");
        for (int file = 0; file < files; file++) {
            Files.createFile(bucket.resolve(created.name(file)));
        }
        return created;
    }

    /** The table in a folder where it was created, perhaps by another process. */
    static BenchTable open(Path folder) throws IOException {
        return new BenchTable(folder);
    }

    private String name(int file) {
        String written = template.newFilesIncrement().newFiles().get(0).fileName();
        return String.format("data-bench-%07d%s", file, written.substring(written.indexOf('.')));
    }

    /** What a writer of an unpartitioned table hands over: one message with all of its files. */
    List<Committable> committables(long checkpointId, int firstFile, int files) {
        DataFileMeta written = template.newFilesIncrement().newFiles().get(0);
        List<DataFileMeta> named = new ArrayList<>(files);
        for (int file = firstFile; file < firstFile + files; file++) {
            named.add(written.rename(name(file)));
        }
        return Collections.singletonList(
                PairCommittables.of(
                        checkpointId,
                        new CommitMessageImpl(
                                template.partition(),
                                template.bucket(),
                                template.totalBuckets(),
                                new DataIncrement(
                                        named, Collections.emptyList(), Collections.emptyList()),
                                CompactIncrement.emptyIncrement())));
    }

    /** Forgets all commits; the data files stay. */
    void clear() throws IOException {
        FileUtils.deleteDirectory(folder.resolve("snapshot").toFile());
        FileUtils.deleteDirectory(folder.resolve("manifest").toFile());
    }

    /** How many files have been committed. */
    long committedFiles() {
        Snapshot latest = table.snapshotManager().latestSnapshot();
        return latest == null ? 0 : latest.totalRecordCount();
    }
}
