package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.AppendTable;

import java.util.ArrayList;
import java.util.List;

/** What became of the rows of a {@link GatedSource}, by id. */
final class RowTally {

    private static final int EXAMPLES = 10;

    final long emitted;
    final List<Long> lost = new ArrayList<>();
    final List<Long> repeated = new ArrayList<>();
    final List<Long> unexpected = new ArrayList<>();

    private RowTally(long emitted) {
        this.emitted = emitted;
    }

    /** Looks for the rows of so many splits of the same length in the newest snapshot. */
    static RowTally of(AppendTable table, int splits, long rowsPerSplit) throws Exception {
        RowTally tally = new RowTally(splits * rowsPerSplit);
        int[][] counts = new int[splits][Math.toIntExact(rowsPerSplit)];
        table.forEachRow(
                row -> {
                    long id = row.getLong(0);
                    long split = id / GatedSource.STRIDE;
                    long position = id % GatedSource.STRIDE;
                    if (split < splits && position < rowsPerSplit) {
                        counts[(int) split][(int) position]++;
                    } else {
                        tally.unexpected.add(id);
                    }
                });
        for (int split = 0; split < splits; split++) {
            for (int position = 0; position < rowsPerSplit; position++) {
                int count = counts[split][position];
                if (count != 1) {
                    (count == 0 ? tally.lost : tally.repeated)
                            .add(split * GatedSource.STRIDE + position);
                }
            }
        }
        return tally;
    }

    boolean isExact() {
        return lost.isEmpty() && repeated.isEmpty() && unexpected.isEmpty();
    }

    /** Throws unless each row is there once and nothing else is. */
    void assertExact() {
        if (!isExact()) {
            throw new AssertionError(
                    String.format(
                            "%s: lost %s, twice %s, unexpected %s",
                            this, some(lost), some(repeated), some(unexpected)));
        }
    }

    private static String some(List<Long> ids) {
        return ids.subList(0, Math.min(ids.size(), EXAMPLES)).toString();
    }

    @Override
    public String toString() {
        return String.format(
                "%,d emitted, %,d lost, %,d twice, %,d unexpected",
                emitted, lost.size(), repeated.size(), unexpected.size());
    }
}
