package io.paimonwriter.coordinator;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;

import javax.annotation.Nullable;

/**
 * The entries that one writer answers for: those it was restored with and those it made itself.
 *
 * <p>An entry is dropped only when a confirmation says that it is durably committed; the completion
 * of a checkpoint does not mean that (h04). Entries of an end of input are never dropped.
 */
final class WriterEntries {

    private static final long NO_CHECKPOINT = -1;

    private final WriterIdentity identity;
    private final CoordinatorClient client;

    /** Entries of former writers, kept under their own keys. */
    private final List<WriterEntry> restored = new ArrayList<>();

    /** Entries of this writer by checkpoint id. */
    private final TreeMap<Long, WriterEntry> own = new TreeMap<>();

    /** Ids of own entries that the coordinator has not confirmed yet. */
    private final List<Long> unconfirmed = new ArrayList<>();

    private long lastSnapshotCheckpointId = NO_CHECKPOINT;

    WriterEntries(WriterIdentity identity, CoordinatorClient client) {
        this.identity = identity;
        this.client = client;
    }

    /**
     * Takes over what former writers stored, and reports it once, even when it is empty: the
     * coordinator waits for the report of every writer.
     *
     * @throws IOException if the state cannot be read
     */
    void restore(long restoredCheckpointId, Iterable<byte[]> stateElements) throws IOException {
        WriterState state;
        try {
            state = WriterState.decode(stateElements);
        } catch (IOException e) {
            throw new IOException(
                    String.format(
                            "%s: the writer's state of checkpoint %d cannot be read. Restart with"
                                    + " the version of Paimon Writer Coordinator that wrote it.",
                            identity, restoredCheckpointId),
                    e);
        }
        restored.addAll(state.entries);
        lastSnapshotCheckpointId = restoredCheckpointId;
        client.sendRestored(restoredCheckpointId, state);
    }

    /** Adds the entry of a checkpoint, or of the end of input for {@link Long#MAX_VALUE}. */
    void add(long checkpointId, long watermark, boolean idle, CommittableBytes committables) {
        own.put(
                checkpointId,
                checkpointId == WriterEntry.END_OF_INPUT
                        ? WriterEntry.ofEndOfInput(
                                identity.incarnation,
                                lastSnapshotCheckpointId,
                                watermark,
                                idle,
                                committables)
                        : WriterEntry.ofCheckpoint(
                                identity.incarnation, checkpointId, watermark, idle, committables));
        unconfirmed.add(checkpointId);
    }

    boolean has(long checkpointId) {
        return own.containsKey(checkpointId);
    }

    boolean hasEnded() {
        return endOfInput() != null;
    }

    /** Reports the end of input without waiting; the next checkpoint waits for its confirmation. */
    void sendEndOfInput() {
        client.send(endOfInput());
    }

    void markSavepoint(long checkpointId) {
        own.computeIfPresent(checkpointId, (id, entry) -> entry.asSavepoint());
    }

    /** What the operator state must hold for a replay. */
    List<byte[]> encodeState(int parallelism) {
        List<WriterEntry> entries = new ArrayList<>(restored);
        entries.addAll(own.values());
        return WriterState.encode(
                new WriterPiece(identity.incarnation, parallelism, hasEnded()), entries);
    }

    /**
     * Reports what is new and returns when the coordinator holds all of it, so that the checkpoint
     * may be acknowledged (s24).
     */
    void handOver(long checkpointId) throws Exception {
        for (long id : unconfirmed) {
            // The end of input was reported when it came, without a checkpoint.
            if (id != WriterEntry.END_OF_INPUT) {
                client.send(own.get(id));
            }
        }
        long committedThrough = Long.MIN_VALUE;
        for (long id : unconfirmed) {
            committedThrough = Math.max(committedThrough, client.confirm(own.get(id)));
        }
        unconfirmed.clear();
        lastSnapshotCheckpointId = checkpointId;
        dropCommitted(restored, committedThrough);
        dropCommitted(own.values(), committedThrough);
    }

    private static void dropCommitted(Collection<WriterEntry> entries, long committedThrough) {
        entries.removeIf(entry -> !entry.isEndOfInput() && entry.checkpointId <= committedThrough);
    }

    /**
     * See {@link CoordinatorClient#awaitMayFinish}.
     *
     * @return the entry whose files belong to no commit; null if there is none
     */
    @Nullable
    WriterEntry awaitMayFinish(long completedCheckpointId) throws Exception {
        WriterEntry endOfInput = endOfInput();
        return client.awaitMayFinish(completedCheckpointId, endOfInput) ? null : endOfInput;
    }

    @Nullable
    private WriterEntry endOfInput() {
        return own.get(WriterEntry.END_OF_INPUT);
    }
}
