//! What is held: every entry that was reported and is not known to be in the table, and the commit user it belongs to.

use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::wire::END_OF_INPUT;

use super::Twin;
use crate::rows::Written;
use crate::told::{Question, Said, Step, Told};

/// An entry that is not known to be in the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Held {
    pub user: String,
    pub entry: Written,
    /// The subtask whose current state holds it; none once it is sealed.
    pub owner: Option<usize>,
    /// Whether it is still part of a savepoint, rather than what was left of one.
    pub savepoint: bool,
    /// Whether it came in a report of its own, which is what a request can mean.
    pub reported: bool,
}

/// How a restored coordinator goes on under a commit user of its own (h03).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Switch {
    pub at: usize,
    pub restored: i64,
    pub fresh_user: String,
    /// Every writer of the restored checkpoint had ended: its final commit is recovered under the old user.
    pub all_had_ended: bool,
    /// The old user's final commit is in the table already.
    pub end_is_in_table: bool,
}

impl<'a> Twin<'a> {
    /// Whether and how the commit user changed when restoring ended.
    pub(super) fn switch(self) -> Option<Switch> {
        let at = self.restored_at?;
        let restored = self.restored().unwrap_or(-1);
        let mut latest = None;
        let mut fresh = String::new();
        for step in self.steps {
            match &step.told {
                Told::Opened { latest: found } => latest = *found,
                Told::Begin { fresh_user, .. } => fresh = fresh_user.clone(),
                _ => {}
            }
        }
        // h06: ended pieces and sealed parts together are as many as there were writers.
        let then = self.before(at + 1);
        let remembered = self.remembered();
        let mut ended = remembered.map_or(Vec::new(), |remembered| remembered.ended.clone());
        for subtask in 0..self.parallelism() {
            let pieces = then.pieces(subtask).unwrap_or_default();
            ended.extend(pieces.iter().filter(|piece| piece.ended).map(|piece| piece.writer));
        }
        ended.sort();
        ended.dedup();
        let all_had_ended = remembered.is_some_and(|remembered| ended.len() == remembered.parallelism);
        let final_commit_was_done = remembered.is_some_and(|remembered| remembered.final_commit_done);
        let later_is_in_table = latest.is_some_and(|latest| latest > restored);
        (all_had_ended || final_commit_was_done || later_is_in_table).then_some(Switch {
            at,
            restored,
            fresh_user: fresh,
            all_had_ended,
            end_is_in_table: latest == Some(END_OF_INPUT),
        })
    }

    /// The commit users, oldest first; the last is the current one.
    pub(super) fn users(self) -> Vec<String> {
        let mut users = match self.remembered() {
            Some(remembered) => remembered.users.clone(),
            None => vec![self.settings.commit_user.clone()],
        };
        users.extend(self.switch().map(|switch| switch.fresh_user));
        users
    }

    pub(super) fn current_user(self) -> String {
        self.users().pop().expect("there is always a commit user")
    }

    /// Every entry that is not known to be in the table, with those of the commit in flight.
    pub fn held(self) -> Vec<Held> {
        let mut held: Vec<Held> = Vec::new();
        let switch = self.switch();
        for (at, step) in self.steps.iter().enumerate() {
            let before = self.before(at);
            match &step.told {
                Told::Begin { remembered: Some(remembered), .. } => {
                    let sealed = |(user, entry): &(String, Written)| Held {
                        user: user.clone(),
                        entry: entry.clone(),
                        owner: None,
                        savepoint: entry.savepoint,
                        reported: false,
                    };
                    held = remembered.entries.iter().map(sealed).collect();
                }
                Told::Report { from, entry } if step.counts => {
                    before.take_report(from.subtask, entry, &mut held);
                }
                Told::Restore { from, entries, .. } if step.counts => {
                    seal(from.subtask, &mut held);
                    for entry in entries {
                        before.take_replay(from.subtask, entry, &mut held);
                    }
                }
                // h10: what the commit in flight holds is frozen.
                Told::Reset { subtask, checkpoint } => before.drop_after(*subtask, *checkpoint, &mut held),
                Told::Landed => held.retain(|held| !before.is_in_flight(&held.entry)),
                _ => {}
            }
            if let Some(switch) = switch.as_ref().filter(|switch| switch.at == at) {
                let old = before.current_user();
                held.retain(|held| held.user != old || !switch.is_in_table(&held.entry));
                for held in held.iter_mut().filter(|held| held.user == old) {
                    if held.entry.is_end() && !switch.stays(&held.entry) {
                        held.user = switch.fresh_user.clone();
                    }
                }
            }
        }
        held
    }

