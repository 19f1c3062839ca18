package io.paimonwriter.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Jobs under every restart strategy, state backend, checkpoint storage and kind of barrier, in
 * clusters of every scheduler and failover strategy, when a task manager dies under them. See
 * docs/testing.md.
 */
@Tag("one-pair")
@Timeout(value = 300, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MatrixClusterTest extends ClusterTest {

    private static final String LOST = "task-manager-1";

    private ProcessCluster cluster;

    @Test
    void s107s12s34s39s74WithRegionFailover() throws Exception {
        run(
                Map.of(),
                "streaming, fixed-delay, hashmap, jobmanager, aligned, forward, 3",
                "streaming, failure-rate, rocksdb, filesystem, unaligned, shuffled, 0",
                "streaming, exponential-delay, hashmap, filesystem, unaligned, shuffled, 3",
                "streaming, none, rocksdb, jobmanager, aligned, forward, 2",
                "streaming, none, hashmap, filesystem, unaligned, shuffled, 3",
                "streaming, exponential-delay, rocksdb, filesystem, aligned, forward, 0",
                "batch, fixed-delay",
                "batch, exponential-delay",
                "batch, none");
    }

    @Test
    void s107s12s34s39s74WithFullFailover() throws Exception {
        run(
                Map.of(
                        "jobmanager.execution.failover-strategy", "full",
                        "jobmanager.scheduler", "Default"),
                "streaming, fixed-delay, rocksdb, jobmanager, unaligned, shuffled, 1",
                "streaming, failure-rate, hashmap, jobmanager, aligned, forward, 0",
                "streaming, exponential-delay, rocksdb, filesystem, aligned, shuffled, 3",
                "streaming, none, hashmap, filesystem, aligned, forward, 1",
                "batch, failure-rate");
    }

    /**
     * It knows no regions: a loss restarts the whole job, with as many tasks as there are slots.
     */
    @Test
    void s107s43s12s34s39WithTheAdaptiveScheduler() throws Exception {
        run(
                Map.of(
                        "jobmanager.scheduler", "Adaptive",
                        "jobmanager.adaptive-scheduler.submission.resource-wait-timeout", "60 s",
                        "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout",
                                "100 ms",
                        "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling", "0 ms",
                        "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout",
                                "100 ms"),
                "streaming, fixed-delay, rocksdb, filesystem, aligned, shuffled, 3",
                "streaming, failure-rate, hashmap, jobmanager, unaligned, shuffled, 0",
                "streaming, exponential-delay, hashmap, filesystem, aligned, forward, 1",
                "streaming, none, rocksdb, jobmanager, unaligned, shuffled, 2",
                "batch, fixed-delay");
    }

    private void run(Map<String, String> clusterOptions, String... cells) throws Exception {
        boolean full = clusterOptions.containsKey("jobmanager.execution.failover-strategy");
        boolean adaptive = "Adaptive".equals(clusterOptions.get("jobmanager.scheduler"));
        Map<String, String> options = new HashMap<>(clusterOptions);
        options.put("heartbeat.interval", "1 s");
        options.put("heartbeat.timeout", "5 s");
        // So that each task manager has one writer of each job.
        options.put("taskmanager.load-balance.mode", "SLOTS");
        // A savepoint waits for all rows that are on their way, so there may not be too many.
        options.put("taskmanager.memory.segment-size", "4 kb");
        options.put("taskmanager.memory.flink.size", "896m");
        options.put("taskmanager.memory.managed.size", "160m");
        // A survivor may see the loss first; until the job manager does, each restart is in vain.
        options.put("restart-strategy.fixed-delay.delay", "300 ms");
        options.put("restart-strategy.fixed-delay.attempts", "50");
        options.put("restart-strategy.failure-rate.delay", "300 ms");
        options.put("restart-strategy.failure-rate.max-failures-per-interval", "50");
        options.put("restart-strategy.exponential-delay.initial-backoff", "300 ms");
        options.put("restart-strategy.exponential-delay.max-backoff", "1 s");
        cluster = startCluster(2, cells.length + 2, options);
        List<MatrixJob> jobs = new ArrayList<>();
        for (String cell : cells) {
            jobs.add(new MatrixJob(directory, cell));
        }
        Map<MatrixJob, List<Integer>> lost = new HashMap<>();
        for (MatrixJob job : jobs) {
            job.submitTo(cluster);
        }
        for (MatrixJob job : jobs) {
            job.awaitStart();
            lost.put(job, job.writersOn(LOST));
            assertFalse(lost.get(job).isEmpty(), "no writer is on the task manager that goes");
        }
        cluster.startTaskManager("spare");
        for (MatrixJob job : jobs) {
            if (!job.isBatch()) {
                job.awaitCommit();
            }
        }
        cluster.awaitTaskManagers();

        cluster.taskManager(LOST).kill();
        for (MatrixJob job : jobs) {
            // Flink runs a batch job with the adaptive batch scheduler instead of the adaptive one.
            boolean regions = !full && (job.isBatch() || !adaptive);
            job.awaitRecovery(lost.get(job), regions);
        }
        for (MatrixJob job : jobs) {
            job.end();
        }
    }
}
