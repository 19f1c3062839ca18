package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The real library behind {@link NativeHandle} and {@link NativeLoop}, without Flink and without a
 * table.
 */
@Timeout(300)
class NativeBoundaryTest {

    private static final int EVENTS = 100_000;
    private static final int LIVES = 300;
    private static final int PAYLOAD_BYTES = 1 << 20;
    private static final UUID INCARNATION = new UUID(1, 2);

    /** Characters of one to four bytes: the JVM's own UTF-8 differs from Rust's in the last. */
    private static final String TABLE = "db.tä€\uD83D\uDE00";

    private static final CoordinatorSettings SETTINGS =
            CoordinatorSettings.builder("user", TABLE, "Writer").checkpointingEnabled(true).build();

    @TempDir private Path folder;

    @BeforeAll
    static void loadLibrary() {
        NativeLibrary.load();
    }

    /**
     * Of each event four kilobytes go in and come out again, which the heap could not hold if a
     * local reference kept them.
     */
    @Test
    void h24LocalReferencesStayConstantOverManyEvents() throws Exception {
        String text = runInAnotherJvm("events");

        assertTrue(text.contains("completed " + EVENTS), text);
        assertFalse(text.contains("JNI local refs"), text);
        assertFalse(text.contains("FATAL ERROR"), text);
    }

    /** A session cluster's jobs: each coordinator holds a megabyte of native memory at its end. */
    @Test
    void s104s106CoordinatorsThatEndGiveTheirNativeMemoryBack() throws Exception {
        String text = runInAnotherJvm("lives");

        Matcher growth = Pattern.compile("grown by (-?[0-9]+) kB").matcher(text);
        assertTrue(growth.find(), text);
        assertTrue(Long.parseLong(growth.group(1)) < LIVES * PAYLOAD_BYTES / 1024 / 4, text);
    }

