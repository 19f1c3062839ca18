package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/** What a writer keeps, reports and waits for. */
@Timeout(30)
class WriterEntriesTest {

    private static final UUID FORMER = UUID.randomUUID();

    private final FakeGateways coordinator = new FakeGateways();
    private final WriterEntries entries =
            new WriterEntries(
                    coordinator.identity, coordinator.client(Duration.ofSeconds(10), () -> false));

    @Test
    void s24HandOverSendsAndWaitsForTheConfirmation() throws Exception {
        coordinator.answer(RequestStatus.HELD);
        add(1);

        entries.handOver(1);

        assertEquals(1, coordinator.events.size());
        assertEquals(1, coordinator.requests.size());
    }

    @Test
    void s24UnconfirmedEntryIsHandedOverWithTheNextCheckpoint() throws Exception {
        coordinator.answer(RequestStatus.REJECTED);
        add(1);
        assertThrows(CoordinatorException.class, () -> entries.handOver(1));
        coordinator.answer(RequestStatus.HELD).answer(RequestStatus.HELD);
        add(2);

        entries.handOver(2);

        assertEquals(3, coordinator.requests.size());
    }

    @Test
    void h04EntriesStayUntilTheyAreDurablyCommitted() throws Exception {
        coordinator.answer(RequestStatus.HELD);
        add(1);
        entries.handOver(1);
        assertEquals(List.of(1L), storedIds());
        coordinator.answer(RequestStatus.HELD, 1);
        add(2);
        assertEquals(List.of(1L, 2L), storedIds());

        entries.handOver(2);

        assertEquals(List.of(2L), storedIds());
    }

    @Test
    void h05RestoredEntriesKeepTheirKeysUntilTheyAreCommitted() throws Exception {
        entries.restore(6, WriterState.encode(new WriterPiece(FORMER, 2, false), former(5, 6)));
        assertEquals(1, coordinator.events.size());
        coordinator.answer(RequestStatus.HELD, 5);
        add(7);

        entries.handOver(7);

        WriterState stored = stored();
        assertEquals(FORMER, stored.entries.get(0).incarnation);
        assertEquals(6, stored.entries.get(0).checkpointId);
        assertEquals(coordinator.identity.incarnation, stored.entries.get(1).incarnation);
    }

    @Test
    void emptyRestoreIsReportedToo() throws Exception {
        entries.restore(6, Collections.emptyList());

        assertEquals(1, coordinator.events.size());
    }

    @Test
    void unreadableStateNamesTheWriterAndTheCheckpoint() {
        IOException error =
                assertThrows(
                        IOException.class,
                        () -> entries.restore(6, Collections.singletonList(new byte[] {7, 7})));

        assertTrue(error.getMessage().contains("subtask 1"), error.getMessage());
        assertTrue(error.getMessage().contains("checkpoint 6"), error.getMessage());
    }

    @Test
    void s50EndOfInputSaysAfterWhichCheckpointItCame() throws Exception {
        coordinator.answer(RequestStatus.HELD);
        add(4);
        entries.handOver(4);
        add(WriterEntry.END_OF_INPUT);

        assertEquals(4, stored().entries.get(1).endedAfter);
        assertTrue(stored().pieces.get(0).ended);
    }

    @Test
    void s50EndOfInputBeforeTheFirstCheckpointCameAfterTheRestoredOneOrNone() throws Exception {
        add(WriterEntry.END_OF_INPUT);
        assertEquals(-1, stored().entries.get(0).endedAfter);

        WriterEntries restored =
                new WriterEntries(
                        coordinator.identity,
                        coordinator.client(Duration.ofSeconds(10), () -> false));
        restored.restore(9, Collections.emptyList());
        restored.add(WriterEntry.END_OF_INPUT, 0, false, nothing());
        assertEquals(9, WriterState.decode(restored.encodeState(2)).entries.get(0).endedAfter);
    }

    @Test
    void h07CheckpointAfterTheEndOfInputWaitsForItsConfirmationOnce() throws Exception {
        add(WriterEntry.END_OF_INPUT);
        entries.sendEndOfInput();
        assertEquals(0, coordinator.requests.size());
        coordinator.answer(RequestStatus.HELD, 100);

        entries.handOver(3);
        entries.handOver(4);

        assertEquals(1, coordinator.events.size());
        assertEquals(1, coordinator.requests.size());
        assertEquals(List.of(WriterEntry.END_OF_INPUT), storedIds());
    }

    @Test
    void h20SavepointFlagIsReported() throws Exception {
        add(3);
        entries.markSavepoint(3);

        assertTrue(stored().entries.get(0).savepoint);
    }

    private void add(long checkpointId) {
        entries.add(checkpointId, Long.MIN_VALUE, false, nothing());
    }

    private static CommittableBytes nothing() {
        return CommittableBytes.of(3, Collections.emptyList());
    }

    private static List<WriterEntry> former(long... checkpointIds) {
        return Arrays.stream(checkpointIds)
                .mapToObj(id -> WriterEntry.ofCheckpoint(FORMER, id, 0, false, nothing()))
                .collect(Collectors.toList());
    }

    private WriterState stored() throws IOException {
        return WriterState.decode(entries.encodeState(2));
    }

    private List<Long> storedIds() throws IOException {
        return stored().entries.stream()
                .map(entry -> entry.checkpointId)
                .collect(Collectors.toList());
    }
}