    fn take_report(self, subtask: usize, entry: &Written, held: &mut Vec<Held>) {
        let goes_on = self.ended(subtask).is_some_and(|(_, writer)| writer != entry.writer);
        if !entry.is_end() && goes_on {
            seal(subtask, held);
        }
        let known = if entry.is_end() {
            self.final_commit_has_begun() || self.end_is_fixed(entry.writer)
        } else {
            self.is_in_flight(entry) || entry.checkpoint <= self.committed_through()
        };
        if !known {
            held.retain(|held| held.entry.key() != entry.key());
            let user = self.current_user();
            let savepoint = entry.savepoint;
            held.push(Held { user, entry: entry.clone(), owner: Some(subtask), savepoint, reported: true });
        }
    }

    /// Drops what a subtask reported after the checkpoint that it is reset to. What the commit in flight holds is frozen
    /// (h10). What is left of a savepoint is data, and nothing that could be tagged.
    fn drop_after(self, subtask: usize, checkpoint: i64, held: &mut Vec<Held>) {
        let stays = |held: &Held| {
            self.is_in_flight(&held.entry) || held.owner != Some(subtask) || !held.entry.is_after(checkpoint)
        };
        let dropped: Vec<Held> = held.iter().filter(|held| !stays(held)).cloned().collect();
        held.retain(stays);
        for dropped in dropped {
            let rest = |held: &&mut Held| {
                held.user == dropped.user && held.entry.checkpoint == dropped.entry.checkpoint
            };
            held.iter_mut().filter(rest).for_each(|held| held.savepoint = false);
        }
    }

    /// An entry for the checkpoint bytes. One of an aborted savepoint is none of a savepoint.
    pub(super) fn entry_to_remember(self, held: Held) -> (String, Written) {
        let savepoint = held.savepoint && !self.is_aborted(held.entry.checkpoint);
        (held.user, Written { savepoint, ..held.entry })
    }

    pub(super) fn is_aborted(self, checkpoint: i64) -> bool {
        self.steps.iter().any(|step| step.told == Told::Aborted(checkpoint))
    }

    /// An entry that a writer was restored with. Its key says whether it is known (h05).
    fn take_replay(self, subtask: usize, entry: &Written, held: &mut Vec<Held>) {
        if self.is_in_flight(entry) {
            return;
        }
        let known = held.iter_mut().find(|held| held.entry.key() == entry.key());
        let in_table = if entry.is_end() {
            self.committed_ends().contains(&entry.writer)
        } else {
            entry.checkpoint <= self.committed_through()
        };
        match known {
            Some(known) => {
                // The coordinator may know of an abort that the writer was not told of.
                let savepoint = entry.savepoint && known.savepoint;
                let user = known.user.clone();
                *known =
                    Held { user, entry: entry.clone(), owner: Some(subtask), savepoint, reported: false };
            }
            None if in_table => {}
            None => {
                let user = self.current_user();
                let savepoint = entry.savepoint;
                held.push(Held {
                    user,
                    entry: entry.clone(),
                    owner: Some(subtask),
                    savepoint,
                    reported: false,
                });
            }
        }
    }

    /// Why an entry cannot be taken.
    pub(super) fn objection_to(self, entry: &Written) -> Option<ErrorKind> {
        let known = self.is_in_flight(entry)
            || self.has_landed(entry)
            || entry.is_end() && self.end_is_fixed(entry.writer);
        if known || entry.rows.is_empty() {
            return None;
        }
        if entry.checkpoint <= self.committed_through() {
            return Some(ErrorKind::MissingEntry);
        }
        // Under a user whose final commit is done, later files would never be committed (h03).
        self.final_commit_has_begun().then_some(ErrorKind::UnexpectedCall)
    }

    /// Whether the very report that a request means is held, or is in the table.
    pub(super) fn is_held(self, entry: &Written) -> bool {
        if self.is_in_flight(entry) || self.has_landed(entry) {
            return true;
        }
        if entry.is_end() && (self.came_too_late(entry) || self.end_is_fixed(entry.writer)) {
            return true;
        }
        self.held().iter().any(|held| held.reported && &held.entry == entry)
    }

