package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.configuration.Configuration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The adaptive scheduler makes a new coordinator for each failure and each rescaling. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AdaptiveSchedulerJobTest {

    private static final int SLOTS = 4;

    private static TestCluster cluster;

    @TempDir Path directory;

    private final SourceScript script = SourceScript.create(4);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @BeforeAll
    static void startCluster() throws Exception {
        String prefix = "jobmanager.adaptive-scheduler.";
        cluster =
                TestCluster.start(
                        SLOTS,
                        Configuration.fromMap(
                                Map.of(
                                        "jobmanager.scheduler",
                                        "adaptive",
                                        prefix + "submission.resource-stabilization-timeout",
                                        "100 ms",
                                        prefix + "executing.cooldown-after-rescaling",
                                        "0 ms",
                                        prefix + "executing.resource-stabilization-timeout",
                                        "100 ms",
                                        prefix + "rescale-trigger.max-delay",
                                        "100 ms",
                                        // Flink 1.20's names, where the first is 30 s.
                                        prefix + "scaling-interval.min",
                                        "0 ms",
                                        prefix + "resource-stabilization-timeout",
                                        "100 ms")));
    }

    @AfterAll
    static void stopCluster() throws Exception {
        cluster.close();
    }

    @Test
    void s43AFailureAndTwoRescalingsLoseAndRepeatNothing() throws Exception {
        AppendTable table = AppendTable.create(directory.resolve("table"), Map.of());
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            long first = JobTest.checkpointAfterRows(script, job, 100);
            script.allowAll(50).awaitDrained();
            script.failTask(1);
            job.awaitRestoredFrom(first);
            JobTest.checkpointAfterRestore(script, job, 25);
            script.allowAll(10).awaitDrained();
            job.rescale(2);
            table.awaitIdentifier(JobTest.checkpointAfterRestore(script, job, 10));
            job.rescale(4);
            table.awaitIdentifier(JobTest.checkpointAfterRestore(script, job, 5));
            script.allowAll(1).endAll();
            job.finishWithCheckpoints();

            table.assertHolds(script.ids());
            assertEquals(1, table.commitUsers().size());
        }
    }

    @Test
    void s108MetricsGoOnWithEachNewCoordinatorOfOneJobManager() throws Exception {
        AppendTable table = AppendTable.create(directory.resolve("table"), Map.of());
        try (CapturedLog log = CapturedLog.begin();
                RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            ReportedMetrics metrics = new ReportedMetrics(job, table);
            long first = JobTest.checkpointAfterRows(script, job, 100);
            metrics.await("lastCommittedCheckpointId", first);
            metrics.await("numCommits", 1);
            assertEquals(4, metrics.value("commit.lastTableFilesAdded"), "Paimon's own");
            job.rescale(2);
            long second = JobTest.checkpointAfterRestore(script, job, 10);
            metrics.await("lastCommittedCheckpointId", second);
            long before = metrics.value("numCommits");
            job.rescale(3);
            long third = JobTest.checkpointAfterRestore(script, job, 10);
            metrics.await("lastCommittedCheckpointId", third);

            assertTrue(metrics.value("numCommits") > before, "the counter began anew");
            assertEquals(2, metrics.value("phase"));
            assertEquals(0, metrics.value("numPendingEntries"));
            assertEquals(3, metrics.value("commit.lastTableFilesAdded"), "Paimon's own");
            List<String> coordinators = log.containing("starts with Paimon Writer Coordinator");
            assertTrue(coordinators.size() >= 3, coordinators.toString());
            assertEquals(
                    List.of(),
                    log.containing("Name collision").stream()
                            .filter(line -> line.contains("coordinator"))
                            .collect(Collectors.toList()));
        }
    }

    @Test
    void s43ACheckpointThatIsNotCommittedIsCommittedAfterARescaling() throws Exception {
        AppendTable table = AppendTable.create(directory.resolve("table"), Map.of());
        WriteJob writeJob = new WriteJob(script, table).through(gate).withoutCommitRetries();
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            long first = JobTest.checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.breakDown();
            long second = JobTest.checkpointAfterRows(script, job, 50);
            Await.until("the commit has failed", () -> gate.failed() > 0);
            gate.repair();
            job.rescale(3);
            table.awaitIdentifier(second);
            table.assertHolds(script.ids());
            long third = JobTest.checkpointAfterRestore(script, job, 25);
            table.awaitIdentifier(third);

            assertEquals(List.of(first, second, third), table.identifiers());
            table.assertHolds(script.ids());
        }
    }
}
