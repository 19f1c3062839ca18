package io.paimonwriter.coordinator;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.operators.coordination.CoordinationResponse;
import org.apache.flink.runtime.operators.coordination.OperatorEventGateway;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.OperatorSnapshotFutures;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.SerializedValue;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.CommittableSerializer;
import org.apache.paimon.flink.sink.StoreSinkWrite;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessageSerializer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import javax.annotation.Nullable;

/**
 * Paimon's append writer, which hands its committables to the coordinator in the job manager.
 *
 * <p>It makes an entry for each checkpoint, also when there is nothing in it, stores the entry in
 * its operator state, and does not acknowledge the checkpoint before the coordinator has confirmed
 * that it holds the entry (s24).
 */
public class PaimonWriterOperator extends PairWriteOperator {

    private static final long serialVersionUID = 1L;

    private static final String STATE_NAME = "paimon-writer-coordinator-entries";
    private static final long NO_CHECKPOINT = -1;

    private final CoordinatorSettings settings;
    private final OperatorEventGateway eventGateway;

    private transient CommittableSerializer committableSerializer;
    private transient ListState<byte[]> entryState;

    /** Null until the operator is initialised; Flink closes operators that never were. */
    @Nullable private transient WriterEntries entries;

    private transient long watermark;
    private transient boolean idle;
    private transient boolean snapshotIsSavepoint;
    private transient long lastCompletedCheckpointId;

    public PaimonWriterOperator(
            StreamOperatorParameters<Committable> parameters,
            FileStoreTable table,
            StoreSinkWrite.Provider writeProvider,
            CoordinatorSettings settings,
            OperatorEventGateway eventGateway) {
        super(parameters, table, writeProvider, settings.commitUser());
        this.settings = settings;
        this.eventGateway = eventGateway;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        TaskInfo task = getRuntimeContext().getTaskInfo();
        WriterIdentity identity =
                new WriterIdentity(
                        settings.tableName(),
                        task.getIndexOfThisSubtask(),
                        task.getAttemptNumber(),
                        UUID.randomUUID());
        CoordinatorClient client =
                new CoordinatorClient(
                        identity,
                        eventGateway,
                        this::sendRequest,
                        settings,
                        CoordinatorOptions.chunkSizeBytes(settings, taskManagerConfiguration()),
                        this::isCancelledOrFailing);
        committableSerializer = new CommittableSerializer(new CommitMessageSerializer());
        watermark = Long.MIN_VALUE;
        lastCompletedCheckpointId = NO_CHECKPOINT;
        entries = new WriterEntries(identity, client);
        // Never a union state: see PairWriteOperator.
        entryState =
                context.getOperatorStateStore()
                        .getListState(
                                new ListStateDescriptor<>(
                                        STATE_NAME, BytePrimitiveArraySerializer.INSTANCE));
        if (context.isRestored()) {
            entries.restore(
                    context.getRestoredCheckpointId().orElse(NO_CHECKPOINT), entryState.get());
        }
    }

    private ReadableConfig taskManagerConfiguration() {
        return getContainingTask().getEnvironment().getTaskManagerInfo().getConfiguration();
    }

    private CompletableFuture<CoordinationResponse> sendRequest(WriterRequest request)
            throws IOException {
        return getContainingTask()
                .getEnvironment()
                .getOperatorCoordinatorEventGateway()
                .sendRequestToCoordinator(getOperatorID(), new SerializedValue<>(request));
    }

    /**
     * Called by Paimon before the barrier of a checkpoint and at the end of input; makes the entry
     * of it, so that files, watermark and idleness are frozen together.
     */
    @Override
    protected List<Committable> prepareCommit(boolean waitCompaction, long checkpointId)
            throws IOException {
        List<Committable> committables = super.prepareCommit(waitCompaction, checkpointId);
        addEntry(checkpointId, committables);
        return committables;
    }

    private void addEntry(long checkpointId, List<Committable> committables) throws IOException {
        List<byte[]> serialized = new ArrayList<>(committables.size());
        for (Committable committable : committables) {
            serialized.add(committableSerializer.serialize(committable));
        }
        entries.add(
                checkpointId,
                watermark,
                idle,
                CommittableBytes.of(committableSerializer.getVersion(), serialized));
    }

    @Override
    public void endInput() throws Exception {
        super.endInput();
        entries.sendEndOfInput();
    }

    /** Only this variant is told whether the checkpoint is a savepoint (h20). */
    @Override
    public OperatorSnapshotFutures snapshotState(
            long checkpointId,
            long timestamp,
            CheckpointOptions checkpointOptions,
            CheckpointStreamFactory factory)
            throws Exception {
        snapshotIsSavepoint = checkpointOptions.getCheckpointType().isSavepoint();
        return super.snapshotState(checkpointId, timestamp, checkpointOptions, factory);
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        long checkpointId = context.getCheckpointId();
        if (snapshotIsSavepoint) {
            // After the end of input a savepoint has no entry of its own, but its flag is reported.
            if (!entries.has(checkpointId)) {
                addEntry(checkpointId, Collections.emptyList());
            }
            entries.markSavepoint(checkpointId);
        }
        entryState.update(
                entries.encodeState(
                        getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks()));
        entries.handOver(checkpointId);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        super.notifyCheckpointComplete(checkpointId);
        lastCompletedCheckpointId = Math.max(lastCompletedCheckpointId, checkpointId);
    }

    /** The end marker of a bounded stream is no watermark of its data, as in Paimon's committer. */
    @Override
    public void processWatermark(Watermark mark) throws Exception {
        super.processWatermark(mark);
        if (mark.getTimestamp() != Long.MAX_VALUE) {
            watermark = mark.getTimestamp();
        }
    }

    @Override
    public void processWatermarkStatus(WatermarkStatus watermarkStatus) throws Exception {
        super.processWatermarkStatus(watermarkStatus);
        idle = watermarkStatus.isIdle();
    }

    /**
     * A task that ends normally waits here until what it handed over cannot get lost any more
     * (s61): a stop with savepoint has no end of input, so there is no earlier place for both
     * (h11).
     *
     * <p>Flink also closes operators of failed and cancelled tasks, even when they were never
     * initialised; those must not wait.
     */
    @Override
    public void close() throws Exception {
        try {
            if (mustAskBeforeFinishing()) {
                WriterEntry unused = entries.awaitMayFinish(lastCompletedCheckpointId);
                if (unused != null) {
                    new UnusedFiles(table, settings.commitUser()).delete(unused);
                }
            }
        } finally {
            super.close();
        }
    }

    private boolean mustAskBeforeFinishing() {
        return entries != null
                && !isCancelledOrFailing()
                && (entries.hasEnded() || lastCompletedCheckpointId != NO_CHECKPOINT);
    }

    /**
     * In a normal end a task is neither: Flink sets the one before it closes the operators of a
     * task that threw, and the other when the task is cancelled or failed from outside, also while
     * this operator is being closed.
     */
    private boolean isCancelledOrFailing() {
        return getContainingTask().isCanceled() || getContainingTask().isFailing();
    }
}
