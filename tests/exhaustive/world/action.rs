//! What can happen next.

use paimon_writer_coordinator::coordinator::command::{FutureId, RequestId, Timer};

use super::checkpoints::Status;
use super::task::{Stage, finish_request};
use super::{Committer, World};

/// One thing that happens. Numbers are subtasks, or checkpoints where the name says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The table answers the opening of the committer.
    Open,
    /// The attempt is announced and reports what it restored; in two steps if the scope says so.
    Recover(usize),
    /// Flink asks for the coordinator's part of the next checkpoint.
    Trigger,
    /// The same for a savepoint that nobody will be notified of.
    TriggerSavepoint,
    /// The same for one that stops the job.
    TriggerStop,
    /// The barrier of the next checkpoint reaches a writer.
    Barrier(usize),
    /// The same of a checkpoint that was given up meanwhile.
    LateBarrier(usize),
    /// A report that was under way arrives; only in a scope with slow reports.
    Deliver(usize),
    /// Its last report arrives once more.
    Repeat(usize),
    /// A writer's input ends.
    End(usize),
    /// The same, and its report is lost.
    EndUnheard(usize),
    /// A writer asks whether it may finish.
    Ask(usize),
    /// The last part of a checkpoint is acknowledged, by another task than a writer; only in a scope with such tasks.
    Complete(i64),
    /// A task fails, or is cancelled with its region.
    Fail(usize),
    /// It is about to run again, from the newest completed checkpoint.
    Reset(usize),
    /// A pending checkpoint is given up, or its having been given up is told.
    Abort(i64),
    /// The completion of a checkpoint is told.
    Done(i64),
    /// The completion of the newest checkpoint is told again.
    DoneAgain,
    /// The commit succeeds.
    Land,
    /// It fails without a trace and can be tried again, or it was done and reports a failure all the same (s92).
    FailCommit {
        done: bool,
    },
    /// It fails in a way that fails the job.
    BreakCommit,
    /// A timer runs out.
    FireRetry,
    FireLateEntry,
    FireHeldCheckpoint(i64),
    FireHeldRequest(usize),
    /// Coordinator and tasks are lost; what becomes of the commit in flight.
    Crash(Fate),
    /// The same, and the job goes on with the scope's other parallelism.
    Rescale(Fate),
    /// A commit of a lost coordinator lands after all.
    GhostLands,
    /// A user stops the job and starts it again from an old checkpoint or savepoint; its sources have more to say.
    GoBack(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    Lands,
    Lost,
    Late,
}

/// How often something happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    pub checkpoints: u8,
    pub savepoints: u8,
    pub stops: u8,
    pub failures: u8,
    pub crashes: u8,
    pub rescales: u8,
    pub going_back: u8,
    pub aborts: u8,
    pub repeats: u8,
    pub unheard: u8,
    pub commit_failures: u8,
    pub held_too_long: u8,
}

impl Limits {
    pub const NONE: Limits = Limits {
        checkpoints: 0,
        savepoints: 0,
        stops: 0,
        failures: 0,
        crashes: 0,
        rescales: 0,
        going_back: 0,
        aborts: 0,
        repeats: 0,
        unheard: 0,
        commit_failures: 0,
        held_too_long: 0,
    };
}

/// A corner of the small world that is explored completely.
#[derive(Debug)]
pub struct Scope {
    pub name: &'static str,
    pub parallelism: usize,
    /// After a [`Action::Rescale`].
    pub other_parallelism: usize,
    /// How many actions a sequence has.
    pub length: usize,
    /// What has happened before, in every sequence.
    pub prefix: &'static [Action],
    pub limits: Limits,
    pub concurrent_checkpoints: usize,
    pub max_due_commits: u32,
    pub inputs_end: bool,
    /// Other parts of the job go on after all writers have finished.
    pub outlives_writers: bool,
    /// A region holds other tasks, too, so that finished writers may have to run again.
    pub restarts_finished: bool,
    pub opens_slowly: bool,
    pub recovers_slowly: bool,
    /// Writers acknowledge without waiting for a confirmation, as Flink's own events do: reports come late, or never.
    pub reports_slowly: bool,
    /// Other tasks are the last to acknowledge a checkpoint, and may fail to.
    pub completes_slowly: bool,
    /// Every other entry is empty.
    pub sparse: bool,
    pub forces_empty_snapshots: bool,
}

impl Scope {
    pub const PLAIN: Scope = Scope {
        name: "",
        parallelism: 1,
        other_parallelism: 1,
        length: 0,
        prefix: &[],
        limits: Limits::NONE,
        concurrent_checkpoints: 1,
        max_due_commits: 1,
        inputs_end: false,
        outlives_writers: false,
        restarts_finished: false,
        opens_slowly: false,
        recovers_slowly: false,
        reports_slowly: false,
        completes_slowly: false,
        sparse: false,
        forces_empty_snapshots: false,
    };
}

