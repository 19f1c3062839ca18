//! What the coordinator wants done. Whoever executes a command with an outcome reports it with an event.

use bytes::Bytes;

use crate::error::Error;
use crate::wire::Entry;

/// Names a checkpoint future.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FutureId(pub i64);

/// Names a writer's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub i64);

/// Names a commit; its retries keep the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitId(pub i64);

/// A timer; setting it again replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A completed checkpoint still lacks a writer's entry.
    LateEntry,
    /// A failed commit, or opening the committer, is tried again.
    Retry,
    /// A checkpoint's future has been held long enough.
    HeldCheckpoint(FutureId),
    /// A request has been held long enough.
    HeldRequest(RequestId),
}

/// The answer to a writer's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The entry is held whole.
    Held,
    /// It is not: send it again.
    Resend,
    /// The asker is not the current attempt, or the coordinator is gone.
    Rejected,
    /// The writer may finish.
    Go,
    /// Not yet: ask again.
    Wait,
    /// The writer may finish, and its files belong to no commit: its rows were there already.
    GoUnused,
}

/// One commit: all entries of one checkpoint, under one identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Names it.
    pub commit: CommitId,
    /// The commit user it belongs to.
    pub commit_user: String,
    /// Paimon's commit identifier: the checkpoint id.
    pub identifier: i64,
    /// The aligned watermark, `i64::MIN` for none.
    pub watermark: i64,
    /// Whether the checkpoint has completed; one that was aborted never forces an empty snapshot.
    pub completed: bool,
    /// Whether it is a savepoint that was not aborted: its snapshot may be tagged.
    pub savepoint: bool,
    /// Counts from 1.
    pub attempt: u32,
    /// What to commit; entries without committables are left out.
    pub entries: Vec<Entry>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Open the table's committer, and look up the user's latest commit identifier.
    OpenCommitter {
        /// For this commit user.
        commit_user: String,
        /// Whether a checkpoint is being restored.
        restored: bool,
        /// The committer's own state.
        committer_state: Option<Bytes>,
    },
    /// Commit, idempotently by commit user and identifier.
    Commit(Commit),
    /// Remove the tag of a savepoint that was aborted after its entries had been committed. No outcome is reported.
    DeleteTag {
        /// The commit user it was committed under.
        commit_user: String,
        /// The savepoint.
        identifier: i64,
    },
    /// Complete a checkpoint's future with these bytes.
    CompleteCheckpoint {
        /// Which one.
        future: FutureId,
        /// The checkpoint bytes.
        state: Vec<u8>,
    },
    /// Complete a checkpoint's future with an error.
    FailCheckpoint {
        /// Which one.
        future: FutureId,
        /// Why.
        message: String,
    },
    /// Answer a request.
    Answer {
        /// Which one.
        request: RequestId,
        /// The answer.
        answer: Answer,
        /// Every checkpoint up to this one is durably in the table.
        committed_through: i64,
    },
    /// Fire this timer after so long.
    SetTimer {
        /// Which one.
        timer: Timer,
        /// Milliseconds from now.
        after_millis: u64,
    },
    /// Forget this timer.
    CancelTimer(Timer),
    /// Fail the job.
    FailJob(Error),
}
