package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.paimon.Snapshot;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Checkpoints of a job in which nothing fails. */
class OrdinaryCheckpointsJobTest extends JobTest {

    @Test
    void s01EachCheckpointIsOneSnapshotUnderItsId() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            long second = checkpointAfterRows(script, job, 50);
            script.allow(1, 10).awaitDrained();
            long third = job.checkpoint();
            table.awaitIdentifier(third);

            assertEquals(List.of(first, second, third), table.identifiers());
            assertEquals(List.of(400L, 200L, 10L), table.addedRows());
            table.assertHolds(script.ids());
            assertEquals(Set.of(), table.unreferencedFiles());
            assertEquals(
                    1, table.snapshots().stream().map(Snapshot::commitUser).distinct().count());
            assertEquals(1, job.vertices().size(), "only the writers: " + job.vertexNames());
        }
    }

    /**
     * Paimon's writer hands over an empty committable while it has a bucket open, and closes the
     * bucket in the first checkpoint after its files are committed. Only then is a checkpoint
     * empty.
     */
    @Test
    void s02ACheckpointWithoutRowsMakesNoSnapshot() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long beforeAnyRow = job.checkpoint();
            long first = checkpointAfterRows(script, job, 10);
            table.awaitIdentifier(first);
            job.checkpoint();
            long empty = job.checkpoint();
            script.allow(0, 1).awaitDrained();
            long last = job.checkpoint();
            table.awaitIdentifier(last);

            assertFalse(table.identifiers().contains(beforeAnyRow), "" + table.identifiers());
            assertFalse(table.identifiers().contains(empty), "" + table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s02ACheckpointWithoutRowsMakesASnapshotWhenTheTableForcesIt() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        WriteJob writeJob =
                new WriteJob(script, table).tableOption("commit.force-create-snapshot", "true");
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 10);
            long second = job.checkpoint();
            long third = checkpointAfterRows(script, job, 1);
            table.awaitIdentifier(third);

            assertEquals(List.of(first, second, third), table.identifiers());
            assertEquals(List.of(20L, 0L, 2L), table.addedRows());
        }
    }

    @Test
    void s08ACheckpointDoesNotWaitForASlowCommit() throws Exception {
        SourceScript script = SourceScript.create(2);
        AppendTable table = createTable();
        SnapshotCommitGate gate = SnapshotCommitGate.open();
        gate.delay(Duration.ofSeconds(5));
        WriteJob writeJob = new WriteJob(script, table).through(gate);
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 10);
            Await.until("the first commit has reached the rename", () -> gate.inFlight() == 1);
            gate.delay(Duration.ZERO);
            long startNanos = System.nanoTime();
            long second = checkpointAfterRows(script, job, 10);
            long tookMillis = (System.nanoTime() - startNanos) / 1_000_000;

            assertEquals(List.of(), gate.renames(), "the first commit is still under way");
            assertTrue(tookMillis < 2_000, "the next checkpoint took " + tookMillis + " ms");
            table.awaitIdentifier(second);
            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s11EntriesTravelInChunks() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table).option("chunk-size", "7 b");
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            long second = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(second);

            assertEquals(List.of(first, second), table.identifiers());
            table.assertHolds(script.ids());
        }
    }
}
