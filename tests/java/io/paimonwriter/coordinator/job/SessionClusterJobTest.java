package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import io.paimonwriter.coordinator.NativeLibrary;
import io.paimonwriter.coordinator.PaimonCoordinatedSinkBuilder;

import org.apache.paimon.utils.FileOperationThreadPool;
import org.apache.paimon.utils.ManifestReadThreadPool;
import org.junit.jupiter.api.Test;

import java.io.File;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.annotation.Nullable;

/** The jar comes with the jobs of a session cluster, which gives each job a class loader. */
class SessionClusterJobTest extends JobTest {

    private static final int JOBS_IN_TURN = 8;
    private static final int JOBS_AT_ONCE = 3;

    /** The class loaders of coordinators that have been seen, as long as anything needs them. */
    private final Set<ClassLoader> seen = Collections.newSetFromMap(new WeakHashMap<>());

    @Test
    void s104JobsThatComeAndGoLeaveNothingBehind() throws Exception {
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        // Other programs on this machine may have some.
        Set<String> copiesBefore = libraryCopies();
        Set<String> imagesBefore = loadedImages();
        for (int job = 0; job < JOBS_IN_TURN; job++) {
            runAtOnce("in-turn-" + job, 1, UserJar.url(), loaders);
        }
        runAtOnce("at-once", JOBS_AT_ONCE, UserJar.url(), loaders);
        assertEquals(JOBS_IN_TURN + JOBS_AT_ONCE, loaders.size(), "class loaders of jobs");
        CoordinatorThreads.awaitNone();
        assertEquals(
                imagesBefore.size() + loaders.size(),
                loadedImages().size(),
                "one image for each class loader of a coordinator, and none for the tasks");
        Await.until(
                "no copy of the library is left", () -> copiesBefore.containsAll(libraryCopies()));
        endIdleThreads(FileOperationThreadPool.getExecutorService(1));
        endIdleThreads(ManifestReadThreadPool.getExecutorService(null));
        Await.until(
                "all class loaders are collected",
                Duration.ofSeconds(30),
                () -> {
                    System.gc();
                    return loaders.stream().allMatch(loader -> loader.get() == null);
                },
                () ->
                        loaders.stream().filter(loader -> loader.get() != null).count()
                                + " are left");
    }

    @Test
    void s104h23JobsOfALibraryInTheParentClassPathShareOneImage() throws Exception {
        Set<String> imagesBefore = loadedImages();

        runAtOnce("in-turn", 1, null, new ArrayList<>());
        runAtOnce("at-once", JOBS_AT_ONCE, null, new ArrayList<>());

        assertEquals(imagesBefore, loadedImages());
        CoordinatorThreads.awaitNone();
    }

    /**
     * The images of our library that this process has mapped, by the names that their files had;
     * the one of this class loader is always among them.
     */
    private static Set<String> loadedImages() throws Exception {
        NativeLibrary.load();
        try (Stream<String> mappings = Files.lines(Paths.get("/proc/self/maps"))) {
            return mappings.filter(mapping -> mapping.contains("/paimon_writer_coordinator"))
                    .map(mapping -> mapping.substring(mapping.indexOf('/')))
                    .collect(Collectors.toSet());
        }
    }

    /**
     * Paimon's pools belong to the whole JVM. Each of their threads keeps the class loaders of the
     * code that made it, in the access control context that it inherits, and is gone when it has
     * been idle for a minute.
     */
    private static void endIdleThreads(ExecutorService pool) {
        ThreadPoolExecutor executor = (ThreadPoolExecutor) pool;
        long keepAliveNanos = executor.getKeepAliveTime(TimeUnit.NANOSECONDS);
        executor.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
        Await.until("Paimon's idle threads have ended", () -> executor.getPoolSize() == 0);
        executor.setKeepAliveTime(keepAliveNanos, TimeUnit.NANOSECONDS);
    }

    private static Set<String> libraryCopies() {
        File directory = new File(System.getProperty("java.io.tmpdir"));
        return Set.of(
                directory.list((parent, name) -> name.startsWith("paimon_writer_coordinator")));
    }

    /** Every second job is cancelled while it runs; the others end by themselves. */
    private void runAtOnce(
            String name, int count, @Nullable URL userJar, List<WeakReference<ClassLoader>> loaders)
            throws Exception {
        List<SourceScript> scripts = new ArrayList<>();
        List<AppendTable> tables = new ArrayList<>();
        List<RunningJob> jobs = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            scripts.add(SourceScript.create(2));
            tables.add(AppendTable.create(directory.resolve(name + "-" + i), Map.of()));
            WriteJob writeJob = new WriteJob(scripts.get(i), tables.get(i));
            jobs.add(writeJob.userJar(userJar).submitTo(cluster));
        }
        for (int i = 0; i < count; i++) {
            RunningJob job = jobs.get(i).awaitRunning();
            tables.get(i).awaitIdentifier(checkpointAfterRows(scripts.get(i), job, 10));
        }
        if (userJar != null) {
            rememberLoaders(loaders);
        }
        for (int i = 0; i < count; i++) {
            if ((loaders.size() + i) % 2 == 0) {
                jobs.get(i).cancel();
            } else {
                scripts.get(i).allowAll(5).endAll();
                jobs.get(i).awaitFinished();
            }
            tables.get(i).assertHolds(scripts.get(i).ids());
        }
    }

    private void rememberLoaders(List<WeakReference<ClassLoader>> loaders) throws Exception {
        for (Thread thread : CoordinatorThreads.alive()) {
            ClassLoader context = thread.getContextClassLoader();
            if (context == null) {
                continue;
            }
            // Flink wraps the loader of a job, and only what is inside has the classes.
            ClassLoader loader =
                    Class.forName(PaimonCoordinatedSinkBuilder.class.getName(), false, context)
                            .getClassLoader();
            assertNotSame(PaimonCoordinatedSinkBuilder.class.getClassLoader(), loader);
            if (seen.add(loader)) {
                loaders.add(new WeakReference<>(loader));
            }
        }
    }
}
