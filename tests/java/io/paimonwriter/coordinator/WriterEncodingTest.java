package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * The bytes that writers send and store. The golden files are read by the tests of the native side
 * too, so both sides are held to the same bytes.
 */
class WriterEncodingTest {

    private static final UUID INCARNATION = new UUID(0x0123456789abcdefL, 0xfedcba9876543210L);
    private static final UUID FORMER = new UUID(1, 2);
    private static final WriterIdentity SENDER = new WriterIdentity("db.t", 3, 2, INCARNATION);

    private static final CommittableBytes TWO_COMMITTABLES =
            CommittableBytes.of(3, Arrays.asList(new byte[] {1, 2, 3}, new byte[0]));

    /** Checkpoint 7, a savepoint, idle, watermark 1234567890123, two committables of version 3. */
    private static final WriterEntry ENTRY =
            WriterEntry.ofCheckpoint(INCARNATION, 7, 1234567890123L, true, TWO_COMMITTABLES)
                    .asSavepoint();

    /** The end of input after checkpoint 6, without a watermark and without committables. */
    private static final WriterEntry END_OF_INPUT =
            WriterEntry.ofEndOfInput(
                    INCARNATION,
                    6,
                    Long.MIN_VALUE,
                    false,
                    CommittableBytes.of(3, Collections.emptyList()));

    /** {@link #ENTRY} in one chunk, sent by attempt 2. */
    @Test
    void goldenEntryEvent() throws Exception {
        Golden.assertMessage(
                "entry_event.hex",
                WriterEvent.split(WriterEvent.Kind.ENTRY, SENDER, 7, ENTRY.encode(), 1024)
                        .get(0)
                        .bytes());
    }

    /**
     * Restored from checkpoint 7: the piece of a former writer of parallelism 4 that runs, that of
     * the incarnation of the entries, of parallelism 4 and ended; then {@link #ENTRY} and {@link
     * #END_OF_INPUT}.
     */
    @Test
    void goldenRestoreEvent() throws Exception {
        WriterState state = new WriterState();
        state.pieces.add(new WriterPiece(FORMER, 4, false));
        state.pieces.add(new WriterPiece(INCARNATION, 4, true));
        state.entries.add(ENTRY);
        state.entries.add(END_OF_INPUT);
        Golden.assertMessage(
                "restore_event.hex",
                WriterEvent.split(
                                WriterEvent.Kind.RESTORE,
                                SENDER,
                                7,
                                state.encodeRestoreBody(),
                                1024)
                        .get(0)
                        .bytes());
    }

    /** Subtask 3, attempt 2 asks whether {@link #ENTRY} is held. */
    @Test
    void goldenConfirmRequest() throws Exception {
        Golden.assertMessage("confirm_request.hex", WriterRequest.confirm(SENDER, ENTRY).bytes());
    }

    /** Subtask 3, attempt 2, ended with {@link #END_OF_INPUT}, was told that 7 has completed. */
    @Test
    void goldenMayFinishRequest() throws Exception {
        Golden.assertMessage(
                "may_finish_request.hex", WriterRequest.mayFinish(SENDER, 7, END_OF_INPUT).bytes());
    }

    /** The state of a writer of parallelism 4 that has ended, with both entries. */
    @Test
    void goldenState() throws Exception {
        List<byte[]> elements =
                WriterState.encode(
                        new WriterPiece(INCARNATION, 4, true), Arrays.asList(ENTRY, END_OF_INPUT));

        assertEquals(3, elements.size());
        Golden.assertState("writer_state_v1_piece.hex", elements.get(0));
        Golden.assertState("writer_state_v1_entry.hex", elements.get(1));
        Golden.assertState("writer_state_v1_end_of_input.hex", elements.get(2));
    }

    /** Whatever this release writes, it reads what version 1 was. */
    @Test
    void theGoldenStateOfVersion1IsRead() throws Exception {
        WriterState read =
                WriterState.decode(
                        Arrays.asList(
                                Golden.bytes("writer_state_v1_piece.hex"),
                                Golden.bytes("writer_state_v1_entry.hex"),
                                Golden.bytes("writer_state_v1_end_of_input.hex")));

        assertEquals(1, read.pieces.size());
        assertEquals(INCARNATION, read.pieces.get(0).incarnation);
        assertEquals(4, read.pieces.get(0).parallelism);
        assertTrue(read.pieces.get(0).ended);
        assertEquals(2, read.entries.size());
        assertArrayEquals(ENTRY.encode(), read.entries.get(0).encode());
        assertArrayEquals(END_OF_INPUT.encode(), read.entries.get(1).encode());
    }

