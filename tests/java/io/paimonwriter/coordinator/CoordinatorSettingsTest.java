package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The settings' bytes, in the order in which the native side reads them. */
class CoordinatorSettingsTest {

    @Test
    void encodesEverySettingInOrder() throws Exception {
        CoordinatorSettings settings =
                CoordinatorSettings.builder("user", "db.tä", "Writer")
                        .maxDueCommits(2)
                        .checkpointHold(Duration.ofMillis(3))
                        .lateEventTimeout(Duration.ofMillis(4))
                        .requestHold(Duration.ofMillis(5))
                        .commitRetries(6)
                        .commitRetryInitialBackoff(Duration.ofMillis(7))
                        .commitRetryMaxBackoff(Duration.ofMillis(8))
                        .checkpointingEnabled(true)
                        .endInputWatermark(-9L)
                        .build();

        DataInputStream in = new DataInputStream(new ByteArrayInputStream(settings.encode(1)));

        assertEquals(1, in.readInt());
        assertEquals(2, in.readInt());
        assertEquals(3, in.readLong());
        assertEquals(4, in.readLong());
        assertEquals(5, in.readLong());
        assertEquals(6, in.readInt());
        assertEquals(7, in.readLong());
        assertEquals(8, in.readLong());
        assertEquals(1, in.readByte());
        assertEquals(1, in.readByte());
        assertEquals(-9, in.readLong());
        assertEquals("user", readString(in));
        assertEquals("db.tä", readString(in));
        assertEquals("Writer", readString(in));
        assertEquals(0, in.available());
    }

    @Test
    void refusesWhatIsNotPositive() {
        CoordinatorSettings.Builder builder = CoordinatorSettings.builder("user", "db.t", "Writer");

        assertThrows(IllegalArgumentException.class, () -> builder.chunkSizeBytes(0));
        assertThrows(IllegalArgumentException.class, () -> builder.confirmTimeout(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> builder.commitRetries(-1));
    }

    private static String readString(DataInputStream in) throws Exception {
        byte[] utf8 = new byte[in.readInt()];
        in.readFully(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }
}
