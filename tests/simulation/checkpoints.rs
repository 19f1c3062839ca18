//! Flink's checkpoint coordinator.

use std::collections::BTreeMap;

use paimon_writer_coordinator::coordinator::command::FutureId;
use paimon_writer_coordinator::coordinator::event::Event;
use paimon_writer_coordinator::snapshot;
use paimon_writer_coordinator::wire::Entry;

use crate::messages::{Element, Kind, SubtaskState, ToTask, View};
use crate::support::MAX;
use crate::world::{Outcome, StateBytes, World};

/// A checkpoint that can be restored.
#[derive(Debug, Clone)]
pub(crate) struct Completed {
    pub(crate) checkpoint_id: i64,
    pub(crate) kind: Kind,
    /// None once all writers had finished before it.
    pub(crate) coordinator: StateBytes,
    pub(crate) fully_finished: bool,
    /// None for a subtask that had finished before it.
    pub(crate) states: Vec<Option<SubtaskState>>,
    /// How far it covers each split.
    pub(crate) offsets: Vec<u32>,
}

impl Completed {
    /// What writers wrote up to their end, to be committed when all have ended.
    pub(crate) fn waiting_ends(&self) -> Vec<Entry> {
        let elements = self.states.iter().flatten().flat_map(|state| &state.elements);
        let of_writers = elements.filter_map(|element| match element {
            Element::Entry(entry) => Some(entry.clone()),
            Element::Piece(_) => None,
        });
        let state = self.coordinator.as_ref().map(|bytes| snapshot::decode(bytes).expect("its own bytes"));
        let of_coordinator = state.into_iter().flat_map(|state| state.entries).map(|stored| stored.entry);
        let waits = |entry: &Entry| entry.checkpoint_id == MAX && entry.committable_count > 0;
        of_writers.chain(of_coordinator).filter(waits).collect()
    }
}

/// One under way.
#[derive(Debug)]
pub(crate) struct Pending {
    kind: Kind,
    /// The attempts that must acknowledge, by incarnation; the others had finished.
    running: BTreeMap<u128, usize>,
    coordinator: StateBytes,
    acknowledged: BTreeMap<usize, Option<SubtaskState>>,
    offsets: Vec<u32>,
    fully_finished: bool,
}

/// What the checkpoint coordinator has enqueued for the coordinator on the job manager's main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    Checkpoint(i64),
    Complete(i64),
    Aborted(i64),
}

impl World {
    /// Triggers a checkpoint if Flink would; false if not.
    pub(crate) fn trigger(&mut self, kind: Kind) -> bool {
        let settled = |view: View| matches!(view, View::Running | View::Finished);
        // Flink begins one after another, so that tasks see ids ascend.
        let is_triggering = self.pending.values().any(|pending| pending.coordinator.is_none());
        if is_triggering
            || !self.restarts.is_empty()
            || self.job_failure.is_some()
            || self.stopped.is_some()
            || !self.tasks.iter().all(|task| settled(task.view))
        {
            return false;
        }
        let stopping = self.pending.values().any(|pending| matches!(pending.kind, Kind::Stop { .. }));
        let of_kind = self.pending.values().filter(|pending| pending.kind == kind).count();
        let allowed = match kind {
            // The tasks' end of data triggers one more during a stop with drain.
            Kind::Checkpoint => {
                of_kind < self.plan.concurrent_checkpoints && (!stopping || self.random.percent(5))
            }
            Kind::Savepoint => of_kind == 0 && !stopping,
            Kind::Stop { .. } => !stopping,
        };
        let running: BTreeMap<u128, usize> = self
            .tasks
            .iter()
            .filter(|task| task.view == View::Running)
            .map(|task| (task.incarnation, task.subtask))
            .collect();
        if !allowed || (running.is_empty() && self.branch_done) {
            return false;
        }
        let checkpoint_id = self.next_checkpoint;
        self.next_checkpoint += 1;
        self.note(|_| format!("trigger {checkpoint_id} {kind:?}"));
        let fully_finished = running.is_empty() || self.vertex_finished;
        let (coordinator, acknowledged, offsets) = (None, BTreeMap::new(), self.offsets.clone());
        let pending = Pending { kind, running, coordinator, acknowledged, offsets, fully_finished };
        self.pending.insert(checkpoint_id, pending);
        self.notices.push_back(Notice::Checkpoint(checkpoint_id));
        true
    }

    /// Delivers what was enqueued first; false if there is nothing.
    pub(crate) fn deliver_notice(&mut self) -> bool {
        let Some(notice) = self.notices.pop_front() else {
            return false;
        };
        let repeated = self.random.percent(self.weights.repeat_notice);
        match notice {
            Notice::Checkpoint(checkpoint_id) => {
                // Flink asks although the checkpoint was aborted meanwhile.
                self.next_future += 1;
                let future = FutureId(self.next_future);
                self.futures.insert(future.0, checkpoint_id);
                self.step_core(Event::Checkpoint { checkpoint_id, future });
                return true;
            }
            Notice::Complete(checkpoint_id) => self.step_core(Event::CheckpointComplete { checkpoint_id }),
            Notice::Aborted(checkpoint_id) => self.step_core(Event::CheckpointAborted { checkpoint_id }),
        }
        if repeated {
            self.notices.push_back(notice);
        }
        true
    }

