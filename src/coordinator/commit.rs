//! Which unit is due, the one commit in flight, and what its outcome means.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{END_OF_INPUT, Incarnation};

use super::Coordinator;
use super::command::{Command, Commit, CommitId, Timer};
use super::event::{Failure, FailureClass};
use super::ledger::{Size, Unit, UnitId};
use super::phase::Phase;
use super::watermark::Reading;
use super::writer::{Ended, Writer};

/// A commit that was handed to the committer: its entries are frozen, and its retries use exactly these.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) id: UnitId,
    /// The entries by checkpoint: those of the commit's own, and whatever else goes with it.
    pub(super) units: BTreeMap<i64, Unit>,
    pub(super) size: Size,
    commit: CommitId,
    watermark: i64,
    completed: bool,
    attempt: u32,
}

impl Coordinator {
    /// A checkpoint is known to be durable. Flink says so late, twice, or not at all; a restart from it says so too.
    pub(super) fn checkpoint_completed(&mut self, checkpoint_id: i64) {
        self.completed_through = self.completed_through.max(checkpoint_id);
        if checkpoint_id >= 0 && checkpoint_id > self.committed_through {
            self.completed.insert(checkpoint_id);
        }
    }

    /// Hands the next due unit to the committer, unless it is busy.
    pub(super) fn start_due_commit(&mut self) {
        if !matches!(self.phase, Phase::Running) || self.in_flight.is_some() {
            return;
        }
        self.settle_completed_without_entries();
        let Some(id) = self.next_due() else {
            return;
        };
        let end_of_input = id.checkpoint_id == END_OF_INPUT;
        let completed = end_of_input || self.completed.contains(&id.checkpoint_id);
        let whole = completed || self.without_entry(id.checkpoint_id).is_empty();
        let watermark = self.align_watermark(id, whole);
        let before = self.ledger.size();
        let units = if end_of_input && !self.takes_checkpoints() {
            // Savepoints that never completed: one commit for all, since a restart would begin from nothing.
            self.ledger.take_generation(id.generation)
        } else {
            BTreeMap::from([(id.checkpoint_id, self.ledger.take(id))])
        };
        self.last_commit += 1;
        let commit = CommitId(self.last_commit);
        let size = before.without(self.ledger.size());
        self.in_flight = Some(InFlight { id, units, size, commit, watermark, completed, attempt: 1 });
        self.send_commit();
    }

    fn next_due(&self) -> Option<UnitId> {
        let first = self.ledger.first()?;
        if self.is_due(first) {
            return Some(first);
        }
        // What writers report for savepoints after their end is empty. Such a savepoint may never be known to have
        // completed, so the final commit does not wait for it.
        let last = self.unit_id(END_OF_INPUT);
        (first.generation == last.generation && self.is_due(last)).then_some(last)
    }

    /// Whether this unit, the first of all, may be committed.
    fn is_due(&self, id: UnitId) -> bool {
        if id.generation < self.generation() {
            return true;
        }
        if id.checkpoint_id == END_OF_INPUT {
            // An entry that a completed checkpoint lacks must come, or the job restart, before anything is final.
            return self.completed.is_empty() && self.final_commit_is_due();
        }
        // Only a completed checkpoint must be complete. The lowest one decides: committing a later one before it would
        // make Paimon take it for committed.
        let gate = self.completed.first();
        gate.is_some_and(|&gate| id.checkpoint_id <= gate && self.missing(gate).is_empty())
    }

    /// Writers whose entry for this completed checkpoint is still to come. Who was restored from it, or from a later one,
    /// has told all that it had: a task that had finished before has no entry, and never will.
    fn missing(&self, checkpoint_id: i64) -> Vec<u32> {
        let has_told =
            |&subtask: &u32| self.writers[subtask as usize].restored_through >= Some(checkpoint_id);
        let mut missing = self.without_entry(checkpoint_id);
        missing.retain(|subtask| !has_told(subtask));
        missing
    }

    /// Writers that have neither an entry for exactly this checkpoint nor had ended before it.
    fn without_entry(&self, checkpoint_id: i64) -> Vec<u32> {
        if checkpoint_id <= self.restored_through {
            return Vec::new();
        }
        let mut reported = vec![false; self.writers.len()];
        let owners = self.ledger.unit(self.unit_id(checkpoint_id)).into_iter().flatten();
        for owner in owners.filter_map(|(_, slot)| slot.owner) {
            reported[owner as usize] = true;
        }
        let is_without = |&subtask: &u32| {
            let ended = self.writers[subtask as usize].ended;
            !reported[subtask as usize] && ended.is_none_or(|ended| ended.after >= checkpoint_id)
        };
        (0..self.settings.parallelism).filter(is_without).collect()
    }

