package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.utils.TagManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;

/** Savepoints: taken, stopped with, restored in another shape, or restored too late. */
class SavepointJobTest extends JobTest {

    private final SourceScript script = SourceScript.create(4);

    private String savepoints() {
        return directory.resolve("savepoints").toUri().toString();
    }

    @Test
    void s07ASavepointIsCommittedWithTheNextCheckpointUnderItsOwnIdentifier() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            job.savepoint(savepoints());
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            assertEquals(List.of(first, first + 1, last), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @ParameterizedTest(name = "restored from it before its commit: {0}")
    @ValueSource(booleans = {false, true})
    void s40TheSnapshotOfASavepointIsTagged(boolean restored) throws Exception {
        AppendTable table = createTable();
        String path;
        long savepoint;
        try (RunningJob job = taggingJob(table).submitTo(cluster).awaitRunning()) {
            savepoint = checkpointAfterRows(script, job, 100) + 1;
            script.allowAll(50).awaitDrained();
            path = job.savepoint(savepoints());
            if (!restored) {
                table.awaitIdentifier(checkpointAfterRows(script, job, 25));
            }
        }
        if (restored) {
            try (RunningJob job =
                    taggingJob(table).restoreFrom(path).submitTo(cluster).awaitRunning()) {
                table.awaitIdentifier(checkpointAfterRows(script, job, 25));
            }
        }
        TagManager tags = table.open(LocalFileIO.create()).tagManager();
        String tag = "savepoint-" + savepoint;
        assertEquals(List.of(tag), tags.allTagNames());
        assertEquals(savepoint, tags.getOrThrow(tag).trimToSnapshot().commitIdentifier());
        table.assertHolds(script.ids());
    }

    private WriteJob taggingJob(AppendTable table) {
        return new WriteJob(script, table).tableOption("sink.savepoint.auto-tag", "true");
    }

    @ParameterizedTest(name = "drain: {0}")
    @ValueSource(booleans = {false, true})
    void s39StoppedWithASavepointAllIsInTheTableAndAResumedJobGoesOn(boolean drain)
            throws Exception {
        AppendTable table = createTable();
        SnapshotCommitGate slow = SnapshotCommitGate.open();
        slow.delay(Duration.ofSeconds(1));
        String path;
        try (RunningJob job =
                new WriteJob(script, table).through(slow).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            path = job.stopWithSavepoint(savepoints(), drain);
        }
        table.assertHolds(script.ids());
        // Twice, so that the fresh commit user after a drain is restored as well.
        for (int round = 0; round < 2; round++) {
            try (RunningJob job =
                    new WriteJob(script, table)
                            .restoreFrom(path)
                            .submitTo(cluster)
                            .awaitRunning()) {
                checkpointAfterRows(script, job, 30);
                script.allowAll(20).awaitDrained();
                path = job.stopWithSavepoint(savepoints(), drain);
            }
            table.assertHolds(script.ids());
        }
    }

    @ParameterizedTest(name = "from {0} to {1} subtasks")
    @CsvSource({"4, 2", "4, 3", "2, 4"})
    void s34RescaledThroughASavepointWithEntriesThatAreNotCommitted(int before, int after)
            throws Exception {
        AppendTable table = createTable();
        SnapshotCommitGate gate = SnapshotCommitGate.open();
        String path;
        long first;
        try (RunningJob job =
                new WriteJob(script, table)
                        .through(gate)
                        .parallelism(before)
                        .submitTo(cluster)
                        .awaitRunning()) {
            first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.breakDown();
            script.allowAll(50).awaitDrained();
            path = job.savepoint(savepoints());
        }
        gate.repair();
        try (RunningJob job =
                new WriteJob(script, table)
                        .parallelism(after)
                        .restoreFrom(path)
                        .submitTo(cluster)
                        .awaitRunning()) {
            table.awaitIdentifier(first + 1);
            table.awaitIdentifier(checkpointAfterRows(script, job, 25));
            script.allowAll(5).endAll();
            job.awaitFinished();

            table.assertHolds(script.ids());
            List<Long> identifiers = table.identifiers();
            assertEquals(identifiers.size(), identifiers.stream().distinct().count());
        }
    }

    @Test
    void s35FromAnOlderSavepointLiveCheckpointsAreCommittedWhateverTheirIds() throws Exception {
        AppendTable table = createTable();
        String path;
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            path = job.savepoint(savepoints());
            for (int i = 0; i < 4; i++) {
                table.awaitIdentifier(checkpointAfterRows(script, job, 10));
            }
        }
        try (RunningJob job =
                new WriteJob(script, table).restoreFrom(path).submitTo(cluster).awaitRunning()) {
            int before = table.snapshots().size();
            long live = checkpointAfterRows(script, job, 25);
            Await.until(
                    "the live checkpoint is committed", () -> table.snapshots().size() > before);
            assertEquals(live, table.identifiers().get(before));
            // What is live is under the fresh user's identifiers, so a failover filters it too.
            script.failJob();
            job.awaitRestoredFrom(live);
            long next = checkpointAfterRows(script, job, 5);
            Await.until("the next one as well", () -> table.snapshots().size() > before + 1);
            assertEquals(List.of(live, next), table.identifiers().subList(before, before + 2));
        }
    }

    @ParameterizedTest(name = "{0} = {1}")
    @CsvSource({
        "execution.checkpointing.unaligned.enabled, true",
        "execution.checkpointing.max-concurrent-checkpoints, 3",
    })
    void s12h28s05AJobWithFailuresHoldsEachRowOnce(String key, String value) throws Exception {
        AppendTable table = createTable();
        WriteJob frequent =
                new WriteJob(script, table)
                        .flinkOption(key, value)
                        .checkpointEvery(Duration.ofMillis(100));
        try (RunningJob job = frequent.submitTo(cluster).awaitRunning()) {
            script.allowAll(500).awaitDrained();
            script.failTask(1);
            script.allowAll(500).awaitDrained();
            script.failJob();
            script.allowAll(500).awaitDrained();
            script.endAll();
            job.awaitFinished();

            table.assertHolds(script.ids());
        }
    }
}
