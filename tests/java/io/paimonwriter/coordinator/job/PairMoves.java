package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A job moves from one pair of Flink and Paimon to another, through a savepoint. Each pair runs in
 * a JVM of its own: {@link #main} leaves savepoints for all the others, and the tests restore what
 * the others have left. Gradle runs these tests by name, after every pair has left its savepoints.
 */
class PairMoves extends JobTest {

    private static final Path ALL_MOVES = Path.of(System.getProperty("moves.directory", "moves"));
    private static final String PAIR = System.getProperty("moves.pair", "");
    private static final String[] PAIRS = System.getProperty("moves.pairs", "").split(",");

    private static final int SPLITS = 2;
    private static final int COMMITTED_ROWS = 100;
    private static final int PENDING_ROWS = 50;
    private static final int ALL_ROWS = COMMITTED_ROWS + 2 * PENDING_ROWS;

    private final SourceScript script = SourceScript.create(SPLITS);

    /** Leaves two savepoints of this pair for every other pair. */
    public static void main(String[] arguments) throws Exception {
        try (TestCluster own = TestCluster.start(SPLITS)) {
            for (String pair : PAIRS) {
                if (!pair.equals(PAIR)) {
                    leaveWithPendingCommits(own, new Move(PAIR, pair, "pending"));
                    leaveByStop(own, new Move(PAIR, pair, "stopped"));
                }
            }
        }
    }

    /**
     * A completed checkpoint and the savepoint itself wait for their commits. The latter fail for
     * so long that only whoever restores the savepoint can make them.
     */
    private static void leaveWithPendingCommits(TestCluster cluster, Move move) throws Exception {
        SourceScript script = SourceScript.create(SPLITS);
        SnapshotCommitGate gate = SnapshotCommitGate.open();
        AppendTable table = move.createTable();
        WriteJob writeJob = new WriteJob(script, table).through(gate).withoutCommitRetries();
        try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
            table.awaitIdentifier(checkpointAfterRows(script, job, COMMITTED_ROWS));
            gate.breakDown();
            checkpointAfterRows(script, job, PENDING_ROWS);
            script.allowAll(PENDING_ROWS).awaitDrained();
            move.leave(job.savepoint(move.savepoints()));
        }
    }

    /** All that was written is in the table, but the savepoint does not know of its own commit. */
    private static void leaveByStop(TestCluster cluster, Move move) throws Exception {
        SourceScript script = SourceScript.create(SPLITS);
        AppendTable table = move.createTable();
        try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
            checkpointAfterRows(script, job, COMMITTED_ROWS);
            checkpointAfterRows(script, job, PENDING_ROWS);
            script.allowAll(PENDING_ROWS).awaitDrained();
            move.leave(job.stopWithSavepoint(move.savepoints(), false));
        }
    }

    static Stream<Move> moves() {
        return Stream.of(PAIRS)
                .filter(from -> !from.equals(PAIR))
                .flatMap(
                        from ->
                                Stream.of("pending", "stopped")
                                        .map(kind -> new Move(from, PAIR, kind)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("moves")
    void aJobMovesFromPairToPair(Move move) throws Exception {
        script.allowAll(ALL_ROWS);
        List<Long> before = move.table().identifiers();
        assertEquals(move.isPending() ? List.of(1L) : List.of(1L, 2L, 3L), before);
        if (move.isToOlder(Move::flink)) {
            assertRefusedByFlink(move);
        } else if (move.isPending() && move.isToOlder(Move::paimon)) {
            assertRefusedByTheCoordinator(move);
        } else {
            assertGoesOn(move);
            return;
        }
        assertEquals(before, move.table().identifiers());
    }

    private void assertGoesOn(Move move) throws Exception {
        AppendTable table = move.table();
        try (RunningJob job = restore(move).awaitRunning()) {
            long next = checkpointAfterRestore(script, job, 25);
            table.awaitIdentifier(next);
            assertEquals(List.of(1L, 2L, 3L, next), table.identifiers());
            script.allowAll(5).endAll();
            job.awaitFinished();

            table.assertHolds(script.ids());
            assertEquals(List.of(1L, 2L, 3L, next, Long.MAX_VALUE), table.identifiers());
            assertEquals(1, table.commitUsers().size(), "commit users");
        }
    }

    /** Flink reads what its older versions wrote, and nothing that is newer. */
    private void assertRefusedByFlink(Move move) {
        String failure = stackTrace(assertThrows(Exception.class, () -> restore(move)));
        assertTrue(failure.contains("Unrecognized checkpoint version number"), failure);
    }

    private static String stackTrace(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private void assertRefusedByTheCoordinator(Move move) throws Exception {
        try (RunningJob job = restore(move)) {
            String failure = job.awaitFailed();
            assertTrue(failure.contains("the committables cannot be read"), failure);
            assertTrue(failure.contains("a newer version of Paimon wrote them"), failure);
            assertTrue(failure.contains("stop that job with a savepoint"), failure);
        }
    }

    private RunningJob restore(Move move) throws Exception {
        return new WriteJob(script, move.table()).restoreFrom(move.savepoint()).submitTo(cluster);
    }

    /** Where one pair leaves a table and a savepoint for another. */
    private static final class Move {

        private final String from;
        private final String to;
        private final String kind;

        private Move(String from, String to, String kind) {
            this.from = from;
            this.to = to;
            this.kind = kind;
        }

        private Path directory() {
            return ALL_MOVES.resolve(from).resolve(kind + "-to-" + to);
        }

        AppendTable createTable() throws Exception {
            return AppendTable.create(directory().resolve("table"), Map.of());
        }

        AppendTable table() {
            return AppendTable.at(directory().resolve("table"));
        }

        String savepoints() {
            return directory().resolve("savepoints").toUri().toString();
        }

        void leave(String savepoint) throws Exception {
            Files.write(directory().resolve("path"), List.of(savepoint));
        }

        String savepoint() throws Exception {
            return Files.readAllLines(directory().resolve("path")).stream()
                    .collect(Collectors.joining());
        }

        boolean isPending() {
            return kind.equals("pending");
        }

        /** Compares as text, which will do until a version has two digits. */
        boolean isToOlder(Function<String, String> part) {
            return part.apply(from).compareTo(part.apply(to)) > 0;
        }

        static String flink(String pair) {
            return pair.replaceFirst("flink-(.*)-paimon-.*", "$1");
        }

        static String paimon(String pair) {
            return pair.replaceFirst(".*-paimon-", "");
        }

        @Override
        public String toString() {
            return from + " to " + to + ", " + kind;
        }
    }
}
