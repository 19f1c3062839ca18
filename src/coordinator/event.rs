//! What can happen to the coordinator: Flink's callbacks, outcomes of commands, timers.

use bytes::Bytes;

use super::command::{CommitId, FutureId, RequestId, Timer};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The first event: start fresh, or restore.
    Begin {
        /// The restored checkpoint, `None` when there is none.
        restored_checkpoint_id: Option<i64>,
        /// The checkpoint bytes; Flink passes none once all writers had finished before that checkpoint.
        state: Option<Bytes>,
        /// A commit user that nobody has used, drawn for the case that the recorded one cannot be continued.
        fresh_commit_user: String,
    },
    /// `OpenCommitter` is done.
    CommitterOpened {
        /// The latest commit identifier of that user in the table.
        latest_identifier: Option<i64>,
    },
    /// `OpenCommitter` failed.
    CommitterFailed(Failure),
    /// Flink deployed this attempt; its messages come after this event.
    AttemptReady {
        /// The subtask.
        subtask: i32,
        /// Its attempt.
        attempt: i32,
    },
    /// Flink saw this attempt fail or cancelled it.
    AttemptFailed {
        /// The subtask.
        subtask: i32,
        /// Its attempt.
        attempt: i32,
    },
    /// Flink restores this subtask alone, to this checkpoint; -1 for none.
    SubtaskReset {
        /// The subtask.
        subtask: i32,
        /// The checkpoint its state comes from.
        checkpoint_id: i64,
    },
    /// Flink asks whether the coordinator supports batch snapshots. It does so after a task has finished, and while it
    /// recovers a batch job from what a lost job manager had recorded; then no attempt has been ready.
    BatchSnapshotsAskedFor,
    /// One chunk of a writer's message.
    WriterEvent {
        /// The subtask.
        subtask: i32,
        /// The attempt that Flink says it came from.
        attempt: i32,
        /// See [`crate::wire`].
        bytes: Bytes,
    },
    /// A request of a writer.
    Request {
        /// Names the answer.
        request: RequestId,
        /// See [`crate::wire`].
        bytes: Bytes,
    },
    /// Flink asks for the coordinator's part of a checkpoint.
    Checkpoint {
        /// The checkpoint.
        checkpoint_id: i64,
        /// Names the future to complete.
        future: FutureId,
    },
    /// The checkpoint has completed: what it holds is durable.
    CheckpointComplete {
        /// The checkpoint.
        checkpoint_id: i64,
    },
    /// The checkpoint was given up.
    CheckpointAborted {
        /// The checkpoint.
        checkpoint_id: i64,
    },
    /// A `Commit` succeeded, or had been done before.
    Committed {
        /// Which one.
        commit: CommitId,
        /// The id of the newest snapshot of that commit user, `None` if there is none.
        snapshot_id: Option<i64>,
        /// The committer's own state after it.
        committer_state: Option<Bytes>,
    },
    /// A `Commit` failed.
    CommitFailed {
        /// Which one.
        commit: CommitId,
        /// How and why.
        failure: Failure,
    },
    /// A timer ran out.
    TimerFired(Timer),
    /// The coordinator is being closed or reset.
    Close,
}

/// How a committer's action failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whether and where it makes sense to try again.
    pub class: FailureClass,
    /// Why, in the committer's words.
    pub message: String,
}

/// Whether and where it makes sense to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// In place: an IO error.
    Retryable,
    /// After a restart of the job.
    FailJob,
    /// Never.
    Final,
}
