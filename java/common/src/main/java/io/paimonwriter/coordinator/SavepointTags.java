package io.paimonwriter.coordinator;

import org.apache.paimon.Snapshot;
import org.apache.paimon.flink.FlinkConnectorOptions;
import org.apache.paimon.flink.sink.AutoTagForSavepointCommitterOperator;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;

import java.util.Collections;

/**
 * Tags the snapshots of savepoints, named as Paimon's committer names them, for tables that ask for
 * it with Paimon's own option.
 */
final class SavepointTags {

    private final FileStoreTable table;
    private final boolean enabled;

    SavepointTags(FileStoreTable table) {
        this.table = table;
        this.enabled =
                Options.fromMap(table.options())
                        .get(FlinkConnectorOptions.SINK_AUTO_TAG_FOR_SAVEPOINT);
    }

    /**
     * Tags the snapshot of a savepoint, unless it has its tag or the savepoint made no snapshot.
     */
    void create(String commitUser, long identifier) {
        if (!enabled) {
            return;
        }
        for (Snapshot snapshot :
                table.snapshotManager()
                        .findSnapshotsForIdentifiers(
                                commitUser, Collections.singletonList(identifier))) {
            table.tagManager()
                    .createTag(
                            snapshot,
                            name(identifier),
                            table.coreOptions().tagDefaultTimeRetained(),
                            table.store().createTagCallbacks(table),
                            true);
        }
    }

    /** Takes the tag away, if there is one: the savepoint was aborted after all. */
    void delete(long identifier) {
        if (enabled && table.tagManager().tagExists(name(identifier))) {
            table.tagManager()
                    .deleteTag(
                            name(identifier),
                            table.store().newTagDeletion(),
                            table.snapshotManager(),
                            table.store().createTagCallbacks(table));
        }
    }

    private static String name(long identifier) {
        return AutoTagForSavepointCommitterOperator.SAVEPOINT_TAG_PREFIX + identifier;
    }
}
