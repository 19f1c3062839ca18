//! What Flink's schedulers do when something dies, and what a user does when the job is gone.

use paimon_writer_coordinator::coordinator::command::{FutureId, RequestId};
use paimon_writer_coordinator::coordinator::event::Event;

use crate::checkpoints::Completed;
use crate::messages::{SubtaskState, View};
use crate::world::{Outcome, World};
use crate::writer::Task;

/// A restart that waits for its delay to pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Restart {
    /// These subtasks, the coordinator stays.
    Region(Vec<usize>),
    /// All tasks; the coordinator object is reset.
    Reset,
    /// All tasks with a new coordinator object in the same process, perhaps with another parallelism.
    NewCoordinator,
    /// The job manager died.
    NewProcess,
}

impl World {
    /// The job manager learns that a task has failed, or believes so.
    pub(crate) fn task_failed(&mut self, subtask: usize) {
        if self.plan.adaptive {
            return self.begin_global(Restart::NewCoordinator);
        }
        let region: Vec<usize> =
            if self.plan.joined_region { (0..self.parallelism).collect() } else { vec![subtask] };
        self.note(|_| format!("region {region:?} fails"));
        for &member in &region {
            self.tell_failed(member);
            if member != subtask {
                self.tasks[member].die();
            }
        }
        if self.stopped.is_some() {
            // Its region may be reset before the end of all tasks fails the whole job for good.
            if self.random.percent(50) {
                let checkpoint_id = self.latest().map_or(-1, |latest| latest.checkpoint_id);
                self.step_core(Event::SubtaskReset { subtask: subtask as i32, checkpoint_id });
            }
            self.outcome = Some(Outcome::Failed);
            return;
        }
        self.restarts.push(Restart::Region(region));
    }

    fn tell_failed(&mut self, subtask: usize) {
        let task = &mut self.tasks[subtask];
        task.view = View::Failed;
        let event = Event::AttemptFailed { subtask: subtask as i32, attempt: task.attempt };
        self.step_core(event);
    }

    /// All tasks are cancelled.
    pub(crate) fn begin_global(&mut self, restart: Restart) {
        self.note(|_| format!("everything fails: {restart:?}"));
        if self.stopped.is_some() && restart != Restart::NewProcess {
            self.outcome = Some(Outcome::Failed);
            return;
        }
        for subtask in 0..self.parallelism {
            if restart == Restart::Reset {
                self.tell_failed(subtask);
            }
            let task = &mut self.tasks[subtask];
            task.view = View::Failed;
            task.die();
        }
        if restart == Restart::NewProcess {
            self.die_with_process();
        }
        self.restarts = vec![restart];
    }

    /// Nothing that was in the job manager's memory survives, and the tasks lose their connection.
    fn die_with_process(&mut self) {
        self.abandon_committer(false);
        self.notices.clear();
        self.pending.clear();
        self.timers.clear();
        self.futures.clear();
        self.requests.clear();
        self.job_failure = None;
        self.tasks.clear();
        self.zombies.clear();
        let newer = |hidden: &Completed| {
            self.completed.last().is_none_or(|latest| latest.checkpoint_id < hidden.checkpoint_id)
        };
        if let Some(hidden) = self.hidden.take().filter(newer) {
            self.completed.push(hidden);
        }
        // A new process may find the job with another parallelism when the scheduler is adaptive.
        self.attempts.clear();
    }

    /// Performs a restart whose delay has passed; false if there is none.
    pub(crate) fn perform_restart(&mut self) -> bool {
        if self.restarts.is_empty() {
            return false;
        }
        let restart = self.restarts.remove(0);
        self.note(|_| format!("perform {restart:?}"));
        let latest = self.latest();
        match restart {
            Restart::Region(region) => self.restart_region(&region, latest.as_ref()),
            Restart::Reset => {
                self.abort_all();
                self.close_core();
                self.go_back(latest.as_ref());
                self.begin_epoch(latest.as_ref());
                self.deploy_all(latest.as_ref());
            }
            Restart::NewCoordinator => {
                self.abort_all();
                self.close_core();
                self.abandon_committer(true);
                self.notices.clear();
                self.go_back(latest.as_ref());
                self.rescale_if_adaptive();
                self.begin_epoch(latest.as_ref());
                self.deploy_all(latest.as_ref());
            }
            Restart::NewProcess => {
                self.stopped = None;
                self.go_back(latest.as_ref());
                self.rescale_if_adaptive();
                self.begin_epoch(latest.as_ref());
                self.deploy_all(latest.as_ref());
            }
        }
        true
    }

    fn rescale_if_adaptive(&mut self) {
        if self.plan.adaptive && self.random.percent(40) {
            self.parallelism = self.random.between(1, 4);
        }
    }

    /// The coordinator is closed or reset: whatever it held is answered, and late calls change nothing.
    pub(crate) fn close_core(&mut self) {
        self.step_core(Event::Close);
        assert!(self.futures.is_empty() && self.requests.is_empty(), "a closed coordinator holds on");
        if self.random.percent(20) {
            self.note(|_| "late calls to the closed coordinator".to_owned());
            let future = FutureId(i64::MAX);
            self.futures.insert(future.0, -1);
            self.requests.insert(i64::MAX, 0);
            let checkpoint_id = self.next_checkpoint;
            self.step_core(Event::CheckpointComplete { checkpoint_id });
            self.step_core(Event::Checkpoint { checkpoint_id, future });
            let (request, bytes) = (RequestId(i64::MAX), Default::default());
            self.step_core(Event::Request { request, bytes });
            assert!(self.futures.is_empty() && self.requests.is_empty(), "a closed coordinator holds on");
            let works = self.committer.works().filter(|(epoch, _)| *epoch == self.epoch).count();
            assert!(works <= 1, "a closed coordinator commits");
        }
    }

