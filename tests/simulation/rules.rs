//! What must be true of every command, whatever has happened.

use std::collections::BTreeSet;

use paimon_writer_coordinator::coordinator::command::{Answer, Commit};
use paimon_writer_coordinator::error::{Error, ErrorKind};
use paimon_writer_coordinator::snapshot;

use crate::support::MAX;
use crate::world::World;
use crate::writer::Task;

/// What was ordered of this core so far.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Keys of entries whose commit was reported as done.
    reported: BTreeSet<(u128, i64)>,
    commits: Vec<(String, i64)>,
}

impl World {
    /// Identifiers ascend within a user, users come one after another, and one commit is in flight at a time.
    pub(crate) fn check_commit(&mut self, commit: &Commit) {
        let busy = self.committer.works().filter(|&(epoch, _)| epoch == self.epoch).count();
        assert_eq!(busy, 0, "two commits are in flight");
        let this = (commit.commit_user.clone(), commit.identifier);
        let last = self.history.commits.last();
        if commit.attempt > 1 && last == Some(&this) {
            return;
        }
        if commit.entries.is_empty() {
            // A savepoint of writers that have all ended may come after their final commit, and the table ignores it.
            return;
        }
        let ascends = self
            .history
            .commits
            .iter()
            .all(|(user, identifier)| *user != commit.commit_user || *identifier < commit.identifier);
        assert!(
            ascends,
            "identifiers of {} ascend: {} after {last:?}",
            commit.commit_user, commit.identifier
        );
        let returns = last.is_some_and(|(user, _)| *user != commit.commit_user)
            && self.history.commits.iter().any(|(user, _)| *user == commit.commit_user);
        assert!(!returns, "commits go back to the user {}", commit.commit_user);
        self.history.commits.push(this);
    }

    /// Remembers what the coordinator was told is in the table: it must not be kept any longer.
    pub(crate) fn commit_reported(&mut self, commit: &Commit) {
        let keys = commit.entries.iter().map(|entry| (entry.incarnation.0, entry.checkpoint_id));
        self.history.reported.extend(keys);
    }

    /// The checkpoint bytes hold nothing twice, and nothing that the coordinator knows to be in the table.
    pub(crate) fn check_state(&self, bytes: &[u8]) {
        let state = snapshot::decode(bytes).expect("its own bytes");
        let newest = state.commit_users.last().map_or(0, |&(generation, _)| generation);
        let mut keys = BTreeSet::new();
        let mut generations = BTreeSet::from([newest]);
        for stored in &state.entries {
            let key = (stored.entry.incarnation.0, stored.entry.checkpoint_id);
            assert!(keys.insert((stored.generation, key)), "the state holds {key:?} twice");
            assert!(!self.history.reported.contains(&key), "the state holds {key:?}, which is in the table");
            // An empty entry may come when nobody waits for it any more, if its writer did not wait for the confirmation.
            let counts = !self.plan.acknowledges_early || stored.entry.committable_count > 0;
            let superfluous = counts && stored.generation == newest && key.1 <= state.committed_through;
            assert!(!superfluous, "the state holds {key:?}, but all through {} is in the table", {
                state.committed_through
            });
            generations.insert(stored.generation);
        }
        let users = state.commit_users.len();
        assert!(users <= generations.len() + 2, "{users} commit users for generations {generations:?}");
        let ended = state.ended.len();
        assert!(ended <= self.parallelism, "{ended} of {} writers have ended", self.parallelism);
    }

    /// The answer lets the asker drop what is said to be durable: it must be.
    pub(crate) fn check_answer(&self, asker: &Task, answer: Answer, committed_through: i64) {
        for entry in asker.restored.iter().chain(asker.own.values()) {
            let may_be_dropped = entry.checkpoint_id != MAX && entry.checkpoint_id <= committed_through;
            if may_be_dropped && answer != Answer::Rejected && entry.committable_count > 0 {
                let name = std::str::from_utf8(&entry.payload).expect("a file name");
                assert!(
                    self.truth.is_durable(name),
                    "{name} of checkpoint {} is not in the table, but all through {committed_through} is said to be",
                    entry.checkpoint_id
                );
            }
        }
    }

    /// The job may be failed because of what this world did, for nothing else.
    pub(crate) fn check_failure(&self, error: &Error) {
        let legitimate = match error.kind {
            ErrorKind::MissingEntry | ErrorKind::CommitFailed => true,
            ErrorKind::UnexpectedCall => error.message.contains("after the final commit"),
            ErrorKind::CorruptState
            | ErrorKind::ForeignMessage
            | ErrorKind::CommitImpossible
            | ErrorKind::SnapshotsExpired => false,
        };
        assert!(legitimate, "the job was failed without a reason: {error}");
        assert!(self.job_failure.is_none(), "the job is failed once");
    }
}
