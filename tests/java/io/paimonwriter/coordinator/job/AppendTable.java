package io.paimonwriter.coordinator.job;

import org.apache.paimon.Snapshot;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.ScanMode;
import org.apache.paimon.types.DataTypes;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** An append table on the local file system, read back with Paimon alone, without Flink. */
public final class AppendTable {

    private static final int EXAMPLES = 5;

    private final org.apache.paimon.fs.Path path;

    private AppendTable(org.apache.paimon.fs.Path path) {
        this.path = path;
    }

    /**
     * Creates the table (id BIGINT, subtask INT, payload STRING), without primary key or bucket.
     */
    public static AppendTable create(Path directory, Map<String, String> options) throws Exception {
        return create(directory, options, new String[0]);
    }

    /** The same, partitioned by these columns. */
    public static AppendTable create(
            Path directory, Map<String, String> options, String... partitionKeys) throws Exception {
        AppendTable table = at(directory);
        Map<String, String> allOptions = new HashMap<>(options);
        allOptions.put("bucket", "-1");
        allOptions.put("write-only", "true");
        Schema.Builder schema =
                Schema.newBuilder()
                        .column("id", DataTypes.BIGINT())
                        .column("subtask", DataTypes.INT())
                        .column("payload", DataTypes.STRING())
                        .partitionKeys(partitionKeys)
                        .options(allOptions);
        new SchemaManager(LocalFileIO.create(), table.path).createTable(schema.build());
        return table;
    }

    /** The table in {@code directory}, for example the one that a catalog made there. */
    public static AppendTable at(Path directory) {
        return new AppendTable(new org.apache.paimon.fs.Path(directory.toUri()));
    }

    /** The table, reached through {@code fileIO} by whoever uses it. */
    public FileStoreTable open(FileIO fileIO) {
        return FileStoreTableFactory.create(fileIO, path);
    }

    /** Its full name, as messages have it. */
    String name() {
        return open().fullName();
    }

    private FileStoreTable open() {
        return open(LocalFileIO.create());
    }

    /** The snapshots of the table, oldest first. */
    public List<Snapshot> snapshots() throws Exception {
        List<Snapshot> snapshots =
                new ArrayList<>(open().snapshotManager().safelyGetAllSnapshots());
        snapshots.sort(Comparator.comparingLong(Snapshot::id));
        return snapshots;
    }

    /** How many rows the newest snapshot has; 0 without one. */
    public long rowCount() {
        Snapshot latest = open().snapshotManager().latestSnapshot();
        return latest == null ? 0 : latest.totalRecordCount();
    }

    /** The commit identifiers of the snapshots, oldest first. */
    public List<Long> identifiers() throws Exception {
        return snapshots().stream().map(Snapshot::commitIdentifier).collect(Collectors.toList());
    }

    /** Checks that no user has committed an identifier twice, or one below its latest. */
    public void assertIdentifiersAscend() throws Exception {
        Map<String, Long> latest = new HashMap<>();
        for (Snapshot snapshot : snapshots()) {
            Long before = latest.put(snapshot.commitUser(), snapshot.commitIdentifier());
            if (before != null && before >= snapshot.commitIdentifier()) {
                throw new AssertionError(
                        String.format(
                                "Snapshot %d of user %s has the identifier %d after %d",
                                snapshot.id(),
                                snapshot.commitUser(),
                                snapshot.commitIdentifier(),
                                before));
            }
        }
    }

    /** The users that have committed to the table. */
    public Set<String> commitUsers() throws Exception {
        return snapshots().stream().map(Snapshot::commitUser).collect(Collectors.toSet());
    }

    /** How many rows each snapshot added, oldest first. */
    List<Long> addedRows() throws Exception {
        return snapshots().stream().map(Snapshot::deltaRecordCount).collect(Collectors.toList());
    }

    /** The bytes of the files that a snapshot added. */
    long addedBytes(Snapshot snapshot) {
        return open()
                .store()
                .newScan()
                .withSnapshot(snapshot)
                .withKind(ScanMode.DELTA)
                .plan()
                .files(FileKind.ADD)
                .stream()
                .mapToLong(entry -> entry.file().fileSize())
                .sum();
    }

    /** Returns once the table's newest snapshot has this identifier. */
    void awaitIdentifier(long identifier) {
        Await.until(
                "a snapshot with the identifier " + identifier,
                Duration.ofSeconds(30),
                () -> identifiers().contains(identifier),
                () -> "The identifiers are " + identifiers());
    }

    /** The ids of all rows of the newest snapshot, each with how often it is there. */
    private Map<Long, Integer> idCounts() throws Exception {
        Map<Long, Integer> counts = new TreeMap<>();
        forEachRow(row -> counts.merge(row.getLong(0), 1, Integer::sum));
        return counts;
    }