    /// The whole job continues from here.
    fn go_back(&mut self, restored: Option<&Completed>) {
        let restored_id = restored.map_or(-1, |restored| restored.checkpoint_id);
        let offsets = restored.map_or(vec![0; self.offsets.len()], |restored| restored.offsets.clone());
        let chosen = restored_id < self.covering_id;
        self.note(|_| {
            format!("back to {restored_id}, offsets {offsets:?}, behind what is committed: {chosen}")
        });
        if chosen {
            // What a dead process may still commit of the abandoned time is beyond anybody's control.
            while self.advance_orphan() {}
        }
        self.truth.go_back(&offsets, chosen);
        self.offsets = offsets;
        self.covering_id = restored_id;
        self.savepoints.retain(|savepoint| savepoint.checkpoint_id <= restored_id);
        self.hidden = None;
    }

    fn restart_region(&mut self, region: &[usize], latest: Option<&Completed>) {
        self.abort_all();
        let restored_id = latest.map_or(-1, |latest| latest.checkpoint_id);
        // Whoever restores an older savepoint later would find its files neither in the table nor to be committed.
        self.savepoints.retain(|savepoint| savepoint.checkpoint_id <= restored_id);
        for &subtask in region {
            self.step_core(Event::SubtaskReset { subtask: subtask as i32, checkpoint_id: restored_id });
        }
        let states = latest.map_or_else(|| self.initial_states(), |latest| self.distribute(latest));
        for &subtask in region {
            let state = states[subtask].clone();
            self.truth.assert_none_beyond(&state.splits);
            for &(split, offset) in &state.splits {
                self.offsets[split] = offset;
            }
            let task = self.deploy(subtask, latest, state);
            let old = std::mem::replace(&mut self.tasks[subtask], task);
            self.zombies.push(old);
        }
    }

    pub(crate) fn deploy_all(&mut self, restored: Option<&Completed>) {
        self.vertex_finished = restored.is_some_and(|restored| restored.fully_finished);
        self.zombies.append(&mut self.tasks);
        let states = match restored {
            Some(restored) => self.distribute(restored),
            None => self.initial_states(),
        };
        for (subtask, state) in states.into_iter().enumerate() {
            let task = self.deploy(subtask, restored, state);
            self.tasks.push(task);
        }
    }

    fn deploy(&mut self, subtask: usize, restored: Option<&Completed>, state: SubtaskState) -> Task {
        if self.attempts.len() <= subtask {
            self.attempts.resize(subtask + 1, -1);
        }
        self.attempts[subtask] += 1;
        self.next_incarnation += 1;
        let attempt = self.attempts[subtask];
        let mut task = Task::new(subtask, attempt, self.next_incarnation, self.parallelism, &self.plan);
        if self.vertex_finished {
            task.initialize_as_finished();
        } else {
            task.initialize(restored.map(|restored| restored.checkpoint_id), state);
        }
        task
    }

    fn initial_states(&self) -> Vec<SubtaskState> {
        let mut states = vec![SubtaskState::default(); self.parallelism];
        for split in 0..self.offsets.len() {
            states[split % self.parallelism].splits.push((split, 0));
        }
        states
    }

    /// List state: as it was for the same parallelism, otherwise its elements in equal parts.
    fn distribute(&self, restored: &Completed) -> Vec<SubtaskState> {
        let mut states: Vec<SubtaskState> =
            restored.states.iter().map(|state| state.clone().unwrap_or_default()).collect();
        if states.len() == self.parallelism {
            return states;
        }
        let elements: Vec<_> =
            states.iter_mut().flat_map(|state| std::mem::take(&mut state.elements)).collect();
        let splits: Vec<_> = states.into_iter().flat_map(|state| state.splits).collect();
        let part = |length: usize, subtask: usize| {
            subtask * length / self.parallelism..(subtask + 1) * length / self.parallelism
        };
        let state = |subtask| SubtaskState {
            elements: elements[part(elements.len(), subtask)].to_vec(),
            splits: splits[part(splits.len(), subtask)].to_vec(),
        };
        (0..self.parallelism).map(state).collect()
    }

    /// The job is gone, and is submitted again with what it left behind.
    pub(crate) fn resubmit(&mut self, target: &Completed) {
        self.note(|_| format!("resubmit from {} {:?}", target.checkpoint_id, target.kind));
        self.close_core();
        self.abandon_committer(true);
        self.die_with_process();
        self.restarts.clear();
        self.stopped = None;
        self.outcome = None;
        self.jobs += 1;
        if self.random.percent(50) {
            self.parallelism = self.random.between(1, 4);
        }
        self.settings.commit_user = format!("user-{}", self.jobs);
        self.go_back(Some(target));
        self.completed = vec![target.clone()];
        if !target.waiting_ends().is_empty() {
            self.savepoints.retain(|savepoint| savepoint.checkpoint_id != target.checkpoint_id);
            self.spent = Some(target.checkpoint_id);
        }
        self.next_checkpoint = target.checkpoint_id + 1;
        self.begin_epoch(Some(target));
        self.deploy_all(Some(target));
    }

    /// What a user may restore: usually the newest.
    pub(crate) fn choose_target(&mut self) -> Option<Completed> {
        let mut targets: Vec<Completed> = self.completed.iter().chain(&self.savepoints).cloned().collect();
        if targets.len() > 1 {
            targets.retain(|target| Some(target.checkpoint_id) != self.spent);
        }
        targets.sort_by_key(|target| target.checkpoint_id);
        let newest = targets.len().checked_sub(1)?;
        let index = if self.random.percent(60) { newest } else { self.random.below(targets.len()) };
        Some(targets.swap_remove(index))
    }
}
