package io.paimonwriter.coordinator.job;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A cluster for the tests of one class, and an empty directory for each test. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class JobTest {

    private static final int SLOTS = 8;

    static TestCluster cluster;

    @TempDir Path directory;

    @BeforeAll
    static void startCluster() throws Exception {
        cluster = TestCluster.start(SLOTS);
    }

    @AfterAll
    static void stopCluster() throws Exception {
        cluster.close();
    }

    AppendTable createTable() throws Exception {
        return AppendTable.create(directory.resolve("table"), Map.of());
    }

    /** Lets the source emit so many rows of each split, then takes a checkpoint. Returns its id. */
    static long checkpointAfterRows(SourceScript script, RunningJob job, long rows)
            throws Exception {
        script.allowAll(rows).awaitDrained();
        return job.checkpoint();
    }

    /** The same for a job that has just been restored as a whole. */
    static long checkpointAfterRestore(SourceScript script, RunningJob job, long rows) {
        script.allowAll(rows).awaitDrained();
        return job.checkpointWhenPossible();
    }
}