    /// All inputs have ended, and a completed checkpoint covers every end; without checkpoints all tasks are about to finish.
    pub(super) fn final_commit_is_due(&self) -> bool {
        let covered = |ended: Ended| ended.after < self.completed_through;
        let is_due = |writer: &Writer| {
            if self.takes_checkpoints() {
                writer.ended.is_some_and(covered)
            } else {
                writer.ended.is_some() && writer.finishing
            }
        };
        !self.final_commit_done && self.writers.iter().all(is_due)
    }

    /// Whether the final commit was handed to the committer, or is done: what it holds is fixed.
    pub(super) fn final_commit_has_begun(&self) -> bool {
        let last = self.unit_id(END_OF_INPUT);
        self.final_commit_done || self.in_flight.as_ref().is_some_and(|flying| flying.id == last)
    }

    /// A completed checkpoint for which nobody has an entry, since all had ended, needs no commit.
    fn settle_completed_without_entries(&mut self) {
        while let Some(&checkpoint_id) = self.completed.first() {
            let next = self.ledger.first();
            let earlier = next.is_some_and(|id| id <= self.unit_id(checkpoint_id));
            if earlier || !self.missing(checkpoint_id).is_empty() {
                return;
            }
            self.completed.remove(&checkpoint_id);
            self.committed_through = self.committed_through.max(checkpoint_id);
        }
    }

    fn align_watermark(&mut self, id: UnitId, whole: bool) -> i64 {
        if id.checkpoint_id == END_OF_INPUT
            && let Some(watermark) = self.settings.end_input_watermark
        {
            return watermark;
        }
        if !whole {
            // Some writers are missing, and the lowest of the others may be too high.
            return self.watermark.aligned();
        }
        let slots = self.ledger.unit(id).into_iter().flat_map(Unit::values);
        let readings: Vec<Reading> = slots
            .enumerate()
            .map(|(position, slot)| Reading {
                subtask: slot.owner.unwrap_or(self.settings.parallelism + position as u32),
                watermark: slot.entry.watermark,
                idle: slot.entry.idle,
            })
            .collect();
        self.watermark.align(&readings)
    }

    fn send_commit(&mut self) {
        let Some(in_flight) = &self.in_flight else {
            return;
        };
        let entries = in_flight.units.values().flat_map(Unit::values).map(|slot| &slot.entry);
        let mut own = in_flight.units.get(&in_flight.id.checkpoint_id).into_iter().flat_map(Unit::values);
        let commit = Commit {
            commit: in_flight.commit,
            commit_user: self.commit_users.get(&in_flight.id.generation).cloned().unwrap_or_default(),
            identifier: in_flight.id.checkpoint_id,
            watermark: in_flight.watermark,
            completed: in_flight.completed,
            savepoint: own.any(|slot| slot.entry.savepoint)
                && !self.aborted.contains(&in_flight.id.checkpoint_id),
            attempt: in_flight.attempt,
            entries: entries.filter(|entry| entry.committable_count > 0).cloned().collect(),
        };
        self.commands.push(Command::Commit(commit));
    }

    pub(super) fn committed(
        &mut self,
        commit: CommitId,
        snapshot_id: Option<i64>,
        committer_state: Option<Bytes>,
    ) {
        let Some(done) = self.in_flight.take_if(|in_flight| in_flight.commit == commit) else {
            return;
        };
        self.committer_state = committer_state;
        if done.id.generation == self.generation() {
            self.snapshot_id = snapshot_id.unwrap_or(self.snapshot_id);
        }
        for (&checkpoint_id, unit) in &done.units {
            self.unit_committed(UnitId { checkpoint_id, ..done.id }, unit);
        }
        self.forget_old_commit_users();
    }

    fn unit_committed(&mut self, id: UnitId, unit: &Unit) {
        let UnitId { generation, checkpoint_id } = id;
        if checkpoint_id == END_OF_INPUT {
            self.committed_end_of_input.extend(unit.keys());
            self.final_commit_done = generation == self.generation();
            return;
        }
        self.committed_through = self.committed_through.max(checkpoint_id);
        self.completed.remove(&checkpoint_id);
        self.aborted.retain(|&aborted| aborted > checkpoint_id);
        for (incarnation, slot) in unit {
            if let Some(owner) = slot.owner {
                self.writers[owner as usize].committed = Some((*incarnation, checkpoint_id));
            }
        }
    }

