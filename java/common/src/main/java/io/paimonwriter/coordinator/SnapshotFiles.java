package io.paimonwriter.coordinator;

import org.apache.paimon.Snapshot;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.ScanMode;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The data files that one snapshot has added to the table. */
final class SnapshotFiles {

    private SnapshotFiles() {}

    static Set<String> names(FileStoreTable table, Snapshot snapshot) {
        return added(table, snapshot).stream()
                .map(ManifestEntry::fileName)
                .collect(Collectors.toSet());
    }

    /** What a commit of just these files is made of. */
    static List<Committable> committables(FileStoreTable table, Snapshot snapshot) {
        List<Committable> committables = new ArrayList<>();
        for (ManifestEntry entry : added(table, snapshot)) {
            committables.add(
                    PairCommittables.of(
                            snapshot.commitIdentifier(),
                            new CommitMessageImpl(
                                    entry.partition(),
                                    entry.bucket(),
                                    entry.totalBuckets(),
                                    new DataIncrement(
                                            Collections.singletonList(entry.file()),
                                            Collections.emptyList(),
                                            Collections.emptyList()),
                                    CompactIncrement.emptyIncrement())));
        }
        return committables;
    }

    private static List<ManifestEntry> added(FileStoreTable table, Snapshot snapshot) {
        return table.store()
                .newScan()
                .withSnapshot(snapshot)
                .withKind(ScanMode.DELTA)
                .plan()
                .files(FileKind.ADD);
    }
}
