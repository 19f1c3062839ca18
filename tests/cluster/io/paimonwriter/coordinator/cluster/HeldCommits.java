package io.paimonwriter.coordinator.cluster;

import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;

/**
 * A local file system in which snapshots become visible once a gate is open. It travels to the job
 * manager with the table.
 */
final class HeldCommits extends LocalFileIO {

    private static final long serialVersionUID = 1L;
    private static final String GATE = "gate-of-commits";
    private static final String HELD = "a-commit-is-held";
    private static final long POLL_MILLIS = 10;

    private final Gates gates;

    HeldCommits(Gates gates) {
        this.gates = gates;
    }

    boolean isHolding() {
        return gates.isOpen(HELD);
    }

    void release() throws IOException {
        gates.open(GATE);
    }

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        if (target.getParent().getName().equals("snapshot")) {
            gates.open(HELD);
            try {
                while (!gates.isOpen(GATE)) {
                    TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("Interrupted before the rename.");
            }
        }
        return super.rename(source, target);
    }
}
