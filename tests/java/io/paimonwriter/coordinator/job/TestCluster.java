package io.paimonwriter.coordinator.job;

import org.apache.flink.api.common.JobID;
import org.apache.flink.client.program.rest.RestClusterClient;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.DeploymentOptions;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.jobgraph.JobResourceRequirements;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.time.Duration;

/**
 * A Flink cluster inside this JVM. Jobs reach it through its REST endpoint like those of any
 * client, and it can take a job's leadership away, which is how a JobManager's death looks to a
 * job.
 */
public final class TestCluster implements AutoCloseable {

    private final MiniCluster cluster;

    private TestCluster(MiniCluster cluster) {
        this.cluster = cluster;
    }

    /** Starts a cluster of one task manager with so many slots. */
    public static TestCluster start(int slots) throws Exception {
        return start(slots, new Configuration());
    }

    /** The same with options of the cluster's own. */
    static TestCluster start(int slots, Configuration configuration) throws Exception {
        configuration.set(RestOptions.BIND_PORT, "0");
        ReportedMetrics.reportFrom(configuration);
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(configuration)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(slots)
                                .setHaServices(MiniCluster.HaServices.WITH_LEADERSHIP_CONTROL)
                                .build());
        cluster.start();
        return new TestCluster(cluster);
    }

    /**
     * The configuration of a job on this cluster. Flink's default would restart a broken job for
     * ever, so a few restarts have to do.
     */
    public Configuration jobConfiguration(int parallelism, Duration checkpointInterval)
            throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(DeploymentOptions.TARGET, "remote");
        configuration.set(RestOptions.ADDRESS, "localhost");
        configuration.set(RestOptions.PORT, cluster.getRestAddress().get().getPort());
        configuration.set(CoreOptions.DEFAULT_PARALLELISM, parallelism);
        configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, checkpointInterval);
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 3);
        configuration.set(
                RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(50));
        return configuration;
    }

    /** Makes a job keep its checkpoints below {@code directory} when it is cancelled. */
    static void retainCheckpoints(Configuration configuration, String directory) {
        configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory);
        configuration.set(
                CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
    }

    /** Makes a job start from a checkpoint or savepoint. */
    static void restoreFrom(Configuration configuration, String path) {
        configuration.set(StateRecoveryOptions.SAVEPOINT_PATH, path);
    }

    /** Submits the job that {@code environment} holds. */
    public RunningJob submit(StreamExecutionEnvironment environment) throws Exception {
        return attach(environment.executeAsync());
    }

    /** The running job of a client, for example of an INSERT statement's result. */
    public RunningJob attach(JobClient client) {
        return new RunningJob(this, client.getJobID());
    }

    /** The JobMaster of the job loses its leadership and gets it again: a new one takes over. */
    void failOverJobManager(JobID job) throws Exception {
        var leadership = cluster.getHaLeadershipControl().get();
        leadership.revokeJobMasterLeadership(job).get();
        leadership.grantJobMasterLeadership(job).get();
    }

    /** Asks for another parallelism of a running job; only the adaptive scheduler can do that. */
    void rescale(JobID job, Iterable<JobVertexID> vertices, int parallelism) throws Exception {
        JobResourceRequirements.Builder requirements = JobResourceRequirements.newBuilder();
        vertices.forEach(vertex -> requirements.setParallelismForJobVertex(vertex, 1, parallelism));
        try (RestClusterClient<String> client =
                new RestClusterClient<>(jobConfiguration(1, Duration.ofHours(1)), "test")) {
            client.updateJobResourceRequirements(job, requirements.build()).get();
        }
    }

    MiniCluster flink() {
        return cluster;
    }

    @Override
    public void close() throws Exception {
        cluster.closeAsync().get();
    }
}
