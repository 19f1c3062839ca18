package io.paimonwriter.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.paimonwriter.coordinator.job.AppendTable;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Two splits of three rows; what chaos says of a table must be true of it. */
class RowTallyTest {

    private static final long SECOND_SPLIT = GatedSource.STRIDE;

    @TempDir Path directory;
    private AppendTable table;

    @BeforeEach
    void writeAllRowsButOne() throws Exception {
        table = AppendTable.create(directory.resolve("table"), Map.of());
        table.append(0, 1, 2, SECOND_SPLIT, SECOND_SPLIT + 2);
    }

    @Test
    void aTableWithEachRowOnceIsExact() throws Exception {
        table.append(SECOND_SPLIT + 1);
        tally().assertExact();
    }

    @Test
    void aRowThatIsNotThereIsLost() throws Exception {
        assertEquals(List.of(SECOND_SPLIT + 1), tally().lost);
        assertThrows(AssertionError.class, tally()::assertExact);
    }

    @Test
    void aRowThatIsThereAgainIsRepeated() throws Exception {
        table.append(2, SECOND_SPLIT + 1);
        assertEquals(List.of(2L), tally().repeated);
        assertThrows(AssertionError.class, tally()::assertExact);
    }

    @Test
    void aRowThatNobodyEmittedIsUnexpected() throws Exception {
        table.append(3, SECOND_SPLIT + 1);
        assertEquals(List.of(3L), tally().unexpected);
        assertThrows(AssertionError.class, tally()::assertExact);
    }

    private RowTally tally() throws Exception {
        return RowTally.of(table, 2, 3);
    }
}
