package io.paimonwriter.coordinator;

import org.apache.flink.runtime.operators.coordination.CoordinationRequest;
import org.apache.flink.runtime.operators.coordination.CoordinationRequestHandler;
import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.flink.util.FlinkException;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import javax.annotation.Nullable;

/**
 * Forwards every callback of Flink to the native coordinator and executes what it orders; decides
 * nothing itself.
 *
 * <p>Flink drops some coordinators without starting or closing them, so nothing that needs closing
 * is made before {@link #start()}, and a reset before it is only remembered. A reset after it
 * begins a new epoch. If the native coordinator has failed, the reset of the failover that follows
 * makes a new one.
 */
public final class PaimonWriterCoordinator
        implements OperatorCoordinator, CoordinationRequestHandler {

    private static final Logger LOG = LoggerFactory.getLogger("io.paimonwriter.coordinator");

    // The JobMaster's main thread waits in close(); together they stay well below ten seconds.
    private static final long LOOP_CLOSE_MILLIS = 5_000;
    private static final long COMMITTER_CLOSE_MILLIS = 2_000;

    private final Context context;
    private final CoordinatorSettings settings;
    private final FileStoreTable table;
    private final Committer.Factory<Committable, ManifestCommittable> committerFactory;
    private final NativeCalls natives;

    // Changed under the monitor of this object; read by callbacks on any thread.
    @Nullable private volatile NativeLoop loop;
    @Nullable private volatile TableCommitter committer;
    private volatile boolean closed;

    // Used under the monitor of this object.
    private long epoch;
    @Nullable private CoordinatorMetrics metrics;
    private long restoredCheckpointId = NO_CHECKPOINT;
    @Nullable private byte[] restoredState;

    PaimonWriterCoordinator(
            Context context,
            CoordinatorSettings settings,
            FileStoreTable table,
            Committer.Factory<Committable, ManifestCommittable> committerFactory,
            NativeCalls natives) {
        this.context = context;
        this.settings = settings;
        this.table = table;
        this.committerFactory = committerFactory;
        this.natives = natives;
    }

    @Override
    public synchronized void start() {
        if (closed) {
            throw new IllegalStateException(describe() + " is closed and cannot be started");
        }
        SupportedPair.check();
        if (natives instanceof NativeCoordinator) {
            NativeLibrary.load();
        }
        metrics = CoordinatorMetrics.of(context.metricGroup(), settings.tableName());
        UserCommitters userCommitters =
                new UserCommitters(settings, table, committerFactory, metrics.paimons());
        TableCommitter started =
                new TableCommitter(
                        settings,
                        userCommitters,
                        metrics,
                        context.getUserCodeClassloader(),
                        this::reportToLoop,
                        this::failJob);
        started.start();
        committer = started;
        LOG.info("{}: {}", describe(), startLine());
        beginEpoch();
    }

    @Override
    public synchronized void resetToCheckpoint(long checkpointId, @Nullable byte[] state) {
        restoredCheckpointId = checkpointId;
        restoredState = state;
        if (committer != null && !closed) {
            try {
                beginEpoch();
            } catch (Throwable t) {
                failJob(new CoordinatorException(describe() + " could not be reset", t));
            }
        }
    }

    private void beginEpoch() {
        epoch++;
        committer.beginEpoch(epoch, restoredCheckpointId);
        String freshCommitUser = settings.commitUser() + "-" + UUID.randomUUID();
        NativeLoop running = loop;
        if (running != null && !running.hasEnded()) {
            running.handle.reset(epoch, restoredCheckpointId, restoredState, freshCommitUser);
        } else {
            beginLoop(freshCommitUser);
        }
        restoredState = null;
    }

    private void beginLoop(String freshCommitUser) {
        NativeHandle handle =
                new NativeHandle(natives, settings.encode(context.currentParallelism()));
        try {
            handle.reset(epoch, restoredCheckpointId, restoredState, freshCommitUser);
            NativeLoop begun =
                    new NativeLoop(
                            handle,
                            settings,
                            committer,
                            metrics,
                            context.getUserCodeClassloader(),
                            this::failJob,
                            this::loopEnded);
            // Visible before its thread runs: the committer may report at once.
            loop = begun;
            begun.start();
        } catch (Throwable t) {
            // The loop's thread, which would have freed it, has not begun.
            handle.destroy();
            throw t;
        }
    }

    /**
     * Ends the loop and the committer. A commit that hangs is interrupted and not waited for longer
     * than the bounds above; what it does afterwards is filtered by the next coordinator.
     */
    @Override
    public void close() {
        NativeLoop closingLoop;
        TableCommitter closingCommitter;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            closingLoop = loop;
            closingCommitter = committer;
        }
        if (closingCommitter != null) {
            closingCommitter.requestClose();
        }
        if (closingLoop != null && !closingLoop.close(LOOP_CLOSE_MILLIS)) {
            LOG.warn("{}: its loop has not ended within {} ms", describe(), LOOP_CLOSE_MILLIS);
        }
        if (closingCommitter != null && !closingCommitter.close(COMMITTER_CLOSE_MILLIS)) {
            LOG.warn("{}: a commit has not ended within {} ms", describe(), COMMITTER_CLOSE_MILLIS);
        }
    }

    @Override
    public void handleEventFromOperator(int subtask, int attemptNumber, OperatorEvent event) {
        if (!(event instanceof WriterEvent)) {
            failJob(
                    new CoordinatorException(
                            String.format(
                                    "%s: subtask %d, attempt %d sent an event of class %s; only %s"
                                            + " is understood. Run writers and coordinator with the"
                                            + " same version of the jar.",
                                    describe(),
                                    subtask,
                                    attemptNumber,
                                    event == null ? "null" : event.getClass().getName(),
                                    WriterEvent.class.getName())));
            return;
        }
        forward(
                handle ->
                        handle.handleEvent(subtask, attemptNumber, ((WriterEvent) event).bytes()));
    }

    @Override
    public CompletableFuture<CoordinationResponse> handleCoordinationRequest(
            CoordinationRequest request) {
        CompletableFuture<CoordinationResponse> response = new CompletableFuture<>();
        NativeLoop running = loop;
        if (!(request instanceof WriterRequest) || running == null) {
            response.completeExceptionally(
                    new FlinkException(
                            String.format(
                                    "%s cannot answer a request of class %s%s",
                                    describe(),
                                    request == null ? "null" : request.getClass().getName(),
                                    running == null ? " before it is started" : "")));
            return response;
        }
        running.request(((WriterRequest) request).bytes(), response);
        return response;
    }

    @Override
    public void checkpointCoordinator(long checkpointId, CompletableFuture<byte[]> result) {
        NativeLoop running = loop;
        if (running == null) {
            result.completeExceptionally(
                    new IllegalStateException(
                            String.format(
                                    "%s: checkpoint %d was requested before the coordinator was"
                                            + " started",
                                    describe(), checkpointId)));
            return;
        }
        running.checkpoint(checkpointId, result);
    }

    /**
     * So that a job manager that is lost does not cost a batch job its finished writers (s73).
     * Flink also asks while it recovers such a job, which the native coordinator wants to know.
     */
    @Override
    public boolean supportsBatchSnapshot() {
        forward(handle -> handle.notify(NativeHandle.BATCH_SNAPSHOTS_ASKED_FOR, 0, 0, 0, 0));
        return settings.batchSnapshots();
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        forward(handle -> handle.notify(NativeHandle.CHECKPOINT_COMPLETE, 0, 0, checkpointId, 0));
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) {
        forward(handle -> handle.notify(NativeHandle.CHECKPOINT_ABORTED, 0, 0, checkpointId, 0));
    }

    @Override
    public void subtaskReset(int subtask, long checkpointId) {
        forward(handle -> handle.notify(NativeHandle.SUBTASK_RESET, subtask, 0, checkpointId, 0));
    }

    @Override
    public void executionAttemptFailed(int subtask, int attemptNumber, @Nullable Throwable reason) {
        forward(handle -> handle.notify(NativeHandle.ATTEMPT_FAILED, subtask, attemptNumber, 0, 0));
    }

    @Override
    public void executionAttemptReady(int subtask, int attemptNumber, SubtaskGateway gateway) {
        forward(handle -> handle.notify(NativeHandle.ATTEMPT_READY, subtask, attemptNumber, 0, 0));
    }

    /**
     * Flink swallows what some of its callbacks throw, so an error fails the job here. A loop that
     * has ended has failed the job already, or is closed: what comes afterwards is ignored.
     */
    private void forward(NativeCall call) {
        NativeLoop running = loop;
        if (running == null) {
            LOG.debug("{}: a call came before the start and is ignored", describe());
            return;
        }
        try {
            call.on(running.handle);
        } catch (IllegalStateException e) {
            LOG.debug("{}: a call came after the end and is ignored: {}", describe(), e.toString());
        } catch (RuntimeException e) {
            failJob(new CoordinatorException(describe() + " failed in a callback", e));
        }
    }

    private void reportToLoop(
            long reportEpoch,
            long commitId,
            int failure,
            long value,
            @Nullable byte[] committerState,
            @Nullable String message) {
        forward(
                handle ->
                        handle.committerReported(
                                reportEpoch, commitId, failure, value, committerState, message));
    }

    private void loopEnded(@Nullable Throwable failure) {
        if (closed) {
            return;
        }
        failJob(
                new CoordinatorException(
                        String.format(
                                "%s: its loop ended: %s. The job restarts with a new one; please"
                                        + " report this error with the job manager's log.",
                                describe(),
                                failure != null
                                        ? CommitFailure.describe(failure)
                                        : "it was not asked to"),
                        failure));
    }

    private void failJob(Throwable cause) {
        if (closed) {
            LOG.info("{}: failed after it was closed", describe(), cause);
            return;
        }
        LOG.error("{}: fails the job", describe(), cause);
        try {
            context.failJob(cause);
        } catch (RuntimeException e) {
            // Flink's context refuses once the coordinator is being disposed of.
            LOG.warn("{}: the job could not be failed any more", describe(), e);
        }
    }

    private String describe() {
        return String.format(
                "The coordinator of table %s, operator '%s'",
                settings.tableName(), settings.operatorName());
    }

    /** What whoever has to mend the job asks first: what is it that runs here? */
    private String startLine() {
        return String.format(
                "starts with %s, Java %s, library %s; parallelism=%d %s",
                SupportedPair.describe(),
                System.getProperty("java.version"),
                NativeLibrary.describe(),
                context.currentParallelism(),
                settings);
    }

    private interface NativeCall {
        void on(NativeHandle handle);
    }
}
