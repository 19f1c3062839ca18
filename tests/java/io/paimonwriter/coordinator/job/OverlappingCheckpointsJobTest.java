package io.paimonwriter.coordinator.job;

import static org.apache.flink.runtime.checkpoint.CheckpointFailureReason.CHECKPOINT_SUBSUMED;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/** Checkpoints and savepoints that are under way at the same time. */
class OverlappingCheckpointsJobTest extends JobTest {

    private final SourceScript script = SourceScript.create(2);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    /**
     * The coordinator writes its part of all three checkpoints before one writer has made its entry
     * of the first, so no part of the coordinator's holds that entry. None is committed before the
     * whole job fails: only the writers' state has it then.
     */
    @ParameterizedTest(name = "the second is a savepoint: {0}")
    @ValueSource(booleans = {false, true})
    void h04s05ThreeAtOnceThatAreNotCommittedSurviveEveryFailover(boolean savepoint)
            throws Exception {
        AppendTable table = createTable();
        try (RunningJob job = writeJob(table).submitTo(cluster).awaitRunning()) {
            long first = checkpointAfterRows(script, job, 100);
            table.awaitIdentifier(first);
            gate.breakDown();
            script.allowAll(50).awaitDrained();
            script.pause(0);
            Future<?> second = job.triggerCheckpoint();
            allowRowsAfter(job, 1);
            Future<?> third =
                    savepoint ? job.triggerSavepoint(savepoints()) : job.triggerCheckpoint();
            allowRowsAfter(job, 2);
            Future<Long> fourth = job.triggerCheckpoint();
            allowRowsAfter(job, 3);
            script.resume(0);
            awaitOver(second);
            awaitOver(third);
            long last = fourth.get();
            Await.until("a commit has failed", () -> gate.failed() > 0);
            script.failTask(0);
            job.awaitWriterAttempts(1, 0);
            gate.repair();
            script.failJob();
            job.awaitRestoredFrom(last);
            table.awaitIdentifier(last);
            assertEquals(List.of(first, first + 1, first + 2, last), table.identifiers());
            assertEquals(List.of(200L, 100L, 10L, 10L), table.addedRows());
            table.awaitIdentifier(checkpointAfterRows(script, job, 5));

            table.assertHolds(script.ids());
        }
    }

    /** No failed commit is tried again before the job is restored. */
    private WriteJob writeJob(AppendTable table) {
        return new WriteJob(script, table)
                .through(gate)
                .flinkOption("execution.checkpointing.max-concurrent-checkpoints", "3")
                .withoutCommitRetries();
    }

    /** Flink may complete a later one first: what was acknowledged before it is then subsumed. */
    private static void awaitOver(Future<?> checkpoint) throws Exception {
        try {
            checkpoint.get();
        } catch (ExecutionException e) {
            boolean subsumed =
                    ExceptionUtils.findThrowable(e, CheckpointException.class)
                            .filter(it -> it.getCheckpointFailureReason() == CHECKPOINT_SUBSUMED)
                            .isPresent();
            if (!subsumed) {
                throw e;
            }
        }
    }

    private String savepoints() {
        return directory.resolve("savepoints").toUri().toString();
    }

    /** Emits ten rows of subtask 1 once it has acknowledged all of the checkpoints under way. */
    private void allowRowsAfter(RunningJob job, int inProgress) {
        job.await(
                inProgress + " checkpoints are under way",
                () -> {
                    int acknowledged = 0;
                    for (AbstractCheckpointStats stats : job.checkpoints().getCheckpoints()) {
                        if (stats.getStatus().isInProgress()) {
                            acknowledged += stats.getNumberOfAcknowledgedSubtasks();
                        }
                    }
                    return acknowledged == inProgress;
                });
        script.allow(1, 10).awaitDrained();
    }
}