    fn forget_old_commit_users(&mut self) {
        let oldest = self.ledger.first().map_or(self.generation(), |id| id.generation);
        let current = self.generation();
        self.commit_users.retain(|&generation, _| generation >= oldest.min(current));
    }

    pub(super) fn commit_failed(&mut self, commit: CommitId, failure: Failure) -> Result<()> {
        let Some(in_flight) = self.in_flight.as_ref().filter(|flying| flying.commit == commit) else {
            return Ok(());
        };
        let attempt = in_flight.attempt;
        let what = match in_flight.id.checkpoint_id {
            END_OF_INPUT => "the final commit".to_owned(),
            checkpoint_id => format!("the commit of checkpoint {checkpoint_id}"),
        };
        self.retry_or_fail(&what, attempt, failure)
    }

    pub(super) fn committer_failed(&mut self, failure: Failure) -> Result<()> {
        self.opening_attempts += 1;
        let attempt = self.opening_attempts;
        self.retry_or_fail("opening the table's committer", attempt, failure)
    }

    fn retry_or_fail(&mut self, what: &str, attempt: u32, failure: Failure) -> Result<()> {
        let kind = match failure.class {
            FailureClass::Retryable if attempt <= self.settings.commit_retries => {
                let doubled = self.settings.retry_initial_millis.saturating_mul(1 << (attempt - 1).min(30));
                let after_millis = doubled.min(self.settings.retry_max_millis);
                let tries = self.settings.commit_retries + 1;
                let why = &failure.message;
                tracing::warn!(
                    "attempt {attempt} of {tries} of {what} failed, the next one begins in {after_millis} ms: {why}"
                );
                self.commands.push(Command::SetTimer { timer: Timer::Retry, after_millis });
                return Ok(());
            }
            FailureClass::Retryable | FailureClass::FailJob => ErrorKind::CommitFailed,
            FailureClass::Final => ErrorKind::CommitImpossible,
        };
        Err(Error::new(kind, format!("{what} failed after {attempt} attempts: {}", failure.message)))
    }

    pub(super) fn try_again(&mut self) {
        match &mut self.in_flight {
            Some(in_flight) => {
                in_flight.attempt += 1;
                self.send_commit();
            }
            None => self.open_committer(),
        }
    }

    pub(super) fn is_in_flight(&self, checkpoint_id: i64, incarnation: Incarnation) -> bool {
        let flying = self.in_flight.as_ref().and_then(|in_flight| in_flight.units.get(&checkpoint_id));
        flying.is_some_and(|unit| unit.contains_key(&incarnation))
    }

    /// Whether a writer's end of input is in the table, or on its way.
    pub(super) fn end_of_input_is_fixed(&self, incarnation: Incarnation) -> bool {
        self.committed_end_of_input.contains(&incarnation) || self.is_in_flight(END_OF_INPUT, incarnation)
    }

    /// Bounds how long a completed checkpoint waits for an entry, while everyone who owes one is running.
    pub(super) fn watch_for_late_entries(&mut self) {
        let missing = match self.completed.first() {
            // Asked at every event, and it goes through all writers: not while a commit is under way anyway.
            Some(&gate) if self.in_flight.is_none() => self.missing(gate),
            _ => Vec::new(),
        };
        self.late_writers = missing.len();
        let watch = matches!(self.phase, Phase::Running)
            && !missing.is_empty()
            && missing.iter().all(|&subtask| self.writers[subtask as usize].is_ready());
        if watch && !self.late_entry_timer {
            let after_millis = self.settings.late_event_millis;
            self.commands.push(Command::SetTimer { timer: Timer::LateEntry, after_millis });
        } else if !watch && self.late_entry_timer {
            self.commands.push(Command::CancelTimer(Timer::LateEntry));
        }
        self.late_entry_timer = watch;
    }

    pub(super) fn entry_missing(&mut self) -> Result<()> {
        self.late_entry_timer = false;
        let Some(&gate) = self.completed.first() else {
            return Ok(());
        };
        let missing = self.missing(gate);
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::MissingEntry,
            format!(
                "Checkpoint {gate} has completed, but after {} ms the entries of subtasks {missing:?} are still missing; a restart commits them from the writers' state.",
                self.settings.late_event_millis
            ),
        ))
    }
}
