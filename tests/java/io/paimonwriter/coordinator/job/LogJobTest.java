package io.paimonwriter.coordinator.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.logging.log4j.Level;
import org.apache.paimon.Snapshot;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What the coordinator says in the log of a job: each thing once, with everything needed. */
class LogJobTest extends JobTest {

    private static final Pattern COMMIT =
            Pattern.compile(
                    "INFO Table (\\S+), operator '(.+)': checkpoint (\\d+) by user (\\S+)"
                            + " committed: files=(\\d+) rows=(\\d+) bytes=(\\d+) millis=(\\d+)"
                            + " attempt=(\\d+) snapshot=(\\d+)");

    private final SourceScript script = SourceScript.create(2);
    private final SnapshotCommitGate gate = SnapshotCommitGate.open();

    @Test
    void s108ALiveRunSaysEachThingOnce() throws Exception {
        AppendTable table = createTable();
        List<Long> checkpoints = new ArrayList<>();
        try (CapturedLog log = CapturedLog.begin()) {
            WriteJob writeJob =
                    new WriteJob(script, table)
                            .through(gate)
                            .tableOption("commit.max-retries", "0")
                            .option("commit-retries", "3")
                            .option("commit-retry-initial-backoff", "100 ms");
            try (RunningJob job = writeJob.submitTo(cluster).awaitRunning()) {
                for (long rows = 10; rows <= 30; rows += 10) {
                    long checkpoint = checkpointAfterRows(script, job, rows);
                    table.awaitIdentifier(checkpoint);
                    checkpoints.add(checkpoint);
                }
                // Paimon's writers tell once that they have nothing more, which makes a snapshot.
                checkpoints.add(job.checkpoint());
                table.awaitIdentifier(checkpoints.get(3));
                // Nothing at all: not a line.
                job.checkpoint();
                gate.failBefore(1);
                long retried = checkpointAfterRows(script, job, 5);
                table.awaitIdentifier(retried);
                checkpoints.add(retried);
            }
            Await.until(
                    "it is closed",
                    () -> log.of(table).stream().anyMatch(line -> line.endsWith("': closed")));
            List<String> lines = log.of(table);
            String user = table.commitUsers().iterator().next();
            assertStart(lines.get(0), table, user);
            assertEquals(
                    List.of(
                            "starting without state: waits for the latest commit of user " + user,
                            "running, commits as user " + user + ": the committer is open"),
                    lines.subList(1, 3).stream()
                            .map(
                                    line ->
                                            line.replaceFirst(
                                                    "^INFO Table \\S+, operator '.+?': ", ""))
                            .collect(Collectors.toList()));
            assertCommits(lines, table, checkpoints);
            List<String> warnings =
                    lines.stream().filter(it -> it.startsWith("WARN")).collect(Collectors.toList());
            assertEquals(1, warnings.size(), lines.toString());
            assertTrue(
                    warnings.get(0)
                            .contains(
                                    String.format(
                                            "attempt 1 of 4 of the commit of checkpoint %d failed,"
                                                    + " the next one begins in 100 ms",
                                            checkpoints.get(4))),
                    warnings.toString());
            assertTrue(warnings.get(0).contains("refuses the rename"), warnings.toString());
            assertTrue(warnings.get(0).contains(user), warnings.toString());
            assertEquals(3 + 5 + 1 + 1, lines.size(), String.join("\n", lines));
        }
    }

    private static void assertStart(String line, AppendTable table, String user) {
        for (String part :
                List.of(
                        "INFO ",
                        table.name(),
                        "on Flink " + EnvironmentInformation.getVersion() + " and Paimon ",
                        "Java " + System.getProperty("java.version"),
                        "libpaimon_writer_coordinator.so (linux-",
                        " bytes, SHA-256 ",
                        "parallelism=2 mode=streaming checkpoints=on commit-user=" + user,
                        " max-due-commits=10 chunk-size=2097152b confirm-timeout=60000ms"
                                + " late-event-timeout=60000ms commit-retries=3"
                                + " commit-retry-initial-backoff=100ms"
                                + " commit-retry-max-backoff=30000ms checkpoint-hold=300000ms"
                                + " request-hold=5000ms batch-tag=false batch-snapshots=true"
                                + " end-input-watermark=null")) {
            assertTrue(line.contains(part), () -> part + " is not in " + line);
        }
        String versions =
                "Paimon Writer Coordinator \\d+\\.\\d+\\.\\d+ for Flink [\\d.]+ and Paimon"
                        + " ([\\d.]+), on Flink [\\d.]+ and Paimon \\1, Java ";
        assertTrue(Pattern.compile(versions).matcher(line).find(), line);
        String size = ", [1-9]\\d{5,} bytes, SHA-256 [0-9a-f]{64}\\)";
        assertTrue(Pattern.compile(size).matcher(line).find(), line);
    }

    private static void assertCommits(List<String> lines, AppendTable table, List<Long> checkpoints)
            throws Exception {
        List<Matcher> commits =
                lines.stream()
                        .map(COMMIT::matcher)
                        .filter(Matcher::matches)
                        .collect(Collectors.toList());
        assertEquals(checkpoints.size(), commits.size(), String.join("\n", lines));
        List<Snapshot> snapshots = table.snapshots();
        for (int i = 0; i < commits.size(); i++) {
            Matcher commit = commits.get(i);
            Snapshot snapshot = snapshots.get(i);
            assertEquals(table.name(), commit.group(1));
            assertTrue(commit.group(2).contains("Writer"), commit.group(2));
            assertEquals((long) checkpoints.get(i), Long.parseLong(commit.group(3)));
            assertEquals(snapshot.commitUser(), commit.group(4));
            assertEquals(i == 3 ? "0" : "2", commit.group(5), "a file of each writer");
            assertEquals(table.addedRows().get(i), Long.valueOf(commit.group(6)));
            assertEquals(table.addedBytes(snapshot), Long.parseLong(commit.group(7)));
            assertTrue(Long.parseLong(commit.group(8)) < 120_000, commit.group(8));
            assertEquals(i == 4 ? "2" : "1", commit.group(9), "attempt");
            assertEquals(snapshot.id(), Long.parseLong(commit.group(10)));
        }
    }

    @Test
    void s108TheLevelOfTheLoggerDecidesAlsoWhileTheJobRuns() throws Exception {
        AppendTable table = createTable();
        try (CapturedLog log = CapturedLog.begin()) {
            log.setCoordinatorLevel(Level.WARN);
            try (RunningJob job = new WriteJob(script, table).submitTo(cluster).awaitRunning()) {
                table.awaitIdentifier(checkpointAfterRows(script, job, 10));
                script.failJob();
                script.allowAll(10);
                job.awaitWriterAttempts(1, 1);
                table.awaitIdentifier(checkpointAfterRestore(script, job, 10));
                assertEquals(List.of(), log.of(table));

                log.setCoordinatorLevel(Level.INFO);
                table.awaitIdentifier(checkpointAfterRows(script, job, 10));
                Await.until("the commit is in the log", () -> log.of(table).size() == 1);
                assertTrue(COMMIT.matcher(log.of(table).get(0)).matches(), log.of(table).get(0));
                log.setCoordinatorLevel(Level.WARN);
            }
            CoordinatorThreads.awaitNone();
            assertEquals(1, log.of(table).size(), log.of(table).toString());
        }
    }
}