    /** Hands over every row of the newest snapshot. A row is only good until the next one. */
    public void forEachRow(Consumer<InternalRow> consumer) throws Exception {
        ReadBuilder read = open().newReadBuilder();
        try (RecordReader<InternalRow> reader =
                read.newRead().createReader(read.newScan().plan())) {
            reader.forEachRemaining(consumer);
        }
    }

    /** Checks that the table holds each of these ids once and nothing else. */
    public void assertHolds(Collection<Long> expected) throws Exception {
        Map<Long, Integer> counts = idCounts();
        Set<Long> missing = new TreeSet<>(expected);
        missing.removeAll(counts.keySet());
        Set<Long> unexpected = new TreeSet<>(counts.keySet());
        unexpected.removeAll(expected);
        Set<Long> repeated = new TreeSet<>(counts.keySet());
        repeated.removeIf(id -> counts.get(id) == 1);
        if (!missing.isEmpty() || !unexpected.isEmpty() || !repeated.isEmpty()) {
            throw new AssertionError(
                    String.format(
                            "Of %d rows: %s; %s; %s. The snapshots added %s rows under the"
                                    + " identifiers %s.",
                            expected.size(),
                            describe("missing", missing),
                            describe("repeated", repeated),
                            describe("unexpected", unexpected),
                            addedRows(),
                            identifiers()));
        }
    }

    private static String describe(String what, Set<Long> ids) {
        List<Long> examples = ids.stream().limit(EXAMPLES).collect(Collectors.toList());
        return ids.size() + " " + what + (ids.isEmpty() ? "" : " (" + examples + " ...)");
    }

    /** The rows of the newest snapshot as text, sorted. */
    List<String> rows() throws Exception {
        List<String> rows = new ArrayList<>();
        forEachRow(
                row ->
                        rows.add(
                                String.format(
                                        "%d, %d, %s",
                                        row.getLong(0), row.getInt(1), row.getString(2))));
        Collections.sort(rows);
        return rows;
    }

    /** The data files of the newest snapshot. */
    List<DataFileMeta> files() throws Exception {
        return open().store().newScan().plan().files().stream()
                .map(ManifestEntry::file)
                .collect(Collectors.toList());
    }

    /** The tags of the table, each with the snapshot that it keeps. */
    Map<String, Long> tags() throws Exception {
        Map<String, Long> tags = new TreeMap<>();
        for (String name : open().tagManager().allTagNames()) {
            tags.put(name, open().tagManager().getOrThrow(name).id());
        }
        return tags;
    }

    /** Deletes all tags. */
    void deleteTags() throws Exception {
        for (String name : tags().keySet()) {
            open().deleteTag(name);
        }
    }

    /** Deletes a data file. */
    void deleteFile(String name) throws Exception {
        Files.delete(Path.of(path.toUri()).resolve("bucket-0").resolve(name));
    }

    /** Commits rows with these ids, as another program would that writes the same table. */
    public void append(long... ids) throws Exception {
        appendTo(-1, ids);
    }

    /** The same, with this value in the column subtask. */
    void appendTo(int subtask, long... ids) throws Exception {
        BatchWriteBuilder builder = open().newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            for (long id : ids) {
                write.write(
                        GenericRow.of(id, subtask, BinaryString.fromString("payload of " + id)));
            }
            commit.commit(write.prepareCommit());
        }
    }

    /** Compacts small files as a dedicated compaction job does. Returns how many commits it was. */
    int compact() throws Exception {
        FileStoreTable table =
                open().copy(Map.of("write-only", "false", "compaction.min.file-num", "2"));
        List<AppendCompactTask> tasks = new AppendCompactCoordinator(table, false).run();
        String user = UUID.randomUUID().toString();
        for (AppendCompactTask task : tasks) {
            BaseAppendFileStoreWrite write =
                    (BaseAppendFileStoreWrite) table.store().newWrite(user);
            try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                commit.commit(List.of(task.doCompact(table, write)));
            } finally {
                write.close();
            }
        }
        return tasks.size();
    }

    /** All files on disk that belong to nothing, as Paimon's own cleaning would find them. */
    public List<String> orphanFiles() throws Exception {
        long anyAge = Long.MAX_VALUE;
        boolean dryRun = true;
        return new LocalOrphanFilesClean(open(), anyAge, dryRun)
                .clean().getDeletedFilesPath().stream()
                        .map(org.apache.paimon.fs.Path::getName)
                        .collect(Collectors.toList());
    }

    /** The data files on disk that no snapshot knows: left behind by failed attempts. */
    public Set<String> unreferencedFiles() throws Exception {
        Set<String> files = new TreeSet<>();
        Path bucket = Path.of(path.toUri()).resolve("bucket-0");
        if (!bucket.toFile().exists()) {
            return Collections.emptySet();
        }
        try (Stream<Path> paths = Files.list(bucket)) {
            paths.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith("data-"))
                    .forEach(files::add);
        }
        for (ManifestEntry entry : open().store().newScan().plan().files()) {
            files.remove(entry.file().fileName());
        }
        return files;
    }
}
