//! One error type: a kind that decides what happens, and a sentence that says what was found, what was expected and what to do.

use std::fmt;

/// What kind of error it is; decides by itself whether a restart of the job can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Checkpoint bytes that cannot be read: unknown version, damaged, or of something else.
    CorruptState,
    /// An event or a request that no writer of ours sent.
    ForeignMessage,
    /// A call that Flink never makes in this phase, or an id that cannot be.
    UnexpectedCall,
    /// A checkpoint completed, but a writer's entry for it did not come in time.
    MissingEntry,
    /// The table's committer could not be opened, or a commit failed for good in this run.
    CommitFailed,
    /// A commit can never succeed, for instance because a restored file no longer exists.
    CommitImpossible,
    /// The table no longer shows what was committed after the restored checkpoint.
    SnapshotsExpired,
}

impl ErrorKind {
    /// Whether restarting the job from its latest checkpoint can repair it.
    pub fn recoverable(self) -> bool {
        match self {
            Self::CorruptState | Self::CommitImpossible | Self::SnapshotsExpired => false,
            Self::ForeignMessage | Self::UnexpectedCall | Self::MissingEntry | Self::CommitFailed => true,
        }
    }
}

/// An error of the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Decides what happens.
    pub kind: ErrorKind,
    /// Says what happened, with ids.
    pub message: String,
}

impl Error {
    /// An error of this kind with this sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
