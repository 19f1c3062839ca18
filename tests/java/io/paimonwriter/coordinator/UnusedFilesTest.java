package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.fs.Path;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;

class UnusedFilesTest {

    private static final String USER = "user";

    @TempDir private java.nio.file.Path folder;

    private LocalTable table;

    @BeforeEach
    void create() throws Exception {
        table = LocalTable.create(folder, Map.of());
    }

    @Test
    void s72FilesOfASecondRunAreDeleted() throws Exception {
        List<Committable> first = table.write(Long.MAX_VALUE, 1);
        commit(Long.MAX_VALUE, first);
        List<Committable> second = table.write(Long.MAX_VALUE, 1);

        delete(second);

        assertFalse(exists(second));
        assertTrue(exists(first));
        assertEquals(1, table.rows());
    }

    @Test
    void h09FilesOfTheFinalCommitStay() throws Exception {
        List<Committable> first = table.write(Long.MAX_VALUE, 1);
        commit(Long.MAX_VALUE, first);

        delete(first);

        assertTrue(exists(first));
    }

    @Test
    void h09WithoutTheFinalSnapshotEverythingStays() throws Exception {
        commit(7, table.write(7, 0));
        List<Committable> second = table.write(Long.MAX_VALUE, 1);

        delete(second);

        assertTrue(exists(second));
    }

    private void delete(List<Committable> committables) throws Exception {
        List<byte[]> serialized = new ArrayList<>();
        for (Committable committable : committables) {
            serialized.add(LocalTable.serialize(committable));
        }
        WriterEntry entry =
                WriterEntry.ofEndOfInput(
                        UUID.randomUUID(),
                        -1,
                        Long.MIN_VALUE,
                        false,
                        CommittableBytes.of(LocalTable.serializerVersion(), serialized));
        new UnusedFiles(table.table, USER).delete(entry);
    }

    private void commit(long identifier, List<Committable> committables) throws Exception {
        try (TableCommitImpl commit = table.table.newCommit(USER)) {
            commit.commit(
                    identifier,
                    committables.stream()
                            .map(PairCommittables::message)
                            .collect(Collectors.toList()));
        }
    }

    private boolean exists(List<Committable> committables) throws Exception {
        DataFileMeta file =
                ((CommitMessageImpl) PairCommittables.message(committables.get(0)))
                        .newFilesIncrement()
                        .newFiles()
                        .get(0);
        return table.table
                .fileIO()
                .exists(new Path(new Path(table.table.location(), "bucket-0"), file.fileName()));
    }
}
