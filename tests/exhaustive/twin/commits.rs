//! What is due, in which order, and what holds checkpoints back.

use paimon_writer_coordinator::coordinator::command::Timer;
use paimon_writer_coordinator::wire::END_OF_INPUT;

use super::Twin;
use super::entries::Held;
use crate::rows::Written;
use crate::told::{Order, Said, Told};

impl<'a> Twin<'a> {
    /// The commit whose outcome is not known; its retries are the same commit.
    pub(super) fn in_flight(self) -> Option<&'a Order> {
        let (at, order) = self.orders().pop()?;
        let landed = self.steps[at + 1..].iter().any(|step| step.told == Told::Landed);
        (!landed).then_some(order)
    }

    /// All commits that were handed over, with the step that they answer.
    fn orders(self) -> Vec<(usize, &'a Order)> {
        let orders = self.said().filter_map(|(at, said)| match said {
            Said::Commit(order) => Some((at, order)),
            _ => None,
        });
        orders.collect()
    }

    /// The commits that are known to be in the table.
    pub(super) fn landed(self) -> Vec<&'a Order> {
        let mut landed = Vec::new();
        let mut last = None;
        for step in self.steps {
            if step.told == Told::Landed {
                landed.extend(last);
            }
            for said in &step.said {
                if let Said::Commit(order) = said {
                    last = Some(order);
                }
            }
        }
        landed
    }

    /// Every ordinary checkpoint up to this one is in the table.
    pub(super) fn committed_through(self) -> i64 {
        let remembered = self.remembered().map_or(i64::MIN, |remembered| remembered.committed_through);
        let landed = self.landed().into_iter().map(|order| order.identifier);
        let landed = landed.filter(|&identifier| identifier != END_OF_INPUT);
        landed.chain(self.settled()).chain([remembered]).max().unwrap_or(i64::MIN)
    }

    pub(super) fn completed_but_not_committed(self) -> Vec<i64> {
        let through = self.committed_through();
        self.known_completed().into_iter().filter(|&checkpoint| checkpoint > through).collect()
    }

    /// Subtasks that owe an entry for exactly this checkpoint (s05): they had not ended before it (h16).
    pub(super) fn missing(self, checkpoint: i64) -> Vec<usize> {
        // Who was restored from a later checkpoint has told all that it had for this one.
        let restored = |subtask: usize| self.restored_through(subtask) >= Some(checkpoint);
        self.without_entry(checkpoint).into_iter().filter(|&subtask| !restored(subtask)).collect()
    }

    /// Subtasks whose watermark at this checkpoint is not known.
    fn without_entry(self, checkpoint: i64) -> Vec<usize> {
        // What was restored is complete as it is: it was durable with that checkpoint.
        if self.restored() >= Some(checkpoint) {
            return Vec::new();
        }
        let held = self.held();
        let reported = |subtask: usize| {
            held.iter().any(|held| held.entry.checkpoint == checkpoint && held.owner == Some(subtask))
        };
        let had_ended = |subtask: usize| self.ended(subtask).is_some_and(|(after, _)| after < checkpoint);
        (0..self.parallelism()).filter(|&subtask| !reported(subtask) && !had_ended(subtask)).collect()
    }

    /// The current commit user's final commit is in the table. One that was restored has got a successor since.
    pub(super) fn final_commit_is_done(self) -> bool {
        let user = self.current_user();
        self.landed().iter().any(|order| order.identifier == END_OF_INPUT && order.user == user)
    }

    /// Whether what the final commit holds is fixed.
    pub(super) fn final_commit_has_begun(self) -> bool {
        let user = self.current_user();
        let flies = self.in_flight();
        self.final_commit_is_done()
            || flies.is_some_and(|order| order.identifier == END_OF_INPUT && order.user == user)
    }

    /// All inputs have ended, and a completed checkpoint covers every end (h01).
    pub(super) fn final_commit_is_due(self) -> bool {
        let Some(&completed) = self.known_completed().last() else {
            return false;
        };
        let covered = |subtask: usize| self.ended(subtask).is_some_and(|(after, _)| after < completed);
        !self.final_commit_is_done() && (0..self.parallelism()).all(covered)
    }

    /// Held entries that no commit in flight has, in the order in which they must be committed.
    fn waiting(self) -> Vec<Held> {
        let users = self.users();
        let age = |held: &Held| users.iter().position(|user| user == &held.user);
        let mut waiting = self.held();
        waiting.retain(|held| !self.is_in_flight(&held.entry));
        waiting.sort_by_key(|held| (age(held), held.entry.checkpoint, held.entry.writer));
        waiting
    }

    /// Completed checkpoints for which nobody has an entry, because all had ended before: nothing is to be committed.
    pub(super) fn settles(self) -> Vec<Said> {
        if !self.is_running() || self.in_flight().is_some() {
            return Vec::new();
        }
        let user = self.current_user();
        let waiting = self.waiting();
        let nothing_up_to = |checkpoint: i64| {
            waiting.iter().all(|held| held.user == user && held.entry.checkpoint > checkpoint)
        };
        self.completed_but_not_committed()
            .into_iter()
            .take_while(|&checkpoint| nothing_up_to(checkpoint) && self.missing(checkpoint).is_empty())
            .map(Said::Settled)
            .collect()
    }

    /// The commit to hand over now: a failed one again, or the next that is due.
    pub(super) fn commits(self) -> Option<Order> {
        if !self.is_running() {
            return None;
        }
        if let Some(order) = self.in_flight() {
            let again = self.last() == &Told::Fired(Timer::Retry);
            let savepoint = order.savepoint && !self.is_aborted(order.identifier);
            return again.then(|| Order { attempt: order.attempt + 1, savepoint, ..order.clone() });
        }
        let (user, identifier) = self.next_due()?;
        let unit = self
            .waiting()
            .into_iter()
            .filter(|held| held.user == user && held.entry.checkpoint == identifier);
        let entries: Vec<Written> =
            unit.map(|held| Written { savepoint: held.savepoint, ..held.entry }).collect();
        let completed = identifier == END_OF_INPUT || self.known_completed().contains(&identifier);
        let lowest = entries.iter().map(|entry| entry.watermark).min().unwrap_or(i64::MIN);
        // The lowest of some writers may be too high for all.
        let whole = completed || self.without_entry(identifier).is_empty();
        let watermark = if whole { lowest.max(self.watermark()) } else { self.watermark() };
        let savepoint = entries.iter().any(|entry| entry.savepoint) && !self.is_aborted(identifier);
        Some(Order { user, identifier, watermark, completed, savepoint, attempt: 1, entries })
    }

    /// The commit user and identifier of the commit that comes next, if it may.
    fn next_due(self) -> Option<(String, i64)> {
        let waiting = self.waiting();
        let name = |held: &Held| (held.user.clone(), held.entry.checkpoint);
        let first = waiting.first()?;
        let gates = self.completed_but_not_committed();
        // A completed checkpoint must be complete. The lowest decides: were a later one committed first, Paimon would
        // take it for done.
        let whole = gates.first().is_none_or(|&gate| self.missing(gate).is_empty());
        let is_old = first.user != self.current_user();
        if is_old || whole && gates.first().is_some_and(|&gate| first.entry.checkpoint <= gate) {
            return Some(name(first));
        }
        // Once everybody has ended, what is reported for savepoints is empty, and holds nothing up.
        let last = waiting.last().filter(|last| last.entry.is_end())?;
        (whole && self.final_commit_is_due()).then(|| name(last))
    }

    /// s40: a savepoint that is aborted after its entries have been committed must not keep its tag.
    pub(super) fn deletes_tag(self) -> Vec<Said> {
        let &Told::Aborted(identifier) = self.last() else {
            return Vec::new();
        };
        let user = self.current_user();
        let flies =
            self.in_flight().is_some_and(|order| order.identifier == identifier && order.user == user);
        let committed = identifier <= self.committed_through() || flies;
        if committed && !self.is_over() { vec![Said::DeleteTag { user, identifier }] } else { Vec::new() }
    }

    /// The last aligned watermark (s80).
    pub(super) fn watermark(self) -> i64 {
        let remembered = self.remembered().map_or(i64::MIN, |remembered| remembered.watermark);
        self.orders().last().map_or(remembered, |(_, order)| order.watermark)
    }

    /// s09 and s13: too much is due, or the final commit is. What only a later checkpoint makes due never counts.
    pub(super) fn holds_checkpoints(self) -> bool {
        let completed = self.known_completed().last().copied().unwrap_or(-1);
        let user = self.current_user();
        let mut due: Vec<(String, i64)> = self
            .waiting()
            .into_iter()
            .filter(|held| held.user != user || held.entry.checkpoint <= completed)
            .map(|held| (held.user, held.entry.checkpoint))
            .collect();
        due.dedup();
        let due = due.len() + usize::from(self.in_flight().is_some());
        let final_commit_waits =
            !self.final_commit_is_done() && (self.final_commit_has_begun() || self.final_commit_is_due());
        due > self.settings.max_due_commits as usize || final_commit_waits
    }

    /// h16: a completed checkpoint lacks entries, and everybody who owes one could send it.
    pub(super) fn waits_for_a_late_entry(self) -> bool {
        let Some(&gate) = self.completed_but_not_committed().first() else {
            return false;
        };
        let missing = self.missing(gate);
        self.is_running()
            && self.in_flight().is_none()
            && !missing.is_empty()
            && missing.iter().all(|&subtask| self.is_there(subtask))
    }

    /// A commit failed and has not been tried again.
    pub(super) fn waits_to_try_again(self) -> bool {
        let Some((at, _)) = self.orders().pop() else {
            return false;
        };
        let failed = |told: &Told| matches!(told, Told::CommitFailed { .. });
        !self.is_over() && self.steps[at + 1..].iter().any(|step| failed(&step.told))
    }
}
