package io.paimonwriter.coordinator.cluster;

import org.apache.paimon.fs.FileStatus;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.PositionOutputStream;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;

/**
 * A local file system that has faults for a while. It travels to the job manager and to the writers
 * with the table, and all of them look at the same gates.
 */
final class FaultyFileIO extends LocalFileIO {

    private static final long serialVersionUID = 1L;
    private static final long POLL_MILLIS = 10;
    private static final long SLOW_MILLIS = 300;

    /** What of the table a fault hits. */
    enum Part {
        /** What writers write. */
        DATA,
        /** What commits read and write: snapshots, manifests. Writers read some of it, too. */
        METADATA,
        /** The rename that makes a commit visible, and nothing else. */
        COMMIT;

        private static Part of(Path path) {
            return path.toString().contains("/bucket-") ? DATA : METADATA;
        }
    }

    enum Fault {
        /** Every operation takes some time, but for the writing of bytes. */
        SLOW,
        /** Files can be created and renamed, but no byte can be written. */
        FULL,
        /** Every operation fails. */
        FAILING,
        /** No operation ends. */
        HANGING,
        /** A rename is done, and then the answer that says so gets lost. */
        UNANSWERED
    }

    private final Gates gates;

    FaultyFileIO(Gates gates) {
        this.gates = gates;
    }

    /** From now on, until {@link #end}, this part of the table has this fault. */
    void begin(Part part, Fault fault) throws IOException {
        gates.open(gate(part, fault));
    }

    void end(Part part, Fault fault) throws IOException {
        gates.close(gate(part, fault));
    }

    /** How many operations have met this fault so far. */
    int hits(Part part, Fault fault) throws IOException {
        return gates.marks(gate(part, fault));
    }

    /** How many operations have gone on after this fault so far. */
    int ends(Part part, Fault fault) throws IOException {
        return gates.marks(endOf(gate(part, fault)));
    }

    private static String endOf(String gate) {
        return "END-OF-" + gate;
    }

    private static String gate(Part part, Fault fault) {
        return part + "-IS-" + fault;
    }

    private boolean has(Path path, Fault fault) throws IOException {
        return has(Part.of(path), fault);
    }

    private boolean has(Part part, Fault fault) throws IOException {
        String gate = gate(part, fault);
        boolean open = gates.isOpen(gate);
        if (open) {
            gates.mark(gate);
        }
        return open;
    }

    private void operate(Path path) throws IOException {
        if (has(path, Fault.SLOW)) {
            sleep(SLOW_MILLIS);
        }
        failOrHang(path, Part.of(path));
    }

    private void failOrHang(Path path, Part part) throws IOException {
        if (has(part, Fault.FAILING)) {
            throw new IOException("The test's file system fails for a while: " + path);
        }
        if (has(part, Fault.HANGING)) {
            while (gates.isOpen(gate(part, Fault.HANGING))) {
                sleep(POLL_MILLIS);
            }
            gates.mark(endOf(gate(part, Fault.HANGING)));
        }
    }

    private static void sleep(long millis) throws IOException {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("Interrupted in an operation.");
        }
    }

    @Override
    public SeekableInputStream newInputStream(Path path) throws IOException {
        operate(path);
        return super.newInputStream(path);
    }

    @Override
    public PositionOutputStream newOutputStream(Path path, boolean overwrite) throws IOException {
        operate(path);
        return new FaultyOutputStream(path, super.newOutputStream(path, overwrite));
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        operate(path);
        return super.getFileStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        operate(path);
        return super.listStatus(path);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        operate(path);
        return super.exists(path);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        operate(path);
        return super.delete(path, recursive);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        operate(path);
        return super.mkdirs(path);
    }

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        operate(target);
        if (target.getParent().getName().equals("snapshot")) {
            failOrHang(target, Part.COMMIT);
        }
        boolean renamed = renameUnlessThere(source, target);
        if (has(target, Fault.UNANSWERED)) {
            throw new IOException("The test's file system loses the answer: " + target);
        }
        return renamed;
    }

    /**
     * Never over an existing file, also when two processes try at once, as on HDFS. Paimon's own
     * local file system prevents that within one JVM only, and here there may be two job managers.
     */
    private boolean renameUnlessThere(Path source, Path target) throws IOException {
        java.nio.file.Path from = toFile(source).toPath();
        java.nio.file.Path to = toFile(target).toPath();
        Files.createDirectories(to.getParent());
        try {
            Files.createLink(to, from);
        } catch (FileAlreadyExistsException e) {
            return false;
        }
        Files.delete(from);
        return true;
    }

    /** Faults hit files that were open before, too. */
    private final class FaultyOutputStream extends PositionOutputStream {

        private final Path path;
        private final PositionOutputStream stream;

        FaultyOutputStream(Path path, PositionOutputStream stream) {
            this.path = path;
            this.stream = stream;
        }

        private void beforeWriting() throws IOException {
            failOrHang(path, Part.of(path));
            if (has(path, Fault.FULL)) {
                throw new IOException("No space left on device, says the test: " + path);
            }
        }

        @Override
        public long getPos() throws IOException {
            return stream.getPos();
        }

        @Override
        public void write(int b) throws IOException {
            beforeWriting();
            stream.write(b);
        }

        @Override
        public void write(byte[] b) throws IOException {
            write(b, 0, b.length);
        }

        @Override
        public void write(byte[] b, int off, int len) throws IOException {
            beforeWriting();
            stream.write(b, off, len);
        }

        @Override
        public void flush() throws IOException {
            stream.flush();
        }

        @Override
        public void close() throws IOException {
            stream.close();
        }
    }
}
