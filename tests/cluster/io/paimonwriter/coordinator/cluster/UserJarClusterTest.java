package io.paimonwriter.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.job.AppendTable;
import io.paimonwriter.coordinator.job.Await;
import io.paimonwriter.coordinator.job.UserJar;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.paimon.fs.local.LocalFileIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A session cluster to which the same user jar is submitted again and again. */
@Tag("on-request")
@Timeout(value = 300, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UserJarClusterTest extends ClusterTest {

    private static final int WARM_UP_ROUNDS = 3;
    private static final int ROUNDS = 15;
    private static final int AT_ONCE = 2;

    /** Paimon's threads keep the class loaders of jobs until they have been idle for a minute. */
    private static final Duration IDLE_LIMIT = Duration.ofSeconds(110);

    /**
     * A thread of the whole process that some job was the first to need keeps that job's class
     * loader. There are few such threads, and no more with more jobs.
     */
    private static final int LASTING_LOADERS = 4;

    /** Its pools fill slowly. */
    private static final int FLINKS_LATE_THREADS = 4;

    /** What the heaps of both processes may still grow by, which are not full when warm. */
    private static final int HEAP_KB = 100 << 10;

    private ProcessCluster cluster;
    private int submissions;

    @Test
    void s104ThirtySubmissionsTwoAtOnceLeaveOnlyTheirMappedLibraries() throws Exception {
        cluster =
                startCluster(
                        1,
                        AT_ONCE,
                        Map.of(
                                "execution.checkpointing.interval", "100 ms",
                                // A task manager would keep the jars of jobs for an hour.
                                "blob.service.cleanup.interval", "1"));
        runRounds(WARM_UP_ROUNDS);
        int loaded = submissions;
        // Those of the last jobs go within seconds.
        long filesWhenWarm = temporaryFiles();
        Footprint jobManager = print("warm", cluster.jobManager());
        Footprint taskManager = print("warm", taskManager());
        runRounds(ROUNDS);
        print("just after", cluster.jobManager());
        print("just after", taskManager());
        Await.until(
                "the class loaders of all jobs are gone",
                IDLE_LIMIT,
                () ->
                        Footprint.of(cluster.jobManager()).jobLoaders == 0
                                && Footprint.of(taskManager()).jobLoaders <= LASTING_LOADERS,
                () -> print("left", cluster.jobManager()) + "; " + print("left", taskManager()));
        Footprint jobManagerAfter = print("idle", cluster.jobManager());
        Footprint taskManagerAfter = print("idle", taskManager());
        assertBackFrom(jobManagerAfter, jobManager);
        assertBackFrom(taskManagerAfter, taskManager);
        assertEquals(submissions - loaded, jobManagerAfter.images - jobManager.images);
        assertEquals(0, taskManagerAfter.images);
        assertTrue(temporaryFiles() <= filesWhenWarm, "temporary files");
    }

    private long temporaryFiles() throws Exception {
        return Footprint.files(directory.resolve("tmp"));
    }

    private JavaProcess taskManager() {
        return cluster.taskManager("task-manager-1");
    }

    private void assertBackFrom(Footprint after, Footprint warm) {
        assertTrue(after.metaspaceKb <= warm.metaspaceKb, "metaspace");
        assertTrue(after.threads <= warm.threads + FLINKS_LATE_THREADS, "threads");
        assertTrue(after.residentKb <= warm.residentKb + HEAP_KB, "resident memory");
    }

    private Footprint print(String when, JavaProcess process) throws Exception {
        Footprint footprint = Footprint.of(process);
        System.out.printf("%s: %s; %d temporary files%n", when, footprint, temporaryFiles());
        return footprint;
    }

    /** In each round one job ends by itself and the other is cancelled. */
    private void runRounds(int rounds) throws Exception {
        for (int round = 0; round < rounds; round++) {
            Path first = directory.resolve("job-" + submissions++);
            Path second = directory.resolve("job-" + submissions++);
            AppendTable firstTable = AppendTable.create(first.resolve("table"), Map.of());
            AppendTable secondTable = AppendTable.create(second.resolve("table"), Map.of());
            GatedSource source = new GatedSource("rows", new Gates(first), 1, 100);
            GatedSource endless = new GatedSource("rows", new Gates(second), 1, 100);
            ClusterJob job = submit(source, firstTable);
            ClusterJob cancelled = submit(endless, secondTable);
            cancelled.await("a commit", () -> !secondTable.identifiers().isEmpty());
            cancelled.cancel();
            source.openAll();
            job.awaitFinished();
            firstTable.assertHolds(source.ids());
        }
    }

    private ClusterJob submit(GatedSource source, AppendTable table) throws Exception {
        Configuration configuration = cluster.configuration();
        configuration.set(PipelineOptions.JARS, List.of(UserJar.url().toString()));
        StreamExecutionEnvironment environment = new StreamExecutionEnvironment(configuration);
        write(source, table, LocalFileIO.create(), environment);
        return cluster.submit(environment);
    }
}
