package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.concurrent.ExecutionException;

/** A writer task fails while its coordinator stays up. */
class WriterFailoverJobTest extends JobTest {

    @Test
    void s20AWriterThatFailsBetweenCheckpointsLosesAndRepeatsNothing() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            script.failTask(2);
            job.awaitWriterAttempts(0, 0, 1, 0);
            long second = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(second);

            assertEquals(List.of(first, second), table.identifiers());
            assertEquals(List.of(400L, 300L), table.addedRows());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s20AWriterThatFailsBeforeTheFirstCheckpointStartsAfresh() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        script.failAtRow(1, 60);
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster)) {
            script.allowAll(100);
            job.awaitWriterAttempts(0, 1, 0, 0);
            script.awaitDrained();
            long first = job.checkpoint();
            table.awaitIdentifier(first);

            assertEquals(List.of(first), table.identifiers());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s06AWriterThatFailsInACheckpointAfterItsEventWasSent() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            script.failInSnapshot(3);
            assertThrows(ExecutionException.class, job::checkpoint);
            job.awaitWriterAttempts(0, 0, 0, 1);
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            table.assertHolds(script.ids());
        }
    }

    @Test
    void s24AWriterWhoseEventIsLostFailsItselfAndItsCheckpoint() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        LossyLink link = LossyLink.create();
        WriteJob writeJob =
                new WriteJob(script, table).through(link).option("confirm-timeout", "1 s");
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            script.allowAll(50).awaitDrained();
            link.loseEventsOf(1);
            assertThrows(ExecutionException.class, job::checkpoint);
            job.awaitWriterAttempts(0, 1, 0, 0);
            AbstractCheckpointStats failed = job.checkpoints().getLatestFailedCheckpoint();
            assertTrue(link.lost() > 0, "no event was lost");
            assertTrue(failed.getCheckpointId() > first, "no later checkpoint failed");
            assertEquals(List.of(first), table.identifiers());
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            table.assertHolds(script.ids());
            assertEquals(List.of(0, 1, 0, 0), job.writerAttempts());
        }
    }

    @Test
    void s22AnEventThatArrivesAfterItsAttemptIsOverIsDropped() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        LossyLink link = LossyLink.create();
        WriteJob writeJob =
                new WriteJob(script, table).through(link).option("confirm-timeout", "1 s");
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            link.delayEventsOf(1);
            assertThrows(ExecutionException.class, job::checkpoint);
            assertTrue(link.lost() > 0, "no event was delayed");
            job.awaitWriterAttempts(0, 1, 0, 0);
            Await.until("the delayed events have arrived", () -> link.lost() == 0);
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            table.assertHolds(script.ids());
        }
    }

    @Test
    void s28OneLostTaskRestartsItsOwnRegionOnly() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.failTask(2);
            job.awaitWriterAttempts(0, 0, 1, 0);
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            assertEquals(List.of(0, 0, 1, 0), job.writerAttempts());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s28OneLostTaskRestartsTheWholeJobWithPaimonsCommitter() throws Exception {
        SourceScript script = SourceScript.create(4);
        AppendTable table = createTable();
        WriteJob writeJob = new WriteJob(script, table).withPaimonsCommitter();
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, 100);
            script.failTask(2);
            job.awaitWriterAttempts(1, 1, 1, 1);
            long last = checkpointAfterRows(script, job, 25);
            table.awaitIdentifier(last);

            for (AccessExecutionJobVertex vertex : job.vertices()) {
                RunningJob.attempts(vertex).forEach(attempt -> assertEquals(1, attempt));
            }
            table.assertHolds(script.ids());
        }
    }
}
