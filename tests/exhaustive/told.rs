//! The history of one coordinator: what it was told, and what it said to each of that.

use paimon_writer_coordinator::coordinator::command::{Answer, Timer};
use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::snapshot::{self, State};

use crate::rows::{Piece, Written};

/// A subtask and its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt {
    pub subtask: usize,
    pub attempt: i32,
}

/// What a writer asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Is exactly this entry held?
    Confirm(Written),
    /// May I finish, now that this checkpoint has completed and this is my end of input?
    MayFinish { completed: i64, end: Written },
    /// The same without an end of input.
    MayClose { completed: i64 },
}

/// One event, in the words of this world. A future has the name of its checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Begin {
        restored: Option<i64>,
        remembered: Option<Remembered>,
        fresh_user: String,
    },
    Opened {
        latest: Option<i64>,
    },
    Ready(Attempt),
    Failed(Attempt),
    Reset {
        subtask: usize,
        checkpoint: i64,
    },
    Report {
        from: Attempt,
        entry: Written,
    },
    Restore {
        from: Attempt,
        checkpoint: i64,
        pieces: Vec<Piece>,
        entries: Vec<Written>,
    },
    Ask {
        request: i64,
        from: Attempt,
        question: Question,
    },
    Checkpoint(i64),
    Done(i64),
    Aborted(i64),
    /// The commit in flight succeeded, or was found done.
    Landed,
    CommitFailed {
        retryable: bool,
    },
    Fired(Timer),
    Close,
}

/// One commit as it is handed to the committer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order {
    pub user: String,
    pub identifier: i64,
    pub watermark: i64,
    pub completed: bool,
    pub savepoint: bool,
    pub attempt: u32,
    pub entries: Vec<Written>,
}

/// One command, as far as it can be observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Open {
        user: String,
        restored: bool,
    },
    Commit(Order),
    Completed {
        checkpoint: i64,
        remembered: Remembered,
    },
    Declined {
        checkpoint: i64,
    },
    Answered {
        request: i64,
        answer: Answer,
        committed_through: i64,
    },
    DeleteTag {
        user: String,
        identifier: i64,
    },
    JobFailed(ErrorKind),
    /// Nothing is to be committed for this completed checkpoint. Only the twin says so, to itself.
    Settled(i64),
}

/// The checkpoint bytes as sets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remembered {
    pub parallelism: usize,
    /// Oldest first; the last is the current one.
    pub users: Vec<String>,
    pub committed_through: i64,
    pub watermark: i64,
    pub final_commit_done: bool,
    pub ended: Vec<u128>,
    pub committed_ends: Vec<u128>,
    /// Sorted, each with its commit user.
    pub entries: Vec<(String, Written)>,
}

impl Remembered {
    pub fn decode(bytes: &[u8]) -> Self {
        Self::of(snapshot::decode(bytes).expect("the core's own bytes are readable"))
    }

    fn of(state: State) -> Self {
        let user = |generation: u32| {
            let found = state.commit_users.iter().find(|(counted, _)| *counted == generation);
            found.expect("every entry's commit user is in the bytes").1.clone()
        };
        let entries =
            state.entries.iter().map(|stored| (user(stored.generation), Written::decode(&stored.entry)));
        let numbers = |writers: &[paimon_writer_coordinator::wire::Incarnation]| {
            sorted(writers.iter().map(|writer| writer.0).collect())
        };
        Self {
            parallelism: state.parallelism as usize,
            users: state.commit_users.iter().map(|(_, user)| user.clone()).collect(),
            committed_through: state.committed_through,
            watermark: state.watermark,
            final_commit_done: state.final_commit_done,
            ended: sorted(state.ended.iter().map(|&(_, writer)| writer.0).collect()),
            committed_ends: numbers(&state.committed_end_of_input),
            entries: sorted(entries.collect()),
        }
    }
}

pub fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// One event and what was said to it.
#[derive(Debug, Clone)]
pub struct Step {
    pub told: Told,
    /// Whether it counted when it came: see [`crate::twin::Twin::counts`].
    pub counts: bool,
    pub said: Vec<Said>,
}
