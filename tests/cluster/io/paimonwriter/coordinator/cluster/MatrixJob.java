package io.paimonwriter.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.job.AppendTable;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.table.data.RowData;
import org.apache.flink.util.Collector;
import org.apache.paimon.fs.local.LocalFileIO;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** One cell of the matrix: a job of these options with a source and a table of its own. */
final class MatrixJob {

    private static final int WRITERS = 2;
    private static final int SPLITS = 4;
    private static final int ROWS_PER_SPLIT = 20_000;
    private static final long ROW_PAUSE_MILLIS = 10;

    private final String name;
    private final boolean batch;
    private final boolean restarts;
    private final boolean shuffled;
    private final int parallelismAfterRestore;
    private final Map<String, String> options = new HashMap<>();
    private final Path directory;
    private final AppendTable table;
    private final GatedSource source;

    private ProcessCluster cluster;
    private ClusterJob job;

    /**
     * @param cell {@code batch, RESTART STRATEGY} or {@code streaming, RESTART STRATEGY, STATE
     *     BACKEND, CHECKPOINT STORAGE, aligned|unaligned, forward|shuffled, PARALLELISM}; with this
     *     parallelism it is restored from its checkpoint if it does not restart, and else from the
     *     savepoint that it is stopped with, and 0 is a savepoint after which it goes on
     */
    MatrixJob(Path clusterDirectory, String cell) throws Exception {
        String[] values = cell.split(", ");
        name = cell;
        batch = values[0].equals("batch");
        restarts = !values[1].equals("none");
        shuffled = !batch && values[5].equals("shuffled");
        parallelismAfterRestore = batch ? 0 : Integer.parseInt(values[6]);
        boolean unaligned = !batch && values[4].equals("unaligned");
        directory = clusterDirectory.resolve("cells").resolve(cell.replace(", ", "-"));
        table = AppendTable.create(directory.resolve("table"), Map.of());
        Gates gates = new Gates(directory.resolve("gates"));
        // Behind an unaligned shuffle rows pile up, so that there are some to put into checkpoints.
        long pauseMillis = unaligned ? 0 : ROW_PAUSE_MILLIS;
        source = new GatedSource("rows", gates, SPLITS, ROWS_PER_SPLIT, pauseMillis);

        options.put("restart-strategy.type", values[1]);
        if (batch) {
            options.put("execution.runtime-mode", "BATCH");
        } else {
            options.put("state.backend.type", values[2]);
            options.put("execution.checkpointing.storage", values[3]);
            options.put("execution.checkpointing.unaligned.enabled", Boolean.toString(unaligned));
            options.put("execution.checkpointing.interval", "1 s");
            options.put("execution.checkpointing.dir", directory.toUri() + "checkpoints");
            options.put(
                    "execution.checkpointing.externalized-checkpoint-retention",
                    "RETAIN_ON_CANCELLATION");
        }
    }

    boolean isBatch() {
        return batch;
    }

    void submitTo(ProcessCluster cluster) throws Exception {
        this.cluster = cluster;
        submit(WRITERS, Map.of());
    }

    private void submit(int parallelism, Map<String, String> more) throws Exception {
        Configuration configuration = cluster.configuration();
        configuration.addAll(Configuration.fromMap(options));
        configuration.addAll(Configuration.fromMap(more));
        StreamExecutionEnvironment environment = new StreamExecutionEnvironment(configuration);
        DataStream<RowData> rows = source.rows(environment, parallelism);
        if (shuffled) {
            rows =
                    rows.keyBy(row -> row.getLong(0), Types.LONG)
                            .process(new Once(source.gates, source.gate(0)))
                            .uid("once")
                            .returns(rows.getType())
                            .setParallelism(parallelism);
        }
        ClusterTest.write(rows, table.open(LocalFileIO.create()), parallelism);
        job = cluster.submit(environment);
    }

    /** Returns once all its tasks run. */
    void awaitStart() {
        awaitRunning(Collections.nCopies(WRITERS, 0));
    }

