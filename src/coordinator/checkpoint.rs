//! The coordinator's part of a checkpoint: completed at once, or held while too much waits for the table.

use crate::snapshot::{self, State, StateEntry};
use crate::wire::Entry;

use super::Coordinator;
use super::command::{Answer, Command, FutureId, Timer};
use super::event::Event;
use super::ledger::{Generation, Unit};
use super::phase::Phase;

impl Coordinator {
    pub(super) fn checkpoint(&mut self, checkpoint_id: i64, future: FutureId) {
        if checkpoint_id < 0 {
            // For the job events of a batch job. Without an answer Flink would never record another one (h14).
            self.complete_checkpoint(future);
            return;
        }
        let waiting_for = match &self.phase {
            Phase::Running => {
                if self.must_hold() {
                    let after_millis = self.settings.checkpoint_hold_millis;
                    let timer = Timer::HeldCheckpoint(future);
                    self.commands.push(Command::SetTimer { timer, after_millis });
                    self.held_checkpoints.insert(future, checkpoint_id);
                    let due = self.due_commits();
                    tracing::warn!(
                        "checkpoint {checkpoint_id} is held until some of the {due} commits that are due are in the table"
                    );
                } else {
                    self.complete_checkpoint(future);
                }
                return;
            }
            Phase::Created { .. } => "its committer is still being opened".to_owned(),
            Phase::Restoring(restoring) if restoring.awaited.is_empty() => {
                "the table's latest snapshot is still being looked up".to_owned()
            }
            Phase::Restoring(restoring) => {
                format!("the restore events of subtasks {:?} are still to come", restoring.awaited)
            }
            Phase::Closed { reason } => reason.clone(),
        };
        let message = format!("Checkpoint {checkpoint_id} cannot be taken yet: {waiting_for}.");
        self.fail_checkpoint(future, &message);
    }

    /// Too many commits are due, or the final one is. Entries that only a later checkpoint can make due never count.
    fn must_hold(&self) -> bool {
        let final_commit_waits =
            !self.final_commit_done && (self.final_commit_has_begun() || self.final_commit_is_due());
        self.due_commits() > self.settings.max_due_commits as usize || final_commit_waits
    }

    pub(super) fn due_commits(&self) -> usize {
        let through = self.unit_id(self.completed_through);
        self.ledger.count_through(through) + usize::from(self.in_flight.is_some())
    }

    pub(super) fn release_checkpoints(&mut self) {
        if self.held_checkpoints.is_empty() || self.must_hold() {
            return;
        }
        for (future, checkpoint_id) in std::mem::take(&mut self.held_checkpoints) {
            tracing::info!("checkpoint {checkpoint_id} is held no longer");
            self.commands.push(Command::CancelTimer(Timer::HeldCheckpoint(future)));
            self.complete_checkpoint(future);
        }
    }

    pub(super) fn checkpoint_aborted(&mut self, checkpoint_id: i64) {
        self.savepoint_aborted(checkpoint_id);
        // Only the future goes: entries of an aborted checkpoint are data, and go with the next one that completes.
        let held = std::mem::take(&mut self.held_checkpoints);
        let (aborted, held) = held.into_iter().partition(|&(_, id)| id == checkpoint_id);
        self.held_checkpoints = held;
        for future in aborted.into_keys() {
            self.commands.push(Command::CancelTimer(Timer::HeldCheckpoint(future)));
            self.fail_checkpoint(future, &format!("Checkpoint {checkpoint_id} was aborted."));
        }
    }

    /// A savepoint that was given up must not be tagged, or not any longer.
    fn savepoint_aborted(&mut self, checkpoint_id: i64) {
        let committed = checkpoint_id <= self.committed_through;
        if !committed {
            self.aborted.insert(checkpoint_id);
        }
        // The commit in flight may have set the tag already; if it is tried again, it will not.
        let in_flight =
            self.in_flight.as_ref().is_some_and(|flying| flying.id == self.unit_id(checkpoint_id));
        if committed || in_flight {
            self.commands.push(Command::DeleteTag {
                commit_user: self.commit_user().to_owned(),
                identifier: checkpoint_id,
            });
        }
    }

    pub(super) fn checkpoint_held_too_long(&mut self, future: FutureId) {
        if let Some(checkpoint_id) = self.held_checkpoints.remove(&future) {
            let message = format!(
                "Checkpoint {checkpoint_id} was held for {} ms because too many commits to table {} are due; the table's file system or catalog is slow.",
                self.settings.checkpoint_hold_millis, self.settings.table_name
            );
            self.fail_checkpoint(future, &message);
        }
    }

    pub(super) fn fail_checkpoint(&mut self, future: FutureId, message: &str) {
        self.commands.push(Command::FailCheckpoint { future, message: message.to_owned() });
    }

    /// What a closed coordinator says.
    pub(super) fn refuse(&mut self, event: Event) {
        match event {
            Event::Checkpoint { checkpoint_id, future } => self.checkpoint(checkpoint_id, future),
            Event::Request { request, .. } => self.answer(request, Answer::Rejected),
            Event::Begin { .. }
            | Event::CommitterOpened { .. }
            | Event::CommitterFailed(_)
            | Event::AttemptReady { .. }
            | Event::AttemptFailed { .. }
            | Event::SubtaskReset { .. }
            | Event::BatchSnapshotsAskedFor
            | Event::WriterEvent { .. }
            | Event::CheckpointComplete { .. }
            | Event::CheckpointAborted { .. }
            | Event::Committed { .. }
            | Event::CommitFailed { .. }
            | Event::TimerFired(_)
            | Event::Close => {}
        }
    }

    fn complete_checkpoint(&mut self, future: FutureId) {
        match snapshot::encode(&self.state()) {
            Ok(state) => self.commands.push(Command::CompleteCheckpoint { future, state }),
            Err(error) => self.fail_checkpoint(future, &error.message),
        }
    }

    /// Everything that is not known to be in the table, and what was known about the table.
    fn state(&self) -> State {
        let in_flight = self
            .in_flight
            .iter()
            .flat_map(|flying| flying.units.values().map(|unit| (flying.id.generation, unit)));
        let waiting = self.ledger.units().map(|(id, unit)| (id.generation, unit));
        let entries_of = |(generation, unit): (Generation, &Unit)| {
            let entries = unit.values().map(|slot| slot.entry.clone());
            let stored = |entry: Entry| {
                let savepoint = entry.savepoint && !self.aborted.contains(&entry.checkpoint_id);
                StateEntry { generation, entry: Entry { savepoint, ..entry } }
            };
            entries.map(stored).collect::<Vec<_>>()
        };
        State {
            parallelism: self.settings.parallelism,
            commit_users: self.commit_users.clone().into_iter().collect(),
            committed_through: self.committed_through,
            snapshot_id: self.snapshot_id,
            watermark: self.watermark.aligned(),
            final_commit_done: self.final_commit_done,
            ended: (0..)
                .zip(&self.writers)
                .filter_map(|(subtask, writer)| writer.ended.map(|ended| (subtask, ended.incarnation)))
                .collect(),
            committed_end_of_input: self.committed_end_of_input.iter().copied().collect(),
            committer_state: self.committer_state.clone(),
            entries: in_flight.chain(waiting).flat_map(entries_of).collect(),
        }
    }
}
