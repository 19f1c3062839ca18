package io.paimonwriter.coordinator.cluster;

import io.paimonwriter.coordinator.job.Await;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.rest.messages.EmptyRequestBody;
import org.apache.flink.runtime.rest.messages.JobMessageParameters;
import org.apache.flink.runtime.rest.messages.JobVertexDetailsHeaders;
import org.apache.flink.runtime.rest.messages.JobVertexMessageParameters;
import org.apache.flink.runtime.rest.messages.checkpoints.CheckpointingStatistics;
import org.apache.flink.runtime.rest.messages.checkpoints.CheckpointingStatisticsHeaders;
import org.apache.flink.runtime.rest.messages.job.JobDetailsInfo;
import org.apache.flink.runtime.rest.messages.job.SubtaskExecutionAttemptDetailsInfo;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A job on a {@link ProcessCluster}, as the job manager's REST endpoint shows it. */
final class ClusterJob {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long CALL_LIMIT_SECONDS = 10;

    /** Names of vertices with writers, Paimon's own as well; other sinks have "Writer" alone. */
    private static final Pattern WRITERS = Pattern.compile("Writer(\\(write-only\\))? : ");

    private static final Pattern ALL = Pattern.compile("");

    private final ProcessCluster cluster;
    private final JobID id;

    ClusterJob(ProcessCluster cluster, JobID id) {
        this.cluster = cluster;
        this.id = id;
    }

    JobID id() {
        return id;
    }

    JobStatus status() throws Exception {
        return get(cluster.client().getJobStatus(id));
    }

    /** The state of each writer, by subtask. */
    List<ExecutionState> writerStates() throws Exception {
        return writers().stream()
                .map(SubtaskExecutionAttemptDetailsInfo::getStatus)
                .collect(Collectors.toList());
    }

    /** The attempt number of each writer, by subtask. */
    List<Integer> writerAttempts() throws Exception {
        return writers().stream()
                .map(SubtaskExecutionAttemptDetailsInfo::getAttempt)
                .collect(Collectors.toList());
    }

    /** The name of the task manager that each writer is on, by subtask. */
    List<String> writerTaskManagers() throws Exception {
        return writers().stream()
                .map(SubtaskExecutionAttemptDetailsInfo::getTaskmanagerId)
                .collect(Collectors.toList());
    }

    /** The attempt number of each task of each vertex. */
    List<Integer> attempts() throws Exception {
        return tasks(ALL).stream()
                .map(SubtaskExecutionAttemptDetailsInfo::getAttempt)
                .collect(Collectors.toList());
    }

    /** Whether each task of each vertex is RUNNING. */
    boolean isWhollyRunning() throws Exception {
        return tasks(ALL).stream().allMatch(task -> task.getStatus() == ExecutionState.RUNNING);
    }

    /** Returns once the job is CANCELED. */
    void cancel() throws Exception {
        get(cluster.client().cancel(id));
        await("the job is canceled", () -> status() == JobStatus.CANCELED);
    }

    private List<SubtaskExecutionAttemptDetailsInfo> writers() throws Exception {
        return tasks(WRITERS);
    }

    /** The tasks of the vertices with such names. */
    private List<SubtaskExecutionAttemptDetailsInfo> tasks(Pattern names) throws Exception {
        List<SubtaskExecutionAttemptDetailsInfo> tasks = new ArrayList<>();
        for (JobDetailsInfo.JobVertexDetailsInfo vertex :
                get(cluster.client().getJobDetails(id)).getJobVertexInfos()) {
            if (names.matcher(vertex.getName()).find()) {
                tasks.addAll(tasks(vertex.getJobVertexID()));
            }
        }
        return tasks;
    }

    private List<SubtaskExecutionAttemptDetailsInfo> tasks(JobVertexID vertex) throws Exception {
        JobVertexMessageParameters parameters = new JobVertexMessageParameters();
        parameters.jobPathParameter.resolve(id);
        parameters.jobVertexIdPathParameter.resolve(vertex);
        return get(cluster.client()
                        .sendRequest(
                                JobVertexDetailsHeaders.getInstance(),
                                parameters,
                                EmptyRequestBody.getInstance()))
                .getSubtasks();
    }

    /** What the job manager says of the checkpoints so far. */
    CheckpointingStatistics checkpoints() throws Exception {
        CheckpointingStatisticsHeaders headers = CheckpointingStatisticsHeaders.getInstance();
        JobMessageParameters parameters = headers.getUnresolvedMessageParameters();
        parameters.jobPathParameter.resolve(id);
        return get(
                cluster.client().sendRequest(headers, parameters, EmptyRequestBody.getInstance()));
    }

    /** Where the newest completed checkpoint is kept. */
    String latestCheckpoint() throws Exception {
        return checkpoints()
                .getLatestCheckpoints()
                .getCompletedCheckpointStatistics()
                .getExternalPath();
    }

    /** Takes a savepoint below {@code directory} and goes on. */
    void savepoint(Path directory) throws Exception {
        trigger(
                "a savepoint has completed",
                () ->
                        cluster.client()
                                .triggerSavepoint(
                                        id,
                                        directory.toUri().toString(),
                                        SavepointFormatType.CANONICAL));
    }

    /** Stops the job with a savepoint below {@code directory}. Returns the savepoint's path. */
    String stopWithSavepoint(Path directory) throws Exception {
        String path =
                trigger(
                        "the job has stopped with a savepoint",
                        () ->
                                cluster.client()
                                        .stopWithSavepoint(
                                                id,
                                                false,
                                                directory.toUri().toString(),
                                                SavepointFormatType.CANONICAL));
        awaitFinished();
        return path;
    }

    /** Flink refuses one while it has just declined a checkpoint, so it is asked again. */
    private String trigger(String what, Callable<CompletableFuture<String>> savepoint) {
        String[] path = new String[1];
        await(
                what,
                () -> {
                    path[0] = savepoint.call().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
                    return true;
                });
        return path[0];
    }

    /** Returns once the job has ended FAILED. */
    void awaitFailed() throws Exception {
        await("the job has ended", () -> status().isGloballyTerminalState());
        if (status() != JobStatus.FAILED) {
            throw new AssertionError("The job is " + status());
        }
    }

    /** Returns once {@code condition} holds; meanwhile the job manager may be gone. */
    void await(String what, ProcessCluster.Question condition) {
        await(what, LIMIT, condition);
    }

    /** The same within a limit that suits {@code condition}. */
    void await(String what, Duration limit, ProcessCluster.Question condition) {
        Await.until(what, limit, () -> ProcessCluster.answers(condition), this::describe);
    }

    /** Returns once the job is FINISHED. */
    void awaitFinished() throws Exception {
        await("the job has ended", () -> status().isGloballyTerminalState());
        if (status() != JobStatus.FINISHED) {
            throw new AssertionError("The job is " + status());
        }
    }

    private String describe() throws Exception {
        try {
            return String.format("The job is %s, its writers are %s", status(), writerStates());
        } catch (ExecutionException | TimeoutException e) {
            return "The job manager does not answer: " + e;
        }
    }

    private static <T> T get(CompletableFuture<T> answer) throws Exception {
        return answer.get(CALL_LIMIT_SECONDS, TimeUnit.SECONDS);
    }
}
