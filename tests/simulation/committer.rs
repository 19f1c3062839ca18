//! `TableCommitter` and `UserCommitters`: one thing at a time, slow, failing, and outliving its coordinator.

use std::collections::VecDeque;

use paimon_writer_coordinator::coordinator::command::Commit;
use paimon_writer_coordinator::coordinator::event::{Event, Failure, FailureClass};

use crate::world::World;

/// What the committer thread was given.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Open { commit_user: String },
    Commit(Commit),
}

impl Work {
    fn commit_user(&self) -> &str {
        match self {
            Self::Open { commit_user } => commit_user,
            Self::Commit(commit) => &commit.commit_user,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Begun {
    epoch: i64,
    work: Work,
    /// The table has been changed or not, but nobody has been told.
    outcome: Option<Event>,
}

/// The committer thread of one coordinator object; it outlives resets.
#[derive(Debug, Default)]
pub(crate) struct Committer {
    pub(crate) queue: VecDeque<(i64, Work)>,
    begun: Option<Begun>,
    /// The user whose committer is open, and the newest snapshot that it knows of.
    open: Option<(String, Option<i64>)>,
}

impl Committer {
    /// Everything that waits or is under way, with its epoch.
    pub(crate) fn works(&self) -> impl Iterator<Item = (i64, &Work)> {
        let begun = self.begun.iter().map(|begun| (begun.epoch, &begun.work));
        begun.chain(self.queue.iter().map(|(epoch, work)| (*epoch, work)))
    }
}

/// A commit whose coordinator is gone; it may still land.
#[derive(Debug)]
pub(crate) struct Orphan {
    commit: Commit,
    /// Commits of one table and user are serialised within a process.
    same_process: bool,
}

impl World {
    /// The committer thread goes on by one step; false if it has nothing to do.
    pub(crate) fn advance_committer(&mut self) -> bool {
        let Some(mut begun) = self.committer.begun.take() else {
            return self.begin_work();
        };
        if let Some(outcome) = begun.outcome.take() {
            if begun.epoch == self.epoch {
                if let (Work::Commit(commit), Event::Committed { .. }) = (&begun.work, &outcome) {
                    self.commit_reported(commit);
                }
                self.step_core(outcome);
            }
            return true;
        }
        let outcome = self.work(&begun.work);
        self.note(|_| format!("committer: {outcome:?}"));
        begun.outcome = Some(outcome);
        self.committer.begun = Some(begun);
        true
    }

    fn begin_work(&mut self) -> bool {
        let Some((epoch, work)) = self.committer.queue.front() else {
            return false;
        };
        let locked = |orphan: &Orphan| orphan.same_process && orphan.commit.commit_user == work.commit_user();
        if *epoch == self.epoch && self.orphans.iter().any(locked) {
            return false;
        }
        if let Some((epoch, work)) = self.committer.queue.pop_front()
            && epoch == self.epoch
        {
            self.committer.begun = Some(Begun { epoch, work, outcome: None });
        }
        true
    }

    fn work(&mut self, work: &Work) -> Event {
        let fails = self.random.percent(self.weights.commit_failure);
        let class = if self.random.percent(80) { FailureClass::Retryable } else { FailureClass::FailJob };
        let failure = Failure { class, message: "disk on fire".to_owned() };
        match work {
            Work::Open { .. } if fails => Event::CommitterFailed(failure),
            Work::Open { commit_user } => {
                let latest_identifier = self.table.latest_identifier(commit_user);
                let snapshot_id = self.table.snapshot_id(commit_user);
                self.committer.open = Some((commit_user.clone(), snapshot_id));
                Event::CommitterOpened { latest_identifier }
            }
            Work::Commit(commit) => {
                let lands = !fails || self.random.percent(50);
                if lands {
                    self.land(commit);
                }
                if fails {
                    return Event::CommitFailed { commit: commit.commit, failure };
                }
                self.committed(commit)
            }
        }
    }

    fn committed(&mut self, commit: &Commit) -> Event {
        let user = &commit.commit_user;
        let known = self.committer.open.take().filter(|(open, _)| open == user);
        let nothing_to_do =
            commit.entries.is_empty() && !(commit.completed && self.table.forces_empty_snapshots);
        let snapshot_id = match known {
            _ if !nothing_to_do => self.table.snapshot_id(user),
            Some((_, snapshot_id)) => snapshot_id,
            None => None,
        };
        self.committer.open = Some((user.clone(), snapshot_id));
        Event::Committed { commit: commit.commit, snapshot_id, committer_state: None }
    }

    fn land(&mut self, commit: &Commit) {
        self.table.commit(commit);
        self.truth.observe(&self.table);
    }

    /// The coordinator object is gone. A commit that had begun may land or not, now or later.
    pub(crate) fn abandon_committer(&mut self, same_process: bool) {
        let committer = std::mem::take(&mut self.committer);
        let Some(Begun { work: Work::Commit(commit), outcome: None, .. }) = committer.begun else {
            return;
        };
        self.note(|_| format!("an orphan may land: {commit:?}"));
        self.orphans.push(Orphan { commit, same_process });
    }

    /// One commit of a coordinator that is gone lands or vanishes; false if there is none.
    pub(crate) fn advance_orphan(&mut self) -> bool {
        if self.orphans.is_empty() {
            return false;
        }
        let index = self.random.below(self.orphans.len());
        let orphan = self.orphans.swap_remove(index);
        let lands = self.random.percent(75);
        self.note(|_| format!("orphan {} lands: {lands}", orphan.commit.identifier));
        if lands {
            self.land(&orphan.commit);
        }
        true
    }
}