impl World {
    /// Everything that may happen next.
    pub fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_finished() {
            return actions;
        }
        if let Some(savepoint) = self.stopped_at().filter(|_| self.machine.failed) {
            // Flink itself does not restart a job that has stopped; its user resumes it (4.6).
            return vec![Action::GoBack(savepoint)];
        }
        let limits = &self.scope.limits;
        let spent = &self.job.spent;
        let fates: &[Fate] = match self.job.committer {
            Committer::Busy => &[Fate::Lands, Fate::Lost, Fate::Late],
            Committer::Idle | Committer::Failed => &[Fate::Lost],
        };
        if spent.crashes < limits.crashes && !self.has_stopped() || self.machine.failed {
            actions.extend(fates.iter().map(|&fate| Action::Crash(fate)));
        }
        if self.ghost.is_some() {
            actions.push(Action::GhostLands);
        }
        if self.machine.failed {
            return actions;
        }
        if spent.rescales < limits.rescales && self.newest_completed().is_some() && !self.has_stopped() {
            actions.extend(fates.iter().map(|&fate| Action::Rescale(fate)));
        }
        if spent.going_back < limits.going_back && self.ghost.is_none() {
            actions.extend(self.may_go_back_to().map(Action::GoBack));
        }
        if self.job.opening.is_some() {
            actions.push(Action::Open);
        }
        (0..self.parallelism()).for_each(|subtask| self.add_task_actions(subtask, &mut actions));
        self.add_checkpoint_actions(&mut actions);
        self.add_commit_actions(&mut actions);
        actions
    }

    fn add_task_actions(&self, subtask: usize, actions: &mut Vec<Action>) {
        let limits = &self.scope.limits;
        let spent = &self.job.spent;
        let task = &self.job.tasks[subtask];
        match task.stage {
            Stage::Deployed | Stage::Restoring => actions.push(Action::Recover(subtask)),
            Stage::Running => {
                if self.next_barrier(subtask).is_some() {
                    actions.push(Action::Barrier(subtask));
                }
                if self.late_barrier(subtask).is_some() {
                    actions.push(Action::LateBarrier(subtask));
                }
                if !task.undelivered.is_empty() {
                    actions.push(Action::Deliver(subtask));
                }
                if task.last_report.is_some() && spent.repeats < limits.repeats {
                    actions.push(Action::Repeat(subtask));
                }
                if self.scope.inputs_end && !task.has_ended() && !task.stopped {
                    actions.push(Action::End(subtask));
                    if spent.unheard < limits.unheard {
                        actions.push(Action::EndUnheard(subtask));
                    }
                }
                if self.may_ask(subtask) {
                    actions.push(Action::Ask(subtask));
                }
                let request = Timer::HeldRequest(RequestId(finish_request(subtask)));
                if self.machine.timers.contains(&request) && spent.held_too_long < limits.held_too_long {
                    actions.push(Action::FireHeldRequest(subtask));
                }
            }
            Stage::Failed => actions.push(Action::Reset(subtask)),
            Stage::Finished | Stage::FinishedAgain => {}
        }
        let may_fail = match task.stage {
            Stage::Restoring | Stage::Running => true,
            Stage::Finished => self.scope.restarts_finished,
            Stage::Deployed | Stage::Failed | Stage::FinishedAgain => false,
        };
        if may_fail && spent.failures < limits.failures && !self.has_stopped() {
            actions.push(Action::Fail(subtask));
        }
    }

    fn add_checkpoint_actions(&self, actions: &mut Vec<Action>) {
        let limits = &self.scope.limits;
        let spent = &self.job.spent;
        if self.may_trigger() {
            let pending = self.pending().filter(|checkpoint| !checkpoint.savepoint).count();
            if pending < self.scope.concurrent_checkpoints && spent.checkpoints < limits.checkpoints {
                actions.push(Action::Trigger);
            }
            if spent.savepoints < limits.savepoints {
                actions.push(Action::TriggerSavepoint);
            }
            if spent.stops < limits.stops {
                actions.push(Action::TriggerStop);
            }
        }
        for checkpoint in &self.job.checkpoints {
            let id = checkpoint.id;
            if self.scope.completes_slowly && checkpoint.status == Status::Pending && checkpoint.is_whole() {
                actions.push(Action::Complete(id));
            }
            let gives_up = match checkpoint.status {
                Status::Pending => spent.aborts < limits.aborts,
                Status::Aborted => !checkpoint.told && spent.aborts < limits.aborts,
                Status::Completed => false,
            };
            if gives_up {
                actions.push(Action::Abort(id));
            }
            if checkpoint.status == Status::Completed && !checkpoint.told && checkpoint.is_notified() {
                actions.push(Action::Done(id));
            }
            let timer = Timer::HeldCheckpoint(FutureId(id));
            if self.machine.timers.contains(&timer) && spent.held_too_long < limits.held_too_long {
                actions.push(Action::FireHeldCheckpoint(id));
            }
        }
        let told = self.newest_completed().is_some_and(|checkpoint| checkpoint.told);
        if told && spent.repeats < limits.repeats {
            actions.push(Action::DoneAgain);
        }
    }

    fn add_commit_actions(&self, actions: &mut Vec<Action>) {
        let may_fail = self.job.spent.commit_failures < self.scope.limits.commit_failures;
        match self.job.committer {
            Committer::Idle => {}
            Committer::Busy => {
                actions.push(Action::Land);
                if may_fail {
                    actions.push(Action::FailCommit { done: false });
                    actions.push(Action::FailCommit { done: true });
                    actions.push(Action::BreakCommit);
                }
            }
            Committer::Failed => actions.push(Action::FireRetry),
        }
        if self.machine.timers.contains(&Timer::LateEntry) {
            actions.push(Action::FireLateEntry);
        }
    }
}