    /** Of Paimon's commit listeners, inside the coordinator's checkpoint bytes. */
    @Test
    void goldenCommitterState() throws Exception {
        Map<String, byte[]> states = Map.of("first", new byte[] {1, 2, 3}, "second", new byte[0]);

        Golden.assertState("committer_state_v1.hex", CommitterStates.encode(states));

        Map<String, byte[]> read = CommitterStates.decode(Golden.bytes("committer_state_v1.hex"));
        assertEquals(states.keySet(), read.keySet());
        assertArrayEquals(new byte[] {1, 2, 3}, read.get("first"));
        assertArrayEquals(new byte[0], read.get("second"));
    }

    @Test
    void mayFinishOfAWriterWithoutEndOfInputNamesNoReport() {
        ByteBuffer request = ByteBuffer.wrap(WriterRequest.mayFinish(SENDER, -1, null).bytes());

        assertEquals(-1, request.getLong(30));
        assertEquals(0, request.get(38));
        assertEquals(0, request.getInt(39));
        assertEquals(0, request.getInt(43));
    }

    @Test
    void stateRoundTripKeepsKeys() throws Exception {
        List<byte[]> elements =
                WriterState.encode(
                        new WriterPiece(INCARNATION, 4, true), Arrays.asList(ENTRY, END_OF_INPUT));
        Collections.reverse(elements);

        WriterState read = WriterState.decode(elements);

        assertEquals(1, read.pieces.size());
        assertEquals(INCARNATION, read.pieces.get(0).incarnation);
        assertEquals(4, read.pieces.get(0).parallelism);
        assertTrue(read.pieces.get(0).ended);
        assertArrayEquals(END_OF_INPUT.encode(), read.entries.get(0).encode());
        assertArrayEquals(ENTRY.encode(), read.entries.get(1).encode());
    }

    @Test
    void stateOfAnotherVersionSaysWhatWasFound() {
        byte[] element =
                WriterState.encode(new WriterPiece(FORMER, 1, false), Collections.emptyList())
                        .get(0);
        element[0] = 9;

        IOException error =
                assertThrows(
                        IOException.class,
                        () -> WriterState.decode(Collections.singletonList(element)));

        assertTrue(error.getMessage().contains("version 9 and kind 1"), error.getMessage());
        assertTrue(error.getMessage().contains("expected version 1"), error.getMessage());
    }

    @Test
    void stateThatIsCutShortIsRefused() {
        byte[] element =
                WriterState.encode(new WriterPiece(FORMER, 1, false), Arrays.asList(ENTRY)).get(1);
        byte[] cut = Arrays.copyOf(element, element.length - 1);

        assertThrows(IOException.class, () -> WriterState.decode(Collections.singletonList(cut)));
    }

    @Test
    void s11BodyAboveTheChunkSizeGoesInSeveralEvents() {
        byte[] body = new byte[10];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) i;
        }

        List<WriterEvent> events = WriterEvent.split(WriterEvent.Kind.ENTRY, SENDER, 7, body, 4);

        assertEquals(3, events.size());
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        for (int index = 0; index < events.size(); index++) {
            byte[] bytes = events.get(index).bytes();
            ByteBuffer header = ByteBuffer.wrap(bytes);
            assertEquals(index, header.getInt(34));
            assertEquals(3, header.getInt(38));
            assertEquals(10, header.getInt(42));
            assertEquals(WriterEvent.checksum(body), header.getInt(46));
            joined.write(bytes, WriterEvent.HEADER_BYTES, bytes.length - WriterEvent.HEADER_BYTES);
        }
        assertArrayEquals(body, joined.toByteArray());
    }

    @Test
    void s11BodyOfExactlyOneChunkAndEmptyBodyAreOneEvent() {
        assertEquals(
                1, WriterEvent.split(WriterEvent.Kind.ENTRY, SENDER, 7, new byte[4], 4).size());
        assertEquals(
                1, WriterEvent.split(WriterEvent.Kind.ENTRY, SENDER, 7, new byte[0], 4).size());
        assertEquals(
                2, WriterEvent.split(WriterEvent.Kind.ENTRY, SENDER, 7, new byte[5], 4).size());
    }
}
