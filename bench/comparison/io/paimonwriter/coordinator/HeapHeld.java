package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.paimon.flink.sink.Committable;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What a million data files cost that wait for their commit, in a JVM of its own for each side:
 * Java heap and native memory for each file, and the time that the garbage collector takes while
 * they are reported.
 *
 * <p>The heap is touched when the JVM starts, so whatever the process grows by is native memory. It
 * counts what lives after full collections, before the events are there and after they are gone. In
 * between all events are held, on both sides alike, as they would not be in a job manager; the
 * collections that are timed find them there already. In the end the last checkpoint completes, and
 * the committer, which counts here instead of committing, must be given all of the files.
 */
public final class HeapHeld {

    static final int WRITERS = 1_000;
    static final int CHECKPOINTS = 10;
    static final int FILES_OF_EVENT = 100;
    static final long FILES = (long) WRITERS * CHECKPOINTS * FILES_OF_EVENT;

    private HeapHeld() {}

    /**
     * Prints heap bytes and native bytes for each file, and milliseconds of garbage collection.
     *
     * @param arguments the side, the folder of the table
     */
    public static void main(String[] arguments) throws Exception {
        Side side = Side.valueOf(arguments[0]);
        BenchTable table = BenchTable.open(Path.of(arguments[1]));
        try (BenchJob job = BenchJob.start(side, table, WRITERS)) {
            job.watch.countsOnly = true;
            long heapBefore = liveHeapBytes();
            OperatorEvent[][] events = new OperatorEvent[CHECKPOINTS][WRITERS];
            for (int checkpoint = 0; checkpoint < CHECKPOINTS; checkpoint++) {
                for (int writer = 0; writer < WRITERS; writer++) {
                    events[checkpoint][writer] =
                            side.event(
                                    writer,
                                    checkpoint + 1,
                                    committables(table, checkpoint, writer));
                }
            }
            liveHeapBytes();
            long nativeBefore = residentBytes();
            long collectionBefore = collectionMillis();
            for (int checkpoint = 0; checkpoint < CHECKPOINTS; checkpoint++) {
                job.sendAll(events[checkpoint]);
                side.awaitProcessed(
                        job.coordinator,
                        WRITERS - 1,
                        checkpoint + 1,
                        committables(table, checkpoint, WRITERS - 1));
            }
            long collection = collectionMillis() - collectionBefore;
            long nativeBytes = residentBytes() - nativeBefore;
            events = null;
            long heap = liveHeapBytes() - heapBefore;
            System.out.printf("%d %d %d%n", heap / FILES, nativeBytes / FILES, collection);
            job.coordinator.notifyCheckpointComplete(CHECKPOINTS);
            job.watch.await(FILES);
        }
        System.exit(0);
    }

    private static List<Committable> committables(BenchTable table, int checkpoint, int writer) {
        int firstFile = (checkpoint * WRITERS + writer) * FILES_OF_EVENT;
        return table.committables(checkpoint + 1, firstFile, FILES_OF_EVENT);
    }

    private static long liveHeapBytes() {
        System.gc();
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private static long collectionMillis() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionTime)
                .sum();
    }

    private static long residentBytes() throws Exception {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                .sum();
    }
}
