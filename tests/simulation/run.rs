//! A world from its beginning to its end.

use crate::checkpoints::Completed;
use crate::messages::{Blocked, Kind, Status, View};
use crate::support::MAX;
use crate::truth::Row;
use crate::world::{Outcome, World};
use crate::writer::Task;

/// Far more than any healed world needs.
const HEALED_STEPS_MAX: usize = 20_000;

impl World {
    pub(crate) fn run(&mut self) {
        let mut left = self.plan.chaos_steps;
        loop {
            while left > 0 && self.outcome.is_none() {
                left -= 1;
                // What is drawn is often not possible at the moment.
                let _ = (0..5).any(|_| self.step());
            }
            let outcome = match self.outcome {
                Some(outcome) => outcome,
                None => self.heal(),
            };
            let over = match outcome {
                Outcome::Exhausted => true,
                // Sources without an end can only be stopped, and were, after all that could go wrong.
                Outcome::Stopped => self.healed && !self.plan.bounded,
                Outcome::Failed => false,
            };
            if over {
                return;
            }
            let stopped = self.stopped.clone().filter(|_| outcome == Outcome::Stopped);
            let target = if self.random.percent(80) { stopped } else { None };
            let target = target.or_else(|| self.choose_target());
            self.resubmit(&target.expect("a job that was stopped has left a savepoint"));
        }
    }

    /// Nothing goes wrong any more: the job must come to its end.
    fn heal(&mut self) -> Outcome {
        self.note(|_| "healed".to_owned());
        self.healed = true;
        self.weights = self.plan.weights.healed();
        self.zombies.iter_mut().for_each(|zombie| zombie.die());
        for _ in 0..HEALED_STEPS_MAX {
            if let Some(outcome) = self.outcome {
                return outcome;
            }
            if !self.plan.bounded && self.random.percent(2) {
                let drain = self.random.percent(50);
                self.trigger(Kind::Stop { drain });
            }
            if !self.step() && self.is_idle() {
                self.let_time_pass();
            }
        }
        panic!("a healed job does not finish in {HEALED_STEPS_MAX} steps");
    }

    fn let_time_pass(&mut self) {
        self.branch_done |= self.random.percent(30);
        self.end_if_finished();
        if self.outcome.is_none()
            && !self.trigger(Kind::Checkpoint)
            && !self.fire_timer(true)
            && !self.expire()
            && self.branch_done
        {
            panic!("nothing can happen any more, and the job has not finished");
        }
    }

    /// Whether anything but time can move the world.
    pub(crate) fn is_idle(&self) -> bool {
        let everyone = || self.tasks.iter().chain(&self.zombies);
        let task_waits = |task: &Task| {
            task.status == Status::Dead
                || task.status == Status::Finished && task.inbox.is_empty()
                || (!task.doomed
                    && match &task.blocked {
                        Some(Blocked::Confirm { .. }) => {
                            task.replies.is_empty() && task.asked.is_some_and(|asked| !asked.lost)
                        }
                        Some(Blocked::Finish) => {
                            task.replies.is_empty()
                                && task.inbox.is_empty()
                                && task.asked.is_some_and(|asked| !asked.lost)
                        }
                        None => task.inbox.is_empty(),
                    })
        };
        let source_waits = |task: &Task| {
            let exhausted =
                task.splits.iter().all(|(&split, &offset)| offset >= self.plan.split_lengths[split]);
            !task.is_open() || (exhausted && !self.plan.bounded)
        };
        self.job_failure.is_none()
            && self.restarts.is_empty()
            && self.notices.is_empty()
            && self.committer.works().next().is_none()
            && self.orphans.is_empty()
            && everyone().all(|task| task.outbox.is_empty() && task_waits(task))
            && self.tasks.iter().all(|task| source_waits(task) || task.status != Status::Running)
    }

    /// The job is FINISHED, or at least its writers are: nothing of them may be lost from here on.
    pub(crate) fn end_if_finished(&mut self) {
        if !self.restarts.is_empty() || self.tasks.iter().any(|task| task.view != View::Finished) {
            return;
        }
        if let Some(stopped) = self.stopped.clone() {
            let may_wait = self.rows_that_wait_for_the_end(&stopped);
            self.truth.assert_complete(&stopped.offsets, &may_wait, "the job was stopped");
            self.outcome = Some(Outcome::Stopped);
        } else {
            let all = self.plan.split_lengths.clone();
            self.truth.assert_complete(&all, &[], "all writers have finished");
            if self.branch_done {
                self.outcome = Some(Outcome::Exhausted);
            }
        }
    }

    /// After a stop without drain, what ended writers wrote last waits in the savepoint until the others end.
    fn rows_that_wait_for_the_end(&self, stopped: &Completed) -> Vec<Row> {
        let has_ended = |task: &Task| task.own.contains_key(&MAX) || self.vertex_finished;
        if self.tasks.iter().all(has_ended) {
            return Vec::new();
        }
        let waiting = stopped.waiting_ends();
        let name = |payload: &[u8]| String::from_utf8(payload.to_vec()).expect("a file name");
        waiting.iter().flat_map(|entry| self.truth.rows_of(&name(&entry.payload)).to_vec()).collect()
    }
}
