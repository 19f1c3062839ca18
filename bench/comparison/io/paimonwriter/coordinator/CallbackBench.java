package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.BenchmarkParams;

import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * How long the job manager's main thread stays in one callback of the coordinator.
 *
 * <p>Measured is the call alone, from a coordinator that has nothing else to do; a number of events
 * come right after one another, as the writers of one checkpoint send them. What the coordinator
 * then does on threads of its own is waited for outside of the measured time, to the end: after
 * each measurement the checkpoint is completed, and the snapshot in the table must hold every file
 * that was reported. Not measured is what Flink does before it calls, such as reading the event
 * from the network, and a writer's question whether its report has arrived, which Paimon's
 * coordinator is never asked.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CallbackBench {

    /** Where the table is. */
    static final String FOLDER = "bench.table";

    static final int SMALL_EVENTS = 256;
    static final int MEDIUM_EVENTS = 64;
    static final int LARGE_EVENTS = 16;

    private static final int SMALL_BYTES = 1 << 10;
    private static final int MEDIUM_BYTES = 1 << 16;
    private static final int LARGE_BYTES = 1 << 20;

    private static final long CHECKPOINT = 1;

    /** The second name of Paimon's coordinator shows the noise. */
    @Param({"OURS", "THEIRS", "THEIRS_AGAIN"})
    public String side;

    private BenchTable table;
    private OperatorEvent[] events;
    private int files;
    private BenchJob job;
    private CompletableFuture<byte[]> state;
    private boolean reportsBefore;
    private boolean checkpointsBefore;

    @Setup
    public void prepare(BenchmarkParams parameters) throws Exception {
        table = BenchTable.open(Path.of(System.getProperty(FOLDER)));
        String name = parameters.getBenchmark().replaceFirst(".*\\.", "");
        int bytes =
                name.equals("event1MiB")
                        ? LARGE_BYTES
                        : name.equals("event64KiB") ? MEDIUM_BYTES : SMALL_BYTES;
        int filesOfEvent = filesOf(bytes);
        events =
                new OperatorEvent
                        [parameters.getOpsPerInvocation() > 1
                                ? parameters.getOpsPerInvocation()
                                : MEDIUM_EVENTS];
        files = events.length * filesOfEvent;
        for (int subtask = 0; subtask < events.length; subtask++) {
            events[subtask] =
                    side().event(
                                    subtask,
                                    CHECKPOINT,
                                    table.committables(
                                            CHECKPOINT, subtask * filesOfEvent, filesOfEvent));
        }
        checkpointsBefore = name.equals("complete");
        reportsBefore = checkpointsBefore || name.equals("checkpoint");
    }

    /** How many files make an event of about so many bytes. */
    private int filesOf(int bytes) throws Exception {
        int few = 100;
        int length =
                ((WriterEvent) Side.OURS.event(0, 1, table.committables(1, 0, few))).bytes().length;
        return Math.max(1, (int) ((long) bytes * few / length));
    }

    private Side side() {
        return side.equals("OURS") ? Side.OURS : Side.THEIRS;
    }

    @Setup(Level.Invocation)
    public void begin() throws Exception {
        job = BenchJob.start(side(), table, events.length);
        state = new CompletableFuture<>();
        if (reportsBefore) {
            sendEvents();
        }
        if (checkpointsBefore) {
            requestCheckpoint();
            state.get();
        }
    }

    private void sendEvents() throws Exception {
        for (int subtask = 0; subtask < events.length; subtask++) {
            job.send(subtask, events[subtask]);
        }
    }

    private void requestCheckpoint() throws Exception {
        job.coordinator.checkpointCoordinator(CHECKPOINT, state);
    }

    @TearDown(Level.Invocation)
    public void end() throws Exception {
        if (!reportsBefore) {
            requestCheckpoint();
        }
        state.get();
        if (!checkpointsBefore) {
            job.coordinator.notifyCheckpointComplete(CHECKPOINT);
        }
        job.awaitCommitted(files);
        job.close();
    }

    @Benchmark
    @OperationsPerInvocation(SMALL_EVENTS)
    public void event1KiB() throws Exception {
        sendEvents();
    }

    @Benchmark
    @OperationsPerInvocation(MEDIUM_EVENTS)
    public void event64KiB() throws Exception {
        sendEvents();
    }

    @Benchmark
    @OperationsPerInvocation(LARGE_EVENTS)
    public void event1MiB() throws Exception {
        sendEvents();
    }

    @Benchmark
    public void checkpoint() throws Exception {
        requestCheckpoint();
    }

    @Benchmark
    public void complete() throws Exception {
        job.coordinator.notifyCheckpointComplete(CHECKPOINT);
    }
}
