package io.paimonwriter.coordinator;

import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.CommittableSerializer;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.flink.sink.StoreCommitter;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.types.DataTypes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Spliterators;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** An append table in a local folder, with committables that Paimon's own writer makes. */
final class LocalTable {

    final FileStoreTable table;

    private LocalTable(FileStoreTable table) {
        this.table = table;
    }

    static LocalTable create(Path folder, Map<String, String> options) throws Exception {
        org.apache.paimon.fs.Path path = new org.apache.paimon.fs.Path(folder.toUri());
        new SchemaManager(LocalFileIO.create(), path)
                .createTable(
                        Schema.newBuilder()
                                .column("id", DataTypes.INT())
                                .column("name", DataTypes.STRING())
                                .option("bucket", "-1")
                                .option("write-only", "true")
                                .options(options)
                                .build());
        return new LocalTable(FileStoreTableFactory.create(LocalFileIO.create(), path));
    }

    /** As Paimon's sink makes it for a streaming job with checkpoints. */
    Committer.Factory<Committable, ManifestCommittable> committerFactory() {
        FileStoreTable committed = table;
        return context ->
                new StoreCommitter(
                        committed,
                        committed.newCommit(context.commitUser()).ignoreEmptyCommit(false),
                        context);
    }

    /** Writes one row and returns the committable of its file. */
    List<Committable> write(long checkpointId, int id) throws Exception {
        List<Committable> committables = new ArrayList<>();
        try (StreamTableWrite write = table.newWrite("writer")) {
            write.write(GenericRow.of(id, BinaryString.fromString("row " + id)));
            for (CommitMessage message : write.prepareCommit(true, checkpointId)) {
                committables.add(PairCommittables.of(checkpointId, message));
            }
        }
        return committables;
    }

    /** Deletes all data files, as an orphan cleaning that came too early would. */
    void deleteDataFiles() throws IOException {
        table.fileIO().delete(new org.apache.paimon.fs.Path(table.location(), "bucket-0"), true);
    }

    static int serializerVersion() {
        return new CommittableSerializer(new CommitMessageSerializer()).getVersion();
    }

    static byte[] serialize(Committable committable) throws IOException {
        return new CommittableSerializer(new CommitMessageSerializer()).serialize(committable);
    }

    List<Snapshot> snapshots() {
        try {
            return StreamSupport.stream(
                            Spliterators.spliteratorUnknownSize(
                                    table.snapshotManager().snapshots(), 0),
                            false)
                    .sorted(Comparator.comparingLong(Snapshot::id))
                    .collect(Collectors.toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<Long> identifiers() {
        return snapshots().stream().map(Snapshot::commitIdentifier).collect(Collectors.toList());
    }

    long rows() {
        List<Snapshot> snapshots = snapshots();
        return snapshots.isEmpty() ? 0 : snapshots.get(snapshots.size() - 1).totalRecordCount();
    }
}
