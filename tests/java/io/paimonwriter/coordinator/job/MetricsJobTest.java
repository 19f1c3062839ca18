package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;

/** What is reported of the coordinator while it commits, fails, and recovers. */
class MetricsJobTest extends JobTest {

    private final SourceScript script = SourceScript.create(2);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    /** Paimon itself would try again; here the coordinator has to. */
    private WriteJob writeJob(AppendTable table) {
        return new WriteJob(script, table)
                .through(gate)
                .tableOption("commit.max-retries", "0")
                .option("commit-retries", "2")
                .option("commit-retry-initial-backoff", "100 ms");
    }

    @Test
    void s108LiveCommitsOneUnderWayAndOneTriedAgain() throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            ReportedMetrics metrics = new ReportedMetrics(job, table);
            metrics.await("phase", 2);
            assertEquals(-1, metrics.value("lastCommittedCheckpointId"));
            assertEquals(-1, metrics.value("lastCommitDurationMillis"));
            assertEquals(0, metrics.value("numCommits"));

            long first = checkpointAfterRows(script, job, 10);
            metrics.await("numCommits", 1);
            metrics.await("numPendingEntries", 0);
            assertEquals(first, metrics.value("lastCompletedCheckpointId"));
            assertEquals(first, metrics.value("lastCommittedCheckpointId"));
            assertTrue(metrics.value("lastCommitDurationMillis") >= 0, "a commit has been timed");
            assertEquals(0, metrics.value("commitAttemptMillis"));

            gate.hold();
            gate.failBefore(1);
            long second = checkpointAfterRows(script, job, 10);
            Await.until("the commit has reached the rename", () -> gate.inFlight() == 1);
            metrics.await("lastCompletedCheckpointId", second);
            assertEquals(first, metrics.value("lastCommittedCheckpointId"));
            assertEquals(2, metrics.value("numPendingEntries"));
            assertTrue(metrics.value("pendingBytes") > 100, "two files have been described");
            assertEquals(1, metrics.value("numDueCommits"));
            assertEquals(0, metrics.value("numAwaitedWriters"));
            Await.until(
                    "time goes by for the attempt and since the last commit",
                    () ->
                            metrics.value("commitAttemptMillis") >= 200
                                    && metrics.value("millisSinceLastCommit") >= 200);
            long pendingSeen = metrics.value("pendingBytes");

            script.allowAll(10).awaitDrained();
            long third = job.checkpoint();
            metrics.await("numDueCommits", 2);
            assertEquals(4, metrics.value("numPendingEntries"));
            assertTrue(metrics.value("pendingBytes") > pendingSeen, "more waits");

            gate.release();
            metrics.await("lastCommittedCheckpointId", third);
            metrics.await("numCommits", 3);
            metrics.await("numPendingEntries", 0);
            assertEquals(0, metrics.value("pendingBytes"));
            assertEquals(0, metrics.value("numDueCommits"));
            assertEquals(1, metrics.value("numCommitFailures"));
            assertEquals(1, metrics.value("numCommitRetries"));
            assertTrue(metrics.value("lastCommitDurationMillis") < 30_000, "of one attempt");
            assertEquals(2, metrics.value("commit.lastTableFilesAdded"), "Paimon's own");
            assertEquals(List.of(first, second, third), table.identifiers());
        }
    }

    @Test
    void s108RecoveryCommitsAfterAFailoverAndAfterALostJobManager() throws Exception {
        AppendTable table = createTable();
        try (CapturedLog log = CapturedLog.begin();
                RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            ReportedMetrics metrics = new ReportedMetrics(job, table);
            gate.breakDown();
            long first = checkpointAfterRows(script, job, 10);
            Await.until("a first try and two more", () -> gate.failed() == 3);
            gate.repair();
            job.awaitRestoredFrom(first);
            metrics.await("lastCommittedCheckpointId", first);
            metrics.await("numCommits", 1);
            assertEquals(3, metrics.value("numCommitFailures"));
            assertEquals(2, metrics.value("numCommitRetries"));
            assertEquals(2, metrics.value("phase"));
            assertEquals(List.of(), log.containing("Name collision"));

            long second = checkpointAfterRows(script, job, 10);
            metrics.await("lastCommittedCheckpointId", second);
            metrics.await("numCommits", 2);

            job.failOverJobManager();
            job.awaitRestoredFrom(second);
            metrics.await("phase", 2);
            assertEquals(second, metrics.value("lastCompletedCheckpointId"));
            assertEquals(0, metrics.value("numCommitFailures"), "counted by each job manager");
            long third = checkpointAfterRestore(script, job, 10);
            metrics.await("lastCommittedCheckpointId", third);
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s108AStaleEventIsCountedAndToldOnce() throws Exception {
        AppendTable table = createTable();
        LossyLink link = LossyLink.create();
        WriteJob writeJob =
                new WriteJob(script, table).through(link).option("confirm-timeout", "1 s");
        try (CapturedLog log = CapturedLog.begin();
                RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            ReportedMetrics metrics = new ReportedMetrics(job, table);
            checkpointAfterRows(script, job, 10);
            script.allowAll(10).awaitDrained();
            link.delayEventsOf(1);
            assertThrows(ExecutionException.class, job::checkpoint);
            long delayed = link.lost();
            assertTrue(delayed > 0, "no event was delayed");
            job.awaitWriterAttempts(0, 1);
            Await.until("the delayed events have arrived", () -> link.lost() == 0);
            Await.until(
                    "they were dropped", () -> metrics.value("numStaleEventsDropped") >= delayed);
            table.awaitIdentifier(checkpointAfterRows(script, job, 10));

            List<String> told = log.containing("dropped an event");
            assertEquals(1, told.size(), told.toString());
            assertTrue(told.get(0).contains("of subtask 1, attempt 0"), told.toString());
            assertTrue(told.get(0).contains(table.name()), told.toString());
            table.assertHolds(script.ids());
        }
    }

    @Test
    void s108EachOfTwoSinksHasItsOwn() throws Exception {
        AppendTable table = AppendTable.create(directory.resolve("even"), Map.of());
        AppendTable other = AppendTable.create(directory.resolve("odd"), Map.of());
        WriteJob held = writeJob(table);
        StreamExecutionEnvironment environment = held.environment(cluster);
        DataStream<RowData> rows = WriteJob.rows(environment, script);
        held.write(rows.filter(row -> row.getLong(0) % 2 == 0));
        new WriteJob(script, other).write(rows.filter(row -> row.getLong(0) % 2 == 1));
        try (RunningJob job = cluster.submit(environment).awaitRunning()) {
            ReportedMetrics even = new ReportedMetrics(job, table);
            ReportedMetrics odd = new ReportedMetrics(job, other);
            gate.hold();
            long first = checkpointAfterRows(script, job, 10);
            odd.await("lastCommittedCheckpointId", first);
            even.await("lastCompletedCheckpointId", first);

            assertEquals(-1, even.value("lastCommittedCheckpointId"));
            assertEquals(1, even.value("numDueCommits"));
            gate.release();
            even.await("lastCommittedCheckpointId", first);
            even.await("numCommits", 1);
            odd.await("numCommits", 1);
        }
    }
}
