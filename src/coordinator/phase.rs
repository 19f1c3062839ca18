//! The coordinator's phases, each with what only it knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::wire::{Incarnation, Piece};

/// `Created → (Restoring →) Running → Closed`; a failed job is closed too.
#[derive(Debug)]
pub(super) enum Phase {
    /// Starts without state; the committer is being opened.
    Created {
        /// A commit user that nobody has used; empty before the start.
        fresh_commit_user: String,
    },
    /// Waits for one restore event of each writer and for what the table says.
    Restoring(Restoring),
    /// Commits.
    Running,
    /// Answers everything with an error.
    Closed {
        /// Why.
        reason: String,
    },
}

/// What is known while restoring.
#[derive(Debug)]
pub(super) struct Restoring {
    /// The restored checkpoint.
    pub(super) checkpoint_id: i64,
    /// The parallelism when it was taken.
    pub(super) parallelism: u32,
    /// Who has not sent its restore event.
    pub(super) awaited: BTreeSet<u32>,
    /// What each writer was given.
    pub(super) pieces: BTreeMap<u32, Vec<Piece>>,
    /// Writers that had ended when the coordinator's part of the checkpoint was taken.
    pub(super) ended: BTreeSet<Incarnation>,
    /// Whether the final commit of this commit user had been done by then.
    pub(super) final_commit_done: bool,
    /// A commit user that nobody has used.
    pub(super) fresh_commit_user: String,
    /// The table's latest identifier of our commit user, once it is known.
    pub(super) latest_identifier: Option<Option<i64>>,
}

impl Restoring {
    /// Whether the writers that had ended are all the writers there were.
    pub(super) fn all_had_ended(&self) -> bool {
        let mut ended = self.ended.clone();
        let pieces = self.pieces.values().flatten();
        ended.extend(pieces.filter(|piece| piece.ended).map(|piece| piece.incarnation));
        ended.len() == self.parallelism as usize
    }
}