    /// Whether this end of input was reported, and the final commit had begun (h10).
    fn came_too_late(self, end: &Written) -> bool {
        let is_it =
            |step: &Step| step.counts && matches!(&step.told, Told::Report { entry, .. } if *entry == *end);
        let mut reports = (0..self.steps.len()).filter(|&at| is_it(&self.steps[at]));
        reports.any(|at| self.before(at).final_commit_has_begun())
    }

    /// Whether a commit with this entry has succeeded in this history.
    fn has_landed(self, entry: &Written) -> bool {
        self.landed().iter().any(|order| order.entries.iter().any(|done| done.key() == entry.key()))
    }

    /// Writers whose end of input is known to be in the table.
    pub(super) fn committed_ends(self) -> Vec<u128> {
        let mut ends = self.remembered().map_or(Vec::new(), |remembered| remembered.committed_ends.clone());
        let landed = self.landed().into_iter().flat_map(|order| &order.entries);
        ends.extend(landed.filter(|entry| entry.is_end()).map(|entry| entry.writer));
        if let Some(switch) = self.switch() {
            let then = self.before(switch.at);
            let in_table = |held: &Held| held.user == then.current_user() && switch.is_in_table(&held.entry);
            // The event with which restoring ended may itself bring such an entry.
            let last = match &self.steps[switch.at].told {
                Told::Restore { entries, .. } => entries.clone(),
                _ => Vec::new(),
            };
            ends.extend(last.iter().filter(|entry| switch.is_in_table(entry)).map(|entry| entry.writer));
            ends.extend(then.held().iter().filter(|held| in_table(held)).map(|held| held.entry.writer));
        }
        ends.sort();
        ends.dedup();
        ends
    }

    pub(super) fn end_is_fixed(self, writer: u128) -> bool {
        let flies = |entry: &Written| entry.is_end() && entry.writer == writer;
        self.committed_ends().contains(&writer)
            || self.in_flight().is_some_and(|order| order.entries.iter().any(flies))
    }

    pub(super) fn is_in_flight(self, entry: &Written) -> bool {
        self.in_flight().is_some_and(|order| order.entries.iter().any(|flies| flies.key() == entry.key()))
    }

    /// Checkpoints that are known to be durable: Flink said so, or a restart from one did, or an asker that only a
    /// completed checkpoint lets end (h01, h02).
    pub(super) fn known_completed(self) -> Vec<i64> {
        let mut known = Vec::new();
        for step in self.steps.iter().filter(|step| step.counts) {
            known.extend(match &step.told {
                Told::Done(checkpoint)
                | Told::Reset { checkpoint, .. }
                | Told::Restore { checkpoint, .. } => Some(*checkpoint),
                Told::Begin { restored, .. } => *restored,
                Told::Ask { question, .. } => match question {
                    Question::MayFinish { completed, .. } | Question::MayClose { completed } => {
                        Some(*completed)
                    }
                    Question::Confirm(_) => None,
                },
                _ => None,
            });
        }
        known.retain(|&checkpoint| checkpoint >= 0);
        known.sort();
        known.dedup();
        known
    }

    /// Completed checkpoints for which the twin found nothing to commit.
    pub(super) fn settled(self) -> Vec<i64> {
        let settled = self.said().filter_map(|(_, said)| match said {
            Said::Settled(checkpoint) => Some(*checkpoint),
            _ => None,
        });
        settled.collect()
    }
}

impl Switch {
    /// Whether the old user's final commit, which is in the table, held this entry.
    fn is_in_table(&self, entry: &Written) -> bool {
        let held = entry.is_end() && entry.ended_after < self.restored;
        held && self.end_is_in_table && !self.all_had_ended
    }

    /// Whether an end of input stays with the old user, to be recovered under it (s56).
    fn stays(&self, entry: &Written) -> bool {
        self.all_had_ended && entry.ended_after < self.restored
    }
}

/// Lets go of a subtask's ends of input: they belong to no attempt from here on (s58, h18).
fn seal(subtask: usize, held: &mut [Held]) {
    for held in held.iter_mut().filter(|held| held.entry.is_end() && held.owner == Some(subtask)) {
        held.owner = None;
    }
}