    private void awaitRunning(List<Integer> leastAttempts) {
        job.await(
                name + ": the writers run in the attempts " + leastAttempts,
                () -> {
                    List<Integer> attempts = job.writerAttempts();
                    if (attempts.size() != leastAttempts.size()) {
                        return false;
                    }
                    for (int writer = 0; writer < leastAttempts.size(); writer++) {
                        if (attempts.get(writer) < leastAttempts.get(writer)) {
                            return false;
                        }
                    }
                    // Without a split a source ends at once.
                    return job.writerStates().stream()
                            .allMatch(
                                    state ->
                                            state == ExecutionState.RUNNING
                                                    || state == ExecutionState.FINISHED);
                });
    }

    /** Returns once there is a snapshot more. */
    void awaitCommit() throws Exception {
        int before = table.identifiers().size();
        job.await(name + ": a commit", () -> table.identifiers().size() > before);
    }

    /** Which of its writers go with this task manager. */
    List<Integer> writersOn(String taskManager) throws Exception {
        List<Integer> writers = new ArrayList<>();
        List<String> taskManagers = job.writerTaskManagers();
        for (int writer = 0; writer < taskManagers.size(); writer++) {
            if (taskManagers.get(writer).equals(taskManager)) {
                writers.add(writer);
            }
        }
        return writers;
    }

    /**
     * Returns once the job goes on, by itself or because it was submitted again.
     *
     * @param lost the writers that were on the task manager that is gone
     * @param regions whether the others go on without a restart
     */
    void awaitRecovery(List<Integer> lost, boolean regions) throws Exception {
        if (!restarts) {
            job.awaitFailed();
            assertNoRowTwice();
            if (batch) {
                assertEquals(List.of(), table.identifiers(), name);
                submit(WRITERS, Map.of());
            } else {
                restoreFrom(job.latestCheckpoint());
            }
            return;
        }
        List<Integer> attempts = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            attempts.add(shuffled || !regions || lost.contains(writer) ? 1 : 0);
        }
        awaitRunning(attempts);
        if (regions && !shuffled) {
            assertEquals(attempts, job.writerAttempts(), name);
        }
    }

    private void restoreFrom(String path) throws Exception {
        submit(parallelismAfterRestore, Map.of("execution.state-recovery.path", path));
    }

    /** Ends the job in its way, with one more commit before, and checks the table. */
    void end() throws Exception {
        if (!batch) {
            awaitCommit();
            Path savepoints = directory.resolve("savepoints");
            if (restarts && parallelismAfterRestore == 0) {
                job.savepoint(savepoints);
            } else if (restarts) {
                restoreFrom(job.stopWithSavepoint(savepoints));
                awaitCommit();
            }
        }
        source.openAll();
        job.awaitFinished();

        table.assertHolds(source.ids());
        table.assertIdentifiersAscend();
        if (batch) {
            assertEquals(List.of(Long.MAX_VALUE), table.identifiers(), name);
        }
    }

    private void assertNoRowTwice() throws Exception {
        Set<Long> ids = new HashSet<>();
        table.forEachRow(row -> assertTrue(ids.add(row.getLong(0)), name + ": a row twice"));
    }

    /**
     * Fails when its state has seen a row before; slow, so that rows pile up on their way to it.
     */
    private static final class Once extends KeyedProcessFunction<Long, RowData, RowData> {

        private static final long serialVersionUID = 1L;
        private static final long ROW_NANOS = 3_000_000;

        private final Gates gates;
        private final String gate;

        Once(Gates gates, String gate) {
            this.gates = gates;
            this.gate = gate;
        }

        @Override
        public void processElement(RowData row, Context context, Collector<RowData> out)
                throws Exception {
            ValueState<Boolean> seen =
                    getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Types.BOOLEAN));
            if (seen.value() != null) {
                throw new IllegalStateException("Row " + row.getLong(0) + " came twice");
            }
            seen.update(true);
            if (!gates.isOpen(gate)) {
                LockSupport.parkNanos(ROW_NANOS);
            }
            out.collect(row);
        }
    }
}
