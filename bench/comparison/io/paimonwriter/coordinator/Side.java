package io.paimonwriter.coordinator;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.io.SimpleVersionedSerializerTypeSerializerProxy;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.CoordinationRequestHandler;
import org.apache.flink.runtime.operators.coordination.OperatorCoordinator;
import org.apache.flink.runtime.operators.coordination.OperatorEvent;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.CommittableSerializer;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.flink.sink.coordinator.CheckpointCommittables;
import org.apache.paimon.flink.sink.coordinator.CheckpointCommittablesSerializer;
import org.apache.paimon.flink.sink.coordinator.CommittableEvent;
import org.apache.paimon.flink.sink.coordinator.CommittingWriteOperatorCoordinator;
import org.apache.paimon.flink.sink.coordinator.RestoredCommittableEvent;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessageSerializer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The two coordinators that are compared, each as its job graph makes it, and the same committables
 * in the events that its writers send.
 */
enum Side {
    /** This project's coordinator, with the native library of a release build. */
    OURS {
        @Override
        OperatorCoordinator.Provider provider(
                FileStoreTable table,
                Committer.Factory<Committable, ManifestCommittable> committerFactory) {
            return new PaimonWriterCoordinatorProvider(
                    new OperatorID(),
                    CoordinatorSettings.builder(COMMIT_USER, "db.t", "Writer").build(),
                    table,
                    committerFactory);
        }

        @Override
        OperatorEvent event(int subtask, long checkpointId, List<Committable> committables)
                throws IOException {
            WriterEntry entry = entry(subtask, checkpointId, committables);
            return single(WriterEvent.Kind.ENTRY, subtask, checkpointId, entry.encode());
        }

        @Override
        OperatorEvent restoreEvent(
                int subtask, int parallelism, long checkpointId, List<Committable> committables)
                throws IOException {
            WriterState state =
                    WriterState.decode(
                            WriterState.encode(
                                    new WriterPiece(incarnation(subtask), parallelism, false),
                                    Collections.singletonList(
                                            entry(subtask, checkpointId, committables))));
            return single(
                    WriterEvent.Kind.RESTORE, subtask, checkpointId, state.encodeRestoreBody());
        }

        @Override
        void awaitProcessed(
                OperatorCoordinator coordinator,
                int subtask,
                long checkpointId,
                List<Committable> committables)
                throws Exception {
            WriterRequest request =
                    WriterRequest.confirm(
                            writer(subtask), entry(subtask, checkpointId, committables));
            ((CoordinationRequestHandler) coordinator).handleCoordinationRequest(request).get();
        }

        private WriterEntry entry(int subtask, long checkpointId, List<Committable> committables)
                throws IOException {
            List<byte[]> serialized = new ArrayList<>();
            for (Committable committable : committables) {
                serialized.add(SERIALIZER.serialize(committable));
            }
            return WriterEntry.ofCheckpoint(
                    incarnation(subtask),
                    checkpointId,
                    Long.MIN_VALUE,
                    false,
                    CommittableBytes.of(SERIALIZER.getVersion(), serialized));
        }

        private WriterEvent single(
                WriterEvent.Kind kind, int subtask, long checkpointId, byte[] body) {
            return WriterEvent.split(kind, writer(subtask), checkpointId, body, CHUNK_SIZE_BYTES)
                    .get(0);
        }

        private WriterIdentity writer(int subtask) {
            return new WriterIdentity("db.t", subtask, 0, incarnation(subtask));
        }

        private UUID incarnation(int subtask) {
            return new UUID(1, subtask);
        }
    },

    /** Paimon's, behind the option {@code sink.coordinator-commit.enabled}. */
    THEIRS {
        @Override
        OperatorCoordinator.Provider provider(
                FileStoreTable table,
                Committer.Factory<Committable, ManifestCommittable> committerFactory) {
            boolean checkpointing = true;
            boolean failoverAfterRecovery = true;
            return new CommittingWriteOperatorCoordinator.Provider(
                    new OperatorID(),
                    committerFactory,
                    checkpointing,
                    COMMIT_USER,
                    failoverAfterRecovery);
        }

        @Override
        OperatorEvent event(int subtask, long checkpointId, List<Committable> committables)
                throws IOException {
            return CommittableEvent.create(
                    checkpointId, entry(checkpointId, committables), serializer());
        }

        @Override
        OperatorEvent restoreEvent(
                int subtask, int parallelism, long checkpointId, List<Committable> committables)
                throws IOException {
            return RestoredCommittableEvent.create(
                    checkpointId,
                    Collections.singletonList(entry(checkpointId, committables)),
                    serializer());
        }

        @Override
        void awaitProcessed(
                OperatorCoordinator coordinator,
                int subtask,
                long checkpointId,
                List<Committable> committables)
                throws Exception {
            // Its thread works in order, and this checkpoint holds no files.
            CompletableFuture<byte[]> state = new CompletableFuture<>();
            coordinator.checkpointCoordinator(checkpointId, state);
            state.get();
        }

        private CheckpointCommittables entry(long checkpointId, List<Committable> committables) {
            return new CheckpointCommittables(checkpointId, committables, Long.MIN_VALUE, false);
        }

        private TypeSerializer<CheckpointCommittables> serializer() {
            return new SimpleVersionedSerializerTypeSerializerProxy<>(
                    () -> new CheckpointCommittablesSerializer(SERIALIZER));
        }
    };

    private static final String COMMIT_USER = "bench";

    /** The longest chunk that a user may choose: every event of the benchmark goes whole. */
    private static final int CHUNK_SIZE_BYTES = 8 * 1024 * 1024;

    private static final CommittableSerializer SERIALIZER =
            new CommittableSerializer(new CommitMessageSerializer());

    abstract OperatorCoordinator.Provider provider(
            FileStoreTable table,
            Committer.Factory<Committable, ManifestCommittable> committerFactory);

    /** What the writer of a subtask sends for one checkpoint. */
    abstract OperatorEvent event(int subtask, long checkpointId, List<Committable> committables)
            throws IOException;

    /** Waits until the coordinator has processed this event of a writer, the last one sent. */
    abstract void awaitProcessed(
            OperatorCoordinator coordinator,
            int subtask,
            long checkpointId,
            List<Committable> committables)
            throws Exception;

    /** What it sends after a restore of a checkpoint, when these are pending. */
    abstract OperatorEvent restoreEvent(
            int subtask, int parallelism, long checkpointId, List<Committable> committables)
            throws IOException;
}
