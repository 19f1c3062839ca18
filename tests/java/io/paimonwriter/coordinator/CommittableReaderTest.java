package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.paimonwriter.coordinator.WriterEntry.CommittableBytes;

import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/**
 * The golden files are committables of one file of one row for checkpoint 5, as each version of
 * Paimon wrote them.
 */
class CommittableReaderTest {

    @ParameterizedTest(name = "Paimon {0}")
    @CsvSource({
        "1.3, 2, 10, data-be0c5195-3544-43a8-8509-d696897a1f98-0.parquet",
        "1.4, 3, 11, data-5796716a-787b-41ad-a243-9ea62a4fc506-0.parquet",
        "2.0, 3, 12, data-a53af889-6264-45ed-840d-57a1107654b0-0.parquet",
    })
    void olderCommittablesAreReadAndNewerOnesRefused(
            String paimon, int version, int messageVersion, String file) throws Exception {
        byte[] golden =
                Golden.bytes("committable_v" + version + "_message_v" + messageVersion + ".hex");
        CommittableBytes committables = CommittableBytes.of(version, List.of(golden));

        if (messageVersion > CommitMessageSerializer.CURRENT_VERSION) {
            String error = error(committables);
            assertTrue(error.contains("a newer version of Paimon wrote them"), error);
            return;
        }
        List<Committable> read = new CommittableReader().read(committables);

        assertEquals(1, read.size());
        assertEquals(5, read.get(0).checkpointId());
        CommitMessageImpl message = (CommitMessageImpl) PairCommittables.message(read.get(0));
        DataFileMeta only = message.newFilesIncrement().newFiles().get(0);
        assertEquals(file, only.fileName());
        assertEquals(1, only.rowCount());
        assertTrue(message.compactIncrement().isEmpty());
    }

    @Test
    void aMessageThatIsTooNewIsNamedThoughPaimonWouldReadIt() throws Exception {
        byte[] committable = ownGolden();
        committable[committable.length - 1]++;

        String error =
                error(CommittableBytes.of(LocalTable.serializerVersion(), List.of(committable)));

        int own = CommitMessageSerializer.CURRENT_VERSION;
        String expected = "message version " + (own + 1) + ", expected at most " + own;
        assertTrue(error.contains(expected), error);
    }

    @Test
    void whatIsNoFileIsRefused() throws Exception {
        byte[] committable = Golden.bytes("committable_v2_message_v10.hex");
        committable[Long.BYTES] = 1;

        String error = error(CommittableBytes.of(2, List.of(committable)));

        assertTrue(error.contains("a committable of kind 1"), error);
    }

    @Test
    void aCommittableWithoutAMessageIsRefused() {
        String error =
                error(CommittableBytes.of(LocalTable.serializerVersion(), List.of(new byte[11])));

        assertTrue(error.contains("a committable of 11 bytes"), error);
    }

    private static byte[] ownGolden() throws IOException {
        return Golden.bytes(
                String.format(
                        "committable_v%d_message_v%d.hex",
                        LocalTable.serializerVersion(), CommitMessageSerializer.CURRENT_VERSION));
    }

    private static String error(CommittableBytes committables) {
        return assertThrows(IOException.class, () -> new CommittableReader().read(committables))
                .getMessage();
    }
}
