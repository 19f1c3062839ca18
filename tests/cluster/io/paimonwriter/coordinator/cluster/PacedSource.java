package io.paimonwriter.coordinator.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * A source whose rows are due by the clock, so many a second, until a test ends it. Which rows
 * there are does not depend on what becomes of the readers: one that starts again catches up.
 */
final class PacedSource extends GatedSource {

    private static final long serialVersionUID = 1L;
    private static final String END = "end-of-rows";

    /** How far ahead the end is: when readers learn of it, they must not have passed it. */
    private static final long END_SECONDS = 5;

    private final long startMillis = System.currentTimeMillis();
    private final long rowsPerSecond;

    /** The rate is that of each split. */
    PacedSource(String name, Gates gates, int splitCount, long rowsPerSecond) {
        super(name, gates, splitCount, Long.MAX_VALUE);
        this.rowsPerSecond = rowsPerSecond;
    }

    /** How many rows of each split are due by now. */
    long due() {
        return (System.currentTimeMillis() - startMillis) * rowsPerSecond / 1_000;
    }

    /**
     * Lets all splits end.
     *
     * @return how many rows each of them has
     */
    long end() throws IOException {
        long rows = due() + rowsPerSecond * END_SECONDS;
        gates.write(END, Long.toString(rows));
        if (due() > rows) {
            throw new IllegalStateException("A reader may have been ahead of the end.");
        }
        return rows;
    }

    /** Looks at the clock first: an end that is not yet there then cannot be below what is due. */
    @Override
    long released(int split) {
        return Math.min(due(), length());
    }

    @Override
    long length() {
        try {
            return gates.isOpen(END) ? Long.parseLong(gates.read(END)) : super.length();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
