package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.paimon.flink.sink.Committable;
import org.apache.paimon.flink.sink.Committer;
import org.apache.paimon.manifest.ManifestCommittable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import javax.annotation.Nullable;

/** Paimon's commits on the committer thread, on a table in a local folder. */
@Timeout(60)
class TableCommitterTest {

    private final CoordinatorMetrics metrics =
            CoordinatorMetrics.of(new UnregisteredMetricsGroup(), "db.t");
    private static final String USER = "user";

    private final LinkedBlockingQueue<Report> reports = new LinkedBlockingQueue<>();
    private final AtomicReference<Throwable> jobFailure = new AtomicReference<>();

    @TempDir private Path folder;
    private CoordinatorSettings settings = builder().build();
    @Nullable private TableCommitter committer;

    @AfterEach
    void close() {
        if (committer != null) {
            assertTrue(committer.close(10_000));
        }
        assertEquals(0, CommitLocks.size());
        assertNull(jobFailure.get());
    }

    @Test
    void commitsAndReportsTheSnapshot() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        assertEquals(Long.MIN_VALUE, next().value);

        commit(1, 1, 5, table.write(5, 1));

        Report report = next();
        assertEquals(CommitFailure.NONE, report.failure, report.message);
        assertEquals(1, report.commitId);
        assertEquals(1, report.value);
        assertEquals(List.of(5L), table.identifiers());
        assertEquals(1, table.rows());
    }

    @Test
    void h08SameIdentifierAgainIsFiltered() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        next();
        List<Committable> committables = table.write(5, 1);
        commit(1, 1, 5, committables);
        commit(1, 2, 5, committables);
        assertEquals(1, next().value);

        Report second = next();

        assertEquals(CommitFailure.NONE, second.failure, second.message);
        assertEquals(1, second.value);
        assertEquals(1, table.rows());
    }

    @Test
    void restoredUserIsLookedUp() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        commit(1, 1, 5, table.write(5, 1));
        next();
        next();

        open(1, true);

        Report opened = next();
        assertEquals(0, opened.commitId);
        assertEquals(5, opened.value);
    }

    @Test
    void emptyCommitCreatesASnapshotOnlyWhenPaimonForcesOne() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        commit(1, 1, 5, Collections.emptyList());
        next();

        assertEquals(-1, next().value);
        assertEquals(List.of(), table.identifiers());
    }

    @Test
    void emptyCommitOfACompletedCheckpointCreatesAForcedSnapshot() throws Exception {
        LocalTable table = start(Map.of("commit.force-create-snapshot", "true"));
        open(1, false);
        committer.commit(1, 1, order(5, false, Collections.emptyList()));
        committer.commit(1, 2, order(6, true, Collections.emptyList()));
        next();

        assertEquals(-1, next().value);
        assertEquals(1, next().value);
        assertEquals(List.of(6L), table.identifiers());
    }

    @Test
    void s42WhatIsOfAnOldEpochIsDropped() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        next();
        committer.beginEpoch(2, -1);

        commit(1, 1, 5, table.write(5, 1));
        open(2, false);

        Report report = next();
        assertEquals(2, report.epoch);
        assertEquals(List.of(), table.identifiers());
    }

    @Test
    void s37DeletedFileIsFinalAndNamed() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        next();
        List<Committable> committables = table.write(5, 1);
        table.deleteDataFiles();

        commit(1, 1, 5, committables);

        Report report = next();
        assertEquals(CommitFailure.FINAL, report.failure, report.message);
        for (String part : new String[] {"checkpoint 5", "bucket-0/data-"}) {
            assertTrue(report.message.contains(part), report.message);
        }
        assertEquals(List.of(), table.identifiers());
    }

    @Test
    void s94ErrorOnTheCommitThreadIsReportedAndTheThreadLives() throws Exception {
        LocalTable table = LocalTable.create(folder, Map.of());
        start(
                table,
                context -> {
                    throw new StackOverflowError("deep");
                });
        open(1, false);
        assertEquals(CommitFailure.FAILS_JOB, next().failure);

        open(1, false);

        assertEquals(CommitFailure.FAILS_JOB, next().failure);
    }

    @Test
    void closeInterruptsACommitThatHangs() throws Exception {
        LocalTable table = LocalTable.create(folder, Map.of());
        CountDownLatch begun = new CountDownLatch(1);
        start(
                table,
                context -> {
                    begun.countDown();
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    return null;
                });
        open(1, false);
        begun.await();

        assertTrue(committer.close(10_000));
        assertNull(reports.poll());
    }

    @Test
    void h08LockedUserIsWaitedFor() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        next();
        try (CommitLocks.Held held = CommitLocks.acquire(table.table.location().toString(), USER)) {
            assertEquals(1, CommitLocks.size(), held.toString());
            commit(1, 1, 5, table.write(5, 1));
            assertNull(reports.poll(300, TimeUnit.MILLISECONDS));
            assertEquals(List.of(), table.identifiers());
        }

        assertEquals(1, next().value);
    }

    @Test
    void committerStateIsHandedOnToTheNextCommitter() throws Exception {
        start(Map.of());
        byte[] state = CommitterStates.encode(Map.of("a", new byte[] {1, 2}));

        committer.open(1, USER, true, state);

        assertEquals(2, CommitterStates.decode(next().committerState).get("a").length);
    }

    @Test
    void committerStateThatCannotBeReadIsFinal() throws Exception {
        start(Map.of());

        committer.open(1, USER, true, new byte[] {9});

        Report report = next();
        assertEquals(CommitFailure.FINAL, report.failure);
        assertTrue(report.message.contains("version 9, expected at most 1"), report.message);
    }

    @Test
    void h12CommittablesAreReadBeforeTheCallReturns() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        next();
        int version = LocalTable.serializerVersion();
        byte[] bytes = LocalTable.serialize(table.write(5, 1).get(0));
        ByteBuffer payload = ByteBuffer.allocateDirect(4 + bytes.length);
        payload.putInt(bytes.length).put(bytes).flip();
        try (CommitLocks.Held held = CommitLocks.acquire(table.table.location().toString(), USER)) {
            assertFalse(held.toString().isEmpty());
            host().commit(
                            1,
                            1,
                            USER,
                            5,
                            0,
                            true,
                            false,
                            1,
                            new int[] {version, version},
                            new int[] {1, 0},
                            new ByteBuffer[] {payload, ByteBuffer.allocateDirect(0)});
            for (int i = 0; i < payload.capacity(); i++) {
                payload.put(i, (byte) 0xee);
            }
        }

        Report report = next();
        assertEquals(CommitFailure.NONE, report.failure, report.message);
        assertEquals(1, table.rows());
    }

    @Test
    void whatANewerPaimonWroteIsFinalAndNamed() throws Exception {
        start(Map.of());
        open(1, true);
        next();
        int version = LocalTable.serializerVersion();

        commitOfANewerPaimon(7, 5);

        Report report = next();
        assertEquals(7, report.commitId);
        assertEquals(CommitFailure.FINAL, report.failure);
        for (String part :
                List.of(
                        "checkpoint 5",
                        "found committables of serializer version " + (version + 1),
                        "expected at most " + version,
                        "stop that job with a savepoint")) {
            assertTrue(report.message.contains(part), report.message);
        }
    }

    @Test
    void whatANewerPaimonWroteNeedNotBeReadWhenItIsInTheTable() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        commit(1, 1, 5, table.write(5, 1));
        next();
        next();
        open(1, true);
        next();

        commitOfANewerPaimon(7, 5);
        commitOfANewerPaimon(8, 6);

        Report found = next();
        assertEquals(7, found.commitId);
        assertEquals(CommitFailure.NONE, found.failure, found.message);
        assertEquals(1, found.value);
        assertEquals(CommitFailure.FINAL, next().failure);
        assertEquals(List.of(5L), table.identifiers());
    }

    private void commitOfANewerPaimon(long commitId, long identifier) {
        host().commit(
                        1,
                        commitId,
                        USER,
                        identifier,
                        0,
                        true,
                        false,
                        1,
                        new int[] {LocalTable.serializerVersion() + 1},
                        new int[] {1},
                        new ByteBuffer[] {ByteBuffer.allocateDirect(0)});
    }

    @Test
    void s78TheTagOfABatchJobIsMadeAfterItsCommitAndOnceHoweverOftenItIsTried() throws Exception {
        settings = builder().checkpointingEnabled(false).batchTag(true).build();
        LocalTable table = start(Map.of());
        open(1, false);
        next();
        List<Committable> committables = table.write(Long.MAX_VALUE, 1);
        for (int attempt = 1; attempt <= 2; attempt++) {
            commit(1, attempt, Long.MAX_VALUE, committables);
            assertEquals(CommitFailure.NONE, next().failure);
            assertEquals(1, table.table.tagManager().tagCount());
            assertEquals(1, table.rows());
        }
    }

    @Test
    void s78ATagThatWasLostInACrashIsMadeWhenTheCommitIsFoundDone() throws Exception {
        LocalTable table = start(Map.of());
        open(1, false);
        commit(1, 1, Long.MAX_VALUE, table.write(Long.MAX_VALUE, 1));
        next();
        next();
        assertEquals(0, table.table.tagManager().tagCount());
        assertTrue(committer.close(10_000));
        settings = builder().checkpointingEnabled(false).batchTag(true).build();
        start(table, table.committerFactory());

        open(1, false);

        assertEquals(Long.MAX_VALUE, next().value);
        assertEquals(1, table.table.tagManager().tagCount());
    }

    private CoordinatorHost host() {
        return new CoordinatorHost(
                settings, committer, new PendingAnswers(), metrics.beginLoop(), jobFailure::set);
    }

    private static CoordinatorSettings.Builder builder() {
        return CoordinatorSettings.builder(USER, "db.t", "Writer");
    }

    private LocalTable start(Map<String, String> options) throws Exception {
        LocalTable table = LocalTable.create(folder, options);
        start(table, table.committerFactory());
        return table;
    }

    private void start(
            LocalTable table, Committer.Factory<Committable, ManifestCommittable> factory) {
        committer =
                new TableCommitter(
                        settings,
                        new UserCommitters(settings, table.table, factory, null),
                        metrics,
                        getClass().getClassLoader(),
                        (epoch, commitId, failure, value, state, message) ->
                                reports.add(
                                        new Report(
                                                epoch, commitId, failure, value, state, message)),
                        jobFailure::set);
        committer.start();
        committer.beginEpoch(1, -1);
    }

    private void open(long epoch, boolean restored) {
        committer.open(epoch, USER, restored, null);
    }

    private void commit(
            long epoch, long commitId, long identifier, List<Committable> committables) {
        committer.commit(epoch, commitId, order(identifier, true, committables));
    }

    private static CommitOrder order(
            long identifier, boolean completed, List<Committable> committables) {
        return new CommitOrder(USER, identifier, 0, completed, false, 1, committables);
    }

    private Report next() throws InterruptedException {
        Report report = reports.poll(30, TimeUnit.SECONDS);
        assertTrue(report != null, "nothing was reported");
        return report;
    }

    private static final class Report {

        private final long epoch;
        private final long commitId;
        private final int failure;
        private final long value;
        @Nullable private final byte[] committerState;
        @Nullable private final String message;

        private Report(
                long epoch,
                long commitId,
                int failure,
                long value,
                @Nullable byte[] committerState,
                @Nullable String message) {
            this.epoch = epoch;
            this.commitId = commitId;
            this.failure = failure;
            this.value = value;
            this.committerState = committerState;
            this.message = message;
        }
    }
}
