//! What tasks and job manager tell each other, and what a task stores.

use bytes::Bytes;
use paimon_writer_coordinator::wire::{Entry, Piece};

/// What a checkpoint is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Checkpoint,
    Savepoint,
    Stop { drain: bool },
}

/// From a task to the job manager.
#[derive(Debug, Clone)]
pub(crate) enum ToManager {
    Initializing,
    Running,
    Event(Bytes),
    Request { request: i64, bytes: Bytes },
    Acknowledge { checkpoint_id: i64, state: Option<SubtaskState> },
    Decline { checkpoint_id: i64 },
    Finished,
    Failed,
}

/// From the job manager to a task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToTask {
    Trigger { checkpoint_id: i64, kind: Kind },
    Complete(i64),
    Aborted(i64),
}

/// An element of the writer's list state.
#[derive(Debug, Clone)]
pub(crate) enum Element {
    Piece(Piece),
    Entry(Entry),
}

/// The operator state of one subtask: the writer's, and the positions of its source.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubtaskState {
    pub(crate) elements: Vec<Element>,
    pub(crate) splits: Vec<(usize, u32)>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    /// Its input has ended; it waits for its final checkpoint.
    Ended,
    Finished,
    Dead,
    /// Deployed as finished: its operators are never initialised.
    FinishedOnRestore,
}

/// What the job manager believes of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Deploying,
    Initializing,
    Running,
    Finished,
    Failed,
}

#[derive(Debug)]
pub(crate) enum Blocked {
    /// In `snapshotState`, until the coordinator holds every new entry.
    Confirm { checkpoint_id: i64, position: usize, committed_through: i64, state: SubtaskState },
    /// In `close`, until it may finish.
    Finish,
}

/// A question under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) request: i64,
    /// It, or its answer, was lost: asking again is all that helps.
    pub(crate) lost: bool,
}

impl ToManager {
    /// A word for a trace.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Initializing => "initializing".to_owned(),
            Self::Running => "running".to_owned(),
            Self::Event(bytes) => format!("event of {} bytes", bytes.len()),
            Self::Request { request, .. } => format!("request {request}"),
            Self::Acknowledge { checkpoint_id, .. } => format!("acknowledges {checkpoint_id}"),
            Self::Decline { checkpoint_id } => format!("declines {checkpoint_id}"),
            Self::Finished => "finished".to_owned(),
            Self::Failed => "failed".to_owned(),
        }
    }
}