    /// The coordinator has given its part, or declined.
    pub(crate) fn coordinator_answered(&mut self, checkpoint_id: i64, state: StateBytes) {
        let Some(pending) = self.pending.get_mut(&checkpoint_id) else {
            return;
        };
        if state.is_none() {
            self.abort(checkpoint_id);
            return;
        }
        pending.coordinator = state;
        let (kind, running) = (pending.kind, pending.running.clone());
        for task in self.tasks.iter_mut().filter(|task| running.contains_key(&task.incarnation)) {
            task.inbox.push_back(ToTask::Trigger { checkpoint_id, kind });
        }
        self.complete_if_acknowledged(checkpoint_id);
    }

    pub(crate) fn acknowledged(
        &mut self,
        incarnation: u128,
        checkpoint_id: i64,
        state: Option<SubtaskState>,
    ) {
        let Some(pending) = self.pending.get_mut(&checkpoint_id) else {
            return;
        };
        let Some(&subtask) = pending.running.get(&incarnation) else {
            return;
        };
        for &(split, offset) in state.iter().flat_map(|state| &state.splits) {
            pending.offsets[split] = offset;
        }
        pending.acknowledged.insert(subtask, state);
        self.complete_if_acknowledged(checkpoint_id);
    }

    fn complete_if_acknowledged(&mut self, checkpoint_id: i64) {
        let whole = self.pending.get(&checkpoint_id).is_some_and(|pending| {
            pending.coordinator.is_some() && pending.acknowledged.len() == pending.running.len()
        });
        if !whole {
            return;
        }
        let Some(mut pending) = self.pending.remove(&checkpoint_id) else {
            return;
        };
        let mut state_of = |subtask| pending.acknowledged.remove(&subtask).flatten();
        let completed = Completed {
            checkpoint_id,
            kind: pending.kind,
            states: (0..self.parallelism).map(&mut state_of).collect(),
            coordinator: pending.coordinator.filter(|_| !pending.fully_finished),
            fully_finished: pending.fully_finished,
            offsets: pending.offsets,
        };
        self.completed(completed, &pending.running);
    }

    fn completed(&mut self, completed: Completed, running: &BTreeMap<u128, usize>) {
        let checkpoint_id = completed.checkpoint_id;
        if completed.kind == Kind::Checkpoint && self.random.percent(self.weights.inconsistent_store) {
            self.note(|_| format!("stored {checkpoint_id}, but it counts as aborted"));
            self.hidden = Some(completed);
            self.tell_aborted(checkpoint_id);
            return;
        }
        self.note(|_| format!("completed {checkpoint_id}"));
        if completed.kind == Kind::Savepoint {
            // Nobody is notified of a plain savepoint.
            self.savepoints.push(completed);
            return;
        }
        if checkpoint_id > self.covering_id {
            self.covering_id = checkpoint_id;
            self.truth.covered.clone_from(&completed.offsets);
        }
        if completed.kind == Kind::Checkpoint {
            let subsumed = |(&id, pending): (&i64, &Pending)| {
                (id < checkpoint_id && pending.kind == Kind::Checkpoint).then_some(id)
            };
            let subsumed: Vec<i64> = self.pending.iter().filter_map(subsumed).collect();
            subsumed.into_iter().for_each(|id| self.abort(id));
            self.completed.push(completed);
            let surplus = self.completed.len().saturating_sub(3);
            self.completed.drain(..surplus);
        } else {
            self.savepoints.push(completed.clone());
            self.stopped = Some(completed);
            // A region may have gone back behind it before: then what it holds is not in the lineage of the savepoint.
            self.hidden = None;
            if !self.restarts.is_empty() {
                // A task had failed meanwhile, so they will not all finish: the job fails for good.
                self.outcome = Some(Outcome::Failed);
            }
        }
        for task in self.tasks.iter_mut().filter(|task| running.contains_key(&task.incarnation)) {
            task.inbox.push_back(ToTask::Complete(checkpoint_id));
        }
        self.notices.push_back(Notice::Complete(checkpoint_id));
    }

    pub(crate) fn abort(&mut self, checkpoint_id: i64) {
        if self.pending.remove(&checkpoint_id).is_some() {
            self.note(|_| format!("aborted {checkpoint_id}"));
            self.tell_aborted(checkpoint_id);
        }
    }

    fn tell_aborted(&mut self, checkpoint_id: i64) {
        for task in &mut self.tasks {
            task.inbox.push_back(ToTask::Aborted(checkpoint_id));
        }
        if !self.random.percent(self.weights.lose_notice) {
            self.notices.push_back(Notice::Aborted(checkpoint_id));
        }
    }

    pub(crate) fn abort_all(&mut self) {
        let all: Vec<i64> = self.pending.keys().copied().collect();
        all.into_iter().for_each(|checkpoint_id| self.abort(checkpoint_id));
    }
}
