package io.paimonwriter.coordinator;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;

import javax.annotation.Nullable;

/**
 * What planning decides once on the client and the job graph then carries to the coordinator and to
 * every writer.
 *
 * <p>The commit user is drawn on the client (h19): a coordinator that is created anew after a loss
 * of the job manager must find the commits of its predecessor under the same user.
 */
public final class CoordinatorSettings implements Serializable {

    private static final long serialVersionUID = 1L;

    private final String commitUser;
    private final String tableName;
    private final String operatorName;
    private final int maxDueCommits;
    private final long checkpointHoldMillis;
    private final long lateEventTimeoutMillis;
    private final long requestHoldMillis;
    private final int commitRetries;
    private final long commitRetryInitialBackoffMillis;
    private final long commitRetryMaxBackoffMillis;
    private final boolean streaming;
    private final boolean checkpointingEnabled;
    private final boolean batchTag;
    private final boolean batchSnapshots;
    @Nullable private final Long endInputWatermark;
    private final int chunkSizeBytes;
    private final long confirmTimeoutMillis;

    private CoordinatorSettings(Builder builder) {
        this.commitUser = builder.commitUser;
        this.tableName = builder.tableName;
        this.operatorName = builder.operatorName;
        this.maxDueCommits = builder.maxDueCommits;
        this.checkpointHoldMillis = builder.checkpointHold.toMillis();
        this.lateEventTimeoutMillis = builder.lateEventTimeout.toMillis();
        this.requestHoldMillis = builder.requestHold.toMillis();
        this.commitRetries = builder.commitRetries;
        this.commitRetryInitialBackoffMillis = builder.commitRetryInitialBackoff.toMillis();
        this.commitRetryMaxBackoffMillis = builder.commitRetryMaxBackoff.toMillis();
        this.streaming = builder.streaming;
        this.checkpointingEnabled = builder.checkpointingEnabled;
        this.batchTag = builder.batchTag;
        this.batchSnapshots = builder.batchSnapshots;
        this.endInputWatermark = builder.endInputWatermark;
        this.chunkSizeBytes = builder.chunkSizeBytes;
        this.confirmTimeoutMillis = builder.confirmTimeout.toMillis();
    }

    /**
     * Begins the settings of one sink.
     *
     * @param commitUser Paimon's commit user, drawn on the client
     * @param tableName full name of the table, as error messages shall show it
     * @param operatorName name of the writer operator, as error messages shall show it
     */
    public static Builder builder(String commitUser, String tableName, String operatorName) {
        return new Builder(commitUser, tableName, operatorName);
    }

    /** The commit user that planning drew; a coordinator derives fresh users from it (h03). */
    public String commitUser() {
        return commitUser;
    }

    /** Full name of the table. */
    public String tableName() {
        return tableName;
    }

    /** Name of the writer operator. */
    public String operatorName() {
        return operatorName;
    }

    /** Table and operator, as every message of the coordinator names them. */
    String describe() {
        return String.format("Table %s, operator '%s'", tableName, operatorName);
    }

    /** Whether the job takes checkpoints. */
    public boolean checkpointingEnabled() {
        return checkpointingEnabled;
    }

    /**
     * Whether a batch job's finished writers may stay finished when its job manager is lost. Not
     * when a source deals its input out anew: Flink's does that with an input format.
     */
    public boolean batchSnapshots() {
        return batchSnapshots;
    }

    /** Whether the snapshot of a batch job gets a tag. */
    public boolean batchTag() {
        return batchTag;
    }

    /** Most body bytes that one event carries; a larger body goes in several events. */
    public int chunkSizeBytes() {
        return chunkSizeBytes;
    }

    /** How long a writer asks for one confirmation before its task fails, in milliseconds. */
    public long confirmTimeoutMillis() {
        return confirmTimeoutMillis;
    }

