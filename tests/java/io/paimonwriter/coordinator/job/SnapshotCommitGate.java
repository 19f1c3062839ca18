package io.paimonwriter.coordinator.job;

import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Stands before the step that makes a Paimon snapshot visible, the rename to {@code
 * snapshot/snapshot-N}, and makes it slow, failing, or waiting for the test.
 */
final class SnapshotCommitGate {

    private static final Map<String, SnapshotCommitGate> GATES = new ConcurrentHashMap<>();

    private final String key = UUID.randomUUID().toString();
    private final List<Rename> renames = new ArrayList<>();
    private boolean held;
    private boolean stubborn;
    private boolean broken;
    private long delayMillis;
    private int failuresBefore;
    private int failuresAfter;
    private int errors;
    private int inFlight;
    private int failed;

    static SnapshotCommitGate open() {
        SnapshotCommitGate gate = new SnapshotCommitGate();
        GATES.put(gate.key, gate);
        return gate;
    }

    /** A local file system behind this gate. */
    LocalFileIO fileIO() {
        return new GatedFileIO(key);
    }

    /** Renames wait from now on. */
    synchronized void hold() {
        held = true;
    }

    /** As {@link #hold}, and an interrupt does not end the wait, as in a file system that hangs. */
    synchronized void holdThroughInterrupts() {
        held = true;
        stubborn = true;
    }

    /** Waiting renames go on, and no more wait. */
    synchronized void release() {
        held = false;
        stubborn = false;
        notifyAll();
    }

    /** Renames that wait, and all from now on, fail with an IO error. */
    synchronized void breakDown() {
        broken = true;
        notifyAll();
    }

    /** Renames succeed again. */
    synchronized void repair() {
        broken = false;
        held = false;
        notifyAll();
    }

    synchronized void delay(Duration delay) {
        delayMillis = delay.toMillis();
    }

    /** The next so many renames fail and do nothing. */
    synchronized void failBefore(int times) {
        failuresBefore = times;
    }

    /** The next so many renames are done and are reported as failed. */
    synchronized void failAfter(int times) {
        failuresAfter = times;
    }

    /** The next rename throws an error of the JVM's. */
    synchronized void throwError() {
        errors = 1;
    }

    /** How many renames have begun and not ended. */
    synchronized int inFlight() {
        return inFlight;
    }

    /** How many renames were reported as failed. */
    synchronized int failed() {
        return failed;
    }

    /** The renames that were done, in order. */
    synchronized List<Rename> renames() {
        return new ArrayList<>(renames);
    }

    private boolean rename(String snapshot, IoAction action) throws IOException {
        long startMillis = System.currentTimeMillis();
        enter(startMillis);
        boolean done = false;
        try {
            done = action.run();
        } finally {
            leave(done ? new Rename(snapshot, startMillis) : null);
        }
        synchronized (this) {
            if (failuresAfter > 0) {
                failuresAfter--;
                failed++;
                throw new IOException("The rename was done, its answer is lost.");
            }
        }
        return done;
    }

    private synchronized void enter(long startMillis) throws IOException {
        inFlight++;
        try {
            long endMillis = startMillis + delayMillis;
            long remainingMillis = delayMillis;
            while (!broken && (held || remainingMillis > 0)) {
                awaitChange(held ? 0 : remainingMillis);
                remainingMillis = endMillis - System.currentTimeMillis();
            }
        } catch (InterruptedException e) {
            inFlight--;
            failed++;
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("Interrupted before the rename.");
        }
        if (errors > 0) {
            errors--;
            inFlight--;
            failed++;
            throw new LinkageError("The rename throws an error.");
        }
        if (broken || failuresBefore > 0) {
            failuresBefore = Math.max(0, failuresBefore - 1);
            inFlight--;
            failed++;
            throw new IOException("The file system refuses the rename.");
        }
    }

    private void awaitChange(long millis) throws InterruptedException {
        try {
            wait(millis);
        } catch (InterruptedException e) {
            if (!stubborn) {
                throw e;
            }
        }
    }

    private synchronized void leave(Rename renameOrNull) {
        inFlight--;
        if (renameOrNull != null) {
            renames.add(renameOrNull);
        }
    }

    /** A snapshot's rename, from the call to its return, in milliseconds since the epoch. */
    static final class Rename {

        final String snapshot;
        final long startMillis;
        final long endMillis = System.currentTimeMillis();

        Rename(String snapshot, long startMillis) {
            this.snapshot = snapshot;
            this.startMillis = startMillis;
        }
    }

    private interface IoAction {
        boolean run() throws IOException;
    }

    /**
     * Travels to the tasks and the coordinator with the table, so it holds no more than the key.
     */
    private static final class GatedFileIO extends LocalFileIO {

        private static final long serialVersionUID = 1L;

        private final String gateKey;

        GatedFileIO(String gateKey) {
            this.gateKey = gateKey;
        }

        @Override
        public boolean rename(Path source, Path target) throws IOException {
            if (target.getName().startsWith("snapshot-")) {
                return GATES.get(gateKey)
                        .rename(target.getName(), () -> super.rename(source, target));
            }
            return super.rename(source, target);
        }
    }
}