    /**
     * -Xcheck:jni prints what it finds to its JVM's output alone, and in a small JVM the memory of
     * the process tells something.
     */
    private String runInAnotherJvm(String what) throws Exception {
        File output = folder.resolve("output").toFile();
        Process process =
                new ProcessBuilder(
                                Paths.get(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-Xcheck:jni",
                                "-Xms64m",
                                "-Xmx64m",
                                "-XX:+AlwaysPreTouch",
                                "-cp",
                                System.getProperty("java.class.path"),
                                NativeBoundaryTest.class.getName(),
                                what)
                        .redirectErrorStream(true)
                        .redirectOutput(output)
                        .start();
        try {
            assertTrue(process.waitFor(240, TimeUnit.SECONDS), what + " take too long");
        } finally {
            process.destroyForcibly();
        }
        String text = new String(Files.readAllBytes(output.toPath()), StandardCharsets.UTF_8);
        assertEquals(0, process.exitValue(), text);
        return text;
    }

    @Test
    void s105SettingsThatAreNotOursAreRefusedInWholeSentences() {
        RuntimeException error =
                assertThrows(
                        RuntimeException.class,
                        () -> new NativeHandle(NativeCoordinator.INSTANCE, new byte[] {1, 2, 3}));

        assertEquals(
                "The coordinator's settings of 3 bytes cannot be read; the jar and its native"
                        + " library do not belong together.",
                error.getMessage());
    }

    @Test
    void s105WhatTheCoreRefusesArrivesWithEveryCharacter() throws Exception {
        Running running = new Running();
        running.begin();

        running.handle.handleEvent(0, 0, new byte[] {1});

        Throwable failure = running.jobFailure.get(60, TimeUnit.SECONDS);
        String expected = "Table " + TABLE + ", operator 'Writer': subtask 0 (attempt 0) sent an";
        assertTrue(failure.getMessage().startsWith(expected), failure.getMessage());
        assertTrue(running.loop.close(60_000));
    }

    @Test
    void s106ALoopIsEnteredOnceAndAClosedOneRefusesCalls() throws Exception {
        Running running = new Running();
        running.begin();
        running.checkpoint(1).get(60, TimeUnit.SECONDS);

        RuntimeException twice =
                assertThrows(RuntimeException.class, () -> running.handle.run(null));
        assertEquals("The loop of this coordinator was entered before.", twice.getMessage());

        RuntimeException unknown =
                assertThrows(RuntimeException.class, () -> running.handle.notify(99, 0, 0, 0, 0));
        assertEquals("There is no notification of kind 99.", unknown.getMessage());

        assertTrue(running.loop.close(60_000));
        assertThrows(
                IllegalStateException.class, () -> running.handle.handleEvent(0, 0, new byte[1]));
        ExecutionException declined =
                assertThrows(
                        ExecutionException.class,
                        () -> running.checkpoint(2).get(60, TimeUnit.SECONDS));
        assertTrue(
                declined.getMessage().contains(TABLE + ", operator 'Writer': checkpoint 2"),
                declined.getMessage());
        running.handle.destroy();
    }

    /** What the other JVM runs. */
    public static void main(String[] args) throws Exception {
        NativeLibrary.load();
        if (args[0].equals("events")) {
            sendEvents();
        } else {
            liveAndEnd();
        }
    }

    private static void liveAndEnd() throws Exception {
        long before = 0;
        for (int life = -LIVES / 10; life < LIVES; life++) {
            if (life == 0) {
                before = residentKilobytes();
            }
            // One with the entry in its ledger, and one that never ran, with the entry in its
            // queue.
            Running running = new Running();
            byte[] event = running.entryOf(PAYLOAD_BYTES);
            running.begin();
            running.handle.handleEvent(0, 0, event);
            assertTrue(running.checkpoint(1).get(60, TimeUnit.SECONDS).length > PAYLOAD_BYTES);
            assertTrue(running.loop.close(60_000));
            NativeHandle neverRun =
                    new NativeHandle(NativeCoordinator.INSTANCE, SETTINGS.encode(1));
            neverRun.handleEvent(0, 0, event);
            neverRun.destroy();
        }
        System.out.println("grown by " + (residentKilobytes() - before) + " kB");
    }

    private static long residentKilobytes() throws Exception {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new AssertionError("there is no VmRSS");
    }

    private static void sendEvents() throws Exception {
        Running running = new Running();
        running.begin();
        byte[] event = running.entryOf(4096);
        CompletableFuture<byte[]> last = null;
        for (int i = 0; i < EVENTS; i++) {
            running.handle.handleEvent(0, 0, event);
            last = running.checkpoint(1);
            if (i % 100 == 0) {
                last.get(60, TimeUnit.SECONDS);
            }
        }
        assertNotNull(last);
        assertTrue(last.get(60, TimeUnit.SECONDS).length > 4096, "the entry is in the bytes");
        assertTrue(running.loop.close(60_000));
        assertFalse(running.jobFailure.isDone());
        System.out.println("completed " + EVENTS);
    }

    /** A loop of one writer whose committer is never asked to commit. */
    private static final class Running {

        final NativeHandle handle =
                new NativeHandle(NativeCoordinator.INSTANCE, SETTINGS.encode(1));
        final CompletableFuture<Throwable> jobFailure = new CompletableFuture<>();
        final NativeLoop loop;

        Running() {
            ClassLoader classLoader = NativeBoundaryTest.class.getClassLoader();
            // Not started: it only queues what it is asked for.
            CoordinatorMetrics metrics =
                    CoordinatorMetrics.of(new UnregisteredMetricsGroup(), TABLE);
            TableCommitter committer =
                    new TableCommitter(
                            SETTINGS,
                            null,
                            metrics,
                            classLoader,
                            handle::committerReported,
                            jobFailure::complete);
            loop =
                    new NativeLoop(
                            handle,
                            SETTINGS,
                            committer,
                            metrics,
                            classLoader,
                            jobFailure::complete,
                            failure -> {});
        }

        void begin() {
            loop.start();
            handle.reset(1, -1, null, "fresh");
            handle.committerReported(1, 0, CommitFailure.NONE, Long.MIN_VALUE, null, null);
            handle.notify(NativeHandle.ATTEMPT_READY, 0, 0, 0, 0);
        }

        CompletableFuture<byte[]> checkpoint(long checkpointId) {
            CompletableFuture<byte[]> future = new CompletableFuture<>();
            loop.checkpoint(checkpointId, future);
            return future;
        }

        byte[] entryOf(int payloadBytes) {
            WriterEntry entry =
                    WriterEntry.ofCheckpoint(
                            INCARNATION,
                            1,
                            0,
                            false,
                            WriterEntry.CommittableBytes.of(
                                    3, Collections.singletonList(new byte[payloadBytes])));
            WriterIdentity sender = new WriterIdentity(TABLE, 0, 0, INCARNATION);
            return WriterEvent.split(WriterEvent.Kind.ENTRY, sender, 1, entry.encode(), 1 << 21)
                    .get(0)
                    .bytes();
        }
    }
}