    /**
     * The settings as the native coordinator reads them.
     *
     * @param parallelism parallelism of the writer operator, known when the coordinator starts
     */
    public byte[] encode(int parallelism) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(parallelism);
            out.writeInt(maxDueCommits);
            out.writeLong(checkpointHoldMillis);
            out.writeLong(lateEventTimeoutMillis);
            out.writeLong(requestHoldMillis);
            out.writeInt(commitRetries);
            out.writeLong(commitRetryInitialBackoffMillis);
            out.writeLong(commitRetryMaxBackoffMillis);
            out.writeByte(checkpointingEnabled ? 1 : 0);
            out.writeByte(endInputWatermark != null ? 1 : 0);
            out.writeLong(endInputWatermark != null ? endInputWatermark : 0L);
            writeString(out, commitUser);
            writeString(out, tableName);
            writeString(out, operatorName);
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory cannot fail", e);
        }
        return bytes.toByteArray();
    }

    private static void writeString(DataOutputStream out, String text) throws IOException {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(utf8.length);
        out.write(utf8);
    }

    /** Every setting that is in force, under the name of its option if there is one. */
    @Override
    public String toString() {
        return String.join(
                " ",
                "mode=" + (streaming ? "streaming" : "batch"),
                "checkpoints=" + (checkpointingEnabled ? "on" : "off"),
                "commit-user=" + commitUser,
                "max-due-commits=" + maxDueCommits,
                "chunk-size=" + chunkSizeBytes + "b",
                "confirm-timeout=" + confirmTimeoutMillis + "ms",
                "late-event-timeout=" + lateEventTimeoutMillis + "ms",
                "commit-retries=" + commitRetries,
                "commit-retry-initial-backoff=" + commitRetryInitialBackoffMillis + "ms",
                "commit-retry-max-backoff=" + commitRetryMaxBackoffMillis + "ms",
                "checkpoint-hold=" + checkpointHoldMillis + "ms",
                "request-hold=" + requestHoldMillis + "ms",
                "batch-tag=" + batchTag,
                "batch-snapshots=" + batchSnapshots,
                "end-input-watermark=" + endInputWatermark);
    }

    /** Collects the settings; the defaults are those of the documented options. */
    public static final class Builder {

        private final String commitUser;
        private final String tableName;
        private final String operatorName;
        private int maxDueCommits = 10;
        private Duration checkpointHold = Duration.ofMinutes(5);
        private Duration lateEventTimeout = Duration.ofMinutes(1);
        private Duration requestHold = Duration.ofSeconds(5);
        private int commitRetries = 5;
        private Duration commitRetryInitialBackoff = Duration.ofSeconds(1);
        private Duration commitRetryMaxBackoff = Duration.ofSeconds(30);
        private boolean streaming = true;
        private boolean checkpointingEnabled = true;
        private boolean batchTag;
        private boolean batchSnapshots = true;
        @Nullable private Long endInputWatermark;
        private int chunkSizeBytes = 2 * 1024 * 1024;
        private Duration confirmTimeout = Duration.ofMinutes(1);

        private Builder(String commitUser, String tableName, String operatorName) {
            this.commitUser = Objects.requireNonNull(commitUser, "commitUser");
            this.tableName = Objects.requireNonNull(tableName, "tableName");
            this.operatorName = Objects.requireNonNull(operatorName, "operatorName");
        }

        /** How many due commits may wait before checkpoints are held back. */
        public Builder maxDueCommits(int maxDueCommits) {
            this.maxDueCommits = requirePositive(maxDueCommits, "maxDueCommits");
            return this;
        }

        /** How long a checkpoint is held back before it is declined (h13). */
        public Builder checkpointHold(Duration checkpointHold) {
            this.checkpointHold = requirePositive(checkpointHold, "checkpointHold");
            return this;
        }

        /** How long the coordinator waits for a missing event of a completed checkpoint. */
        public Builder lateEventTimeout(Duration lateEventTimeout) {
            this.lateEventTimeout = requirePositive(lateEventTimeout, "lateEventTimeout");
            return this;
        }

        /** How long a request that cannot be answered yet is held; below the RPC timeout. */
        public Builder requestHold(Duration requestHold) {
            this.requestHold = requirePositive(requestHold, "requestHold");
            return this;
        }

        /** How often a commit that failed with an IO error is tried again in place. */
        public Builder commitRetries(int commitRetries) {
            if (commitRetries < 0) {
                throw new IllegalArgumentException(
                        "commitRetries must not be negative, found " + commitRetries);
            }
            this.commitRetries = commitRetries;
            return this;
        }

        /** Wait before the first retry of a commit. */
        public Builder commitRetryInitialBackoff(Duration commitRetryInitialBackoff) {
            this.commitRetryInitialBackoff =
                    requirePositive(commitRetryInitialBackoff, "commitRetryInitialBackoff");
            return this;
        }

        /** Longest wait between two retries of a commit. */
        public Builder commitRetryMaxBackoff(Duration commitRetryMaxBackoff) {
            this.commitRetryMaxBackoff =
                    requirePositive(commitRetryMaxBackoff, "commitRetryMaxBackoff");
            return this;
        }

        /** Whether the job runs in streaming mode; a batch job takes no checkpoints. */
        public Builder streaming(boolean streaming) {
            this.streaming = streaming;
            return this;
        }

        /** Whether the job takes checkpoints. */
        public Builder checkpointingEnabled(boolean checkpointingEnabled) {
            this.checkpointingEnabled = checkpointingEnabled;
            return this;
        }

        /** Whether finished writers may stay finished when the job manager is lost. */
        public Builder batchSnapshots(boolean batchSnapshots) {
            this.batchSnapshots = batchSnapshots;
            return this;
        }

        /** Whether the snapshot of a batch job gets a tag. */
        public Builder batchTag(boolean batchTag) {
            this.batchTag = batchTag;
            return this;
        }

        /** Watermark of the commit at the end of input; null leaves the writers' own. */
        public Builder endInputWatermark(@Nullable Long endInputWatermark) {
            this.endInputWatermark = endInputWatermark;
            return this;
        }

        /** Most body bytes of one event; the whole event must stay below the RPC frame size. */
        public Builder chunkSizeBytes(int chunkSizeBytes) {
            this.chunkSizeBytes = requirePositive(chunkSizeBytes, "chunkSizeBytes");
            return this;
        }

        /** How long a writer asks for one confirmation before its task fails. */
        public Builder confirmTimeout(Duration confirmTimeout) {
            this.confirmTimeout = requirePositive(confirmTimeout, "confirmTimeout");
            return this;
        }

        /** The finished settings. */
        public CoordinatorSettings build() {
            return new CoordinatorSettings(this);
        }

        private static int requirePositive(int value, String name) {
            if (value <= 0) {
                throw new IllegalArgumentException(name + " must be positive, found " + value);
            }
            return value;
        }

        private static Duration requirePositive(Duration value, String name) {
            if (value.isNegative() || value.isZero()) {
                throw new IllegalArgumentException(name + " must be positive, found " + value);
            }
            return value;
        }
    }
}
