package io.paimonwriter.coordinator.job;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointStatsHistory;
import org.apache.flink.runtime.checkpoint.RestoredCheckpointStats;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** A job on a {@link TestCluster}: what it is doing, and what a user can do with it. */
public final class RunningJob implements AutoCloseable {

    private static final long CALL_LIMIT_SECONDS = 30;

    /** What the name of the vertex with the writers contains, with either way to commit. */
    static final String WRITER = "Writer";

    private final TestCluster cluster;
    private final JobID id;

    RunningJob(TestCluster cluster, JobID id) {
        this.cluster = cluster;
        this.id = id;
    }

    JobID id() {
        return id;
    }

    /** The job's execution graph as it is now, also after its end. */
    public AccessExecutionGraph graph() throws Exception {
        return cluster.flink().getExecutionGraph(id).get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    public JobStatus status() throws Exception {
        return cluster.flink().getJobStatus(id).get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    /** The vertices of the job, in topological order. */
    public List<AccessExecutionJobVertex> vertices() throws Exception {
        return StreamSupport.stream(graph().getVerticesTopologically().spliterator(), false)
                .collect(Collectors.toList());
    }

    public List<String> vertexNames() throws Exception {
        return vertices().stream()
                .map(AccessExecutionJobVertex::getName)
                .collect(Collectors.toList());
    }

    /** The attempt number of each subtask of a vertex: 0 for one that has never been restarted. */
    public static List<Integer> attempts(AccessExecutionJobVertex vertex) {
        List<Integer> attempts = new ArrayList<>();
        for (AccessExecutionVertex subtask : vertex.getTaskVertices()) {
            attempts.add(subtask.getCurrentExecutionAttempt().getAttemptNumber());
        }
        return attempts;
    }

    /** The attempt number of each subtask of the vertex with the writers. */
    List<Integer> writerAttempts() throws Exception {
        return attempts(writerVertex());
    }

    AccessExecutionJobVertex writerVertex() throws Exception {
        return vertex(WRITER);
    }

    /** The first vertex whose name contains {@code part}. */
    AccessExecutionJobVertex vertex(String part) throws Exception {
        for (AccessExecutionJobVertex vertex : vertices()) {
            if (vertex.getName().contains(part)) {
                return vertex;
            }
        }
        throw new AssertionError("No vertex '" + part + "' in " + vertexNames());
    }

    ExecutionState writerState(int subtask) throws Exception {
        return writerVertex().getTaskVertices()[subtask].getExecutionState();
    }

    /** Returns once every task of the job runs. */
    RunningJob awaitRunning() {
        await(
                "all tasks are running",
                () -> {
                    if (status() != JobStatus.RUNNING) {
                        return false;
                    }
                    for (AccessExecutionVertex task : graph().getAllExecutionVertices()) {
                        if (task.getExecutionState() != ExecutionState.RUNNING) {
                            return false;
                        }
                    }
                    return true;
                });
        return this;
    }

    /** Returns once the attempt numbers of the writers are these and all tasks run. */
    void awaitWriterAttempts(Integer... expected) {
        await(
                "the writers' attempts are " + List.of(expected),
                () -> writerAttempts().equals(List.of(expected)));
        awaitRunning();
    }

    void await(String what, Callable<Boolean> condition) {
        Await.until(what, Duration.ofSeconds(30), condition, this::describe);
    }

    /** Returns once the job has ended by itself, successfully. */
    public void awaitFinished() {
        Await.until(
                "the job is FINISHED",
                Duration.ofSeconds(90),
                () -> {
                    JobStatus status = status();
                    if (status == JobStatus.FAILED || status == JobStatus.CANCELED) {
                        throw new AssertionError(describe());
                    }
                    return status == JobStatus.FINISHED;
                },
                this::describe);
    }

    /** Returns once the job has ended FAILED, with the failure. */
    String awaitFailed() throws Exception {
        await("the job is FAILED", () -> status() == JobStatus.FAILED);
        return graph().getFailureInfo().getExceptionAsString();
    }

    /** The job's state, its tasks' states and its last failure, for a message. */
    public String describe() throws Exception {
        AccessExecutionGraph graph = graph();
        StringBuilder text = new StringBuilder("The job is ").append(graph.getState());
        for (AccessExecutionJobVertex vertex : vertices()) {
            text.append("; ").append(vertex.getName()).append(": ");
            for (AccessExecutionVertex task : vertex.getTaskVertices()) {
                text.append(task.getExecutionState()).append(" (attempt ");
                text.append(task.getCurrentExecutionAttempt().getAttemptNumber()).append(") ");
            }
        }
        if (graph.getFailureInfo() != null) {
            text.append("; failed with ").append(graph.getFailureInfo().getExceptionAsString());
        }
        return text.toString();
    }

    /** Takes a checkpoint now. Returns its id once it has completed. */
    long checkpoint() throws Exception {
        return triggerCheckpoint().get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    /**
     * Takes a checkpoint as soon as one can be taken: not while the coordinator is restored, and
     * not in the moment in which a task becomes FINISHED. Returns its id.
     */
    long checkpointWhenPossible() {
        long[] taken = new long[1];
        await("a checkpoint has completed", () -> tryTo(() -> taken[0] = checkpoint()));
        return taken[0];
    }

    private static boolean tryTo(Callable<?> action) throws Exception {
        try {
            action.call();
            return true;
        } catch (ExecutionException e) {
            return false;
        }
    }

    /** Takes checkpoints until the job has ended by itself, successfully. */
    void finishWithCheckpoints() {
        await(
                "the job is FINISHED after a checkpoint",
                () -> {
                    // Not awaited: the future of one that the end of the job overtakes stays open.
                    if (checkpoints().getCheckpoints().stream()
                            .noneMatch(stats -> stats.getStatus().isInProgress())) {
                        triggerCheckpoint();
                    }
                    return status() == JobStatus.FINISHED;
                });
    }

    /** Begins a checkpoint; the future has its id once it has completed. */
    CompletableFuture<Long> triggerCheckpoint() {
        return cluster.flink().triggerCheckpoint(id, CheckpointType.CONFIGURED);
    }

    /** The statistics of all checkpoints so far. */
    CheckpointStatsHistory checkpoints() throws Exception {
        return graph().getCheckpointStatsSnapshot().getHistory();
    }

    /** Where the newest completed checkpoint is kept. */
    String latestCheckpointPath() throws Exception {
        return checkpoints().getLatestCompletedCheckpoint().getExternalPath();
    }

    /** Returns once the job has been restored as a whole from this checkpoint and all tasks run. */
    void awaitRestoredFrom(long checkpointId) {
        await(
                "the job is restored from checkpoint " + checkpointId,
                () -> {
                    RestoredCheckpointStats restored =
                            graph().getCheckpointStatsSnapshot().getLatestRestoredCheckpoint();
                    return restored != null && restored.getCheckpointId() == checkpointId;
                });
        awaitRunning();
    }

    /** Takes a savepoint below {@code directory} and goes on. Returns its path. */
    String savepoint(String directory) throws Exception {
        return triggerSavepoint(directory).get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    /** As {@link #checkpointWhenPossible}, for a savepoint. Returns its path. */
    String savepointWhenPossible(String directory) {
        String[] taken = new String[1];
        await("a savepoint has completed", () -> tryTo(() -> taken[0] = savepoint(directory)));
        return taken[0];
    }

    /** Begins a savepoint; the future has its path once it has completed. */
    CompletableFuture<String> triggerSavepoint(String directory) {
        return cluster.flink()
                .triggerSavepoint(id, directory, false, SavepointFormatType.CANONICAL);
    }

    /** Stops the job with a savepoint below {@code directory}. Returns the savepoint's path. */
    String stopWithSavepoint(String directory, boolean drain) throws Exception {
        String path =
                cluster.flink()
                        .stopWithSavepoint(id, directory, drain, SavepointFormatType.CANONICAL)
                        .get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
        awaitFinished();
        return path;
    }

    /** A new JobMaster takes the job over, from its last completed checkpoint. */
    void failOverJobManager() throws Exception {
        cluster.failOverJobManager(id);
    }

    /** Gives the whole job another parallelism; returns once all tasks run with it. */
    void rescale(int parallelism) throws Exception {
        List<JobVertexID> vertices = new ArrayList<>();
        vertices().forEach(vertex -> vertices.add(vertex.getJobVertexId()));
        cluster.rescale(id, vertices, parallelism);
        await(
                "the parallelism is " + parallelism,
                () ->
                        vertices().stream()
                                .allMatch(vertex -> vertex.getParallelism() == parallelism));
        awaitRunning();
    }

    /** Cancels the job and returns once it is cancelled. */
    void cancel() throws Exception {
        cluster.flink().cancelJob(id).get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
        await("the job has ended", () -> status().isGloballyTerminalState());
    }

    @Override
    public void close() throws Exception {
        if (!status().isGloballyTerminalState()) {
            cancel();
        }
    }
}
