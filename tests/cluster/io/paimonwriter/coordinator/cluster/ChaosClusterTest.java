package io.paimonwriter.coordinator.cluster;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A short run of scripts/chaos. */
@Tag("one-pair")
class ChaosClusterTest extends ClusterTest {

    /** With a job manager, a task manager and a file system that fail, some of them together. */
    private static final long SEED = 1;

    private static final int ROUNDS = 4;

    @Test
    @Timeout(value = 400, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void s33EveryRowIsWrittenOnceWhateverDies() throws Exception {
        ProcessCluster cluster = startCluster(Chaos.TASK_MANAGERS, Chaos.SLOTS, Chaos.OPTIONS);
        AtomicInteger rounds = new AtomicInteger();
        new Chaos(cluster, directory, Chaos.FEW_RETRIES, SEED)
                .run(() -> rounds.incrementAndGet() < ROUNDS);
    }
}
