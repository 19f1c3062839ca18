//! Lets one thing happen.

use paimon_writer_coordinator::coordinator::command::{Commit, FutureId, RequestId, Timer};

use super::action::Action;
use super::task::{Stage, finish_request};
use super::{Committer, World};

impl World {
    /// Lets one thing happen that [`World::actions`] names.
    ///
    /// # Panics
    /// If core and twin differ, or if the table is not what it must be.
    pub fn perform(&mut self, action: Action) {
        self.spend(action);
        match action {
            Action::Open => self.open(),
            Action::Recover(subtask) => self.recover(subtask),
            Action::Trigger => self.trigger(false, false),
            Action::TriggerSavepoint => self.trigger(true, false),
            Action::TriggerStop => self.trigger(true, true),
            Action::Barrier(subtask) => {
                let checkpoint = self.next_barrier(subtask).expect("a barrier is under way");
                self.barrier(subtask, checkpoint);
            }
            Action::LateBarrier(subtask) => {
                let checkpoint = self.late_barrier(subtask).expect("a barrier is under way");
                self.barrier(subtask, checkpoint);
            }
            Action::Deliver(subtask) => self.deliver(subtask),
            Action::Repeat(subtask) => {
                let entry = self.job.tasks[subtask].last_report.clone().expect("it has reported");
                let effects = self.machine.report(self.attempt(subtask), &entry);
                self.follow(effects);
            }
            Action::End(subtask) => self.end_input(subtask, true),
            Action::EndUnheard(subtask) => self.end_input(subtask, false),
            Action::Ask(subtask) => self.ask_to_finish(subtask),
            Action::Complete(checkpoint) => self.complete(checkpoint),
            Action::Fail(subtask) => self.fail(subtask),
            Action::Reset(subtask) => self.reset(subtask),
            Action::Abort(checkpoint) => self.abort(checkpoint),
            Action::Done(checkpoint) => self.done(checkpoint),
            Action::DoneAgain => {
                let checkpoint = self.newest_completed().expect("one has completed").id;
                self.done(checkpoint);
            }
            Action::Land => self.land(),
            Action::FailCommit { done } => self.fail_commit(done),
            Action::BreakCommit => {
                let effects = self.machine.commit_failed(false);
                self.job.committer = Committer::Idle;
                self.follow(effects);
            }
            Action::FireRetry => self.fire(Timer::Retry),
            Action::FireLateEntry => self.fire(Timer::LateEntry),
            Action::FireHeldCheckpoint(id) => self.fire(Timer::HeldCheckpoint(FutureId(id))),
            Action::FireHeldRequest(subtask) => {
                self.fire(Timer::HeldRequest(RequestId(finish_request(subtask))));
            }
            Action::Crash(fate) => self.crash(fate, self.parallelism()),
            Action::Rescale(fate) => {
                let both = self.scope.parallelism + self.scope.other_parallelism;
                self.crash(fate, both - self.parallelism());
            }
            Action::GhostLands => {
                let commit = self.ghost.take().expect("a commit is under way");
                self.land_in_table(&commit);
            }
            Action::GoBack(checkpoint) => self.go_back(checkpoint),
        }
        self.give_up_what_cannot_complete();
        self.check();
    }

    fn spend(&mut self, action: Action) {
        let spent = &mut self.job.spent;
        let counter = match action {
            Action::Trigger => &mut spent.checkpoints,
            Action::TriggerSavepoint => &mut spent.savepoints,
            Action::TriggerStop => &mut spent.stops,
            Action::Repeat(_) | Action::DoneAgain => &mut spent.repeats,
            Action::EndUnheard(_) => &mut spent.unheard,
            Action::Fail(_) => &mut spent.failures,
            Action::Abort(_) => &mut spent.aborts,
            Action::FailCommit { .. } | Action::BreakCommit => &mut spent.commit_failures,
            Action::FireHeldCheckpoint(_) | Action::FireHeldRequest(_) => &mut spent.held_too_long,
            Action::Crash(_) => &mut spent.crashes,
            Action::Rescale(_) => &mut spent.rescales,
            Action::GoBack(_) => &mut spent.going_back,
            Action::Open
            | Action::Recover(_)
            | Action::Barrier(_)
            | Action::LateBarrier(_)
            | Action::Deliver(_)
            | Action::End(_)
            | Action::Ask(_)
            | Action::Complete(_)
            | Action::Reset(_)
            | Action::Done(_)
            | Action::Land
            | Action::FireRetry
            | Action::FireLateEntry
            | Action::GhostLands => return,
        };
        *counter = counter.saturating_add(1);
    }

    pub(super) fn fire(&mut self, timer: Timer) {
        let effects = self.machine.fire(timer);
        self.follow(effects);
    }

    /// A commit was handed to the committer.
    pub(super) fn handed_over(&mut self) {
        self.job.committer = Committer::Busy;
        self.check_commit();
    }

    pub(super) fn land_in_table(&mut self, commit: &Commit) {
        self.table.commit(commit);
    }

    fn land(&mut self) {
        let commit = self.machine.commit.clone().expect("a commit is under way");
        self.land_in_table(&commit);
        self.job.committer = Committer::Idle;
        let effects = self.machine.landed(self.table.snapshot_id(&commit.commit_user));
        self.follow(effects);
    }

    fn fail_commit(&mut self, done: bool) {
        let commit = self.machine.commit.clone().expect("a commit is under way");
        if done {
            self.land_in_table(&commit);
        }
        self.job.committer = Committer::Failed;
        let effects = self.machine.commit_failed(true);
        self.follow(effects);
    }

    /// A finished job, or one whose tasks all wait for their end.
    pub(super) fn has_finished(&self, subtask: usize) -> bool {
        matches!(self.job.tasks[subtask].stage, Stage::Finished | Stage::FinishedAgain)
    }
}
