//! One step of the world: something that may happen next, chosen by weight.

use paimon_writer_coordinator::coordinator::command::{RequestId, Timer};
use paimon_writer_coordinator::coordinator::event::Event;

use crate::failover::Restart;
use crate::messages::{Kind, Status, ToManager, View};
use crate::world::World;
use crate::writer::{Surroundings, Task, is_restore};

impl World {
    /// One step; false if what was chosen cannot happen now.
    pub(crate) fn step(&mut self) -> bool {
        if self.job_failure.is_some() && self.restarts.first() != Some(&Restart::NewProcess) {
            // Flink hears of it at once, and acts on its main thread.
            self.job_failure = None;
            let restart = if self.plan.adaptive { Restart::NewCoordinator } else { Restart::Reset };
            self.begin_global(restart);
            return true;
        }
        let weights = &self.weights;
        let choices = [
            weights.emit,
            weights.end_input,
            weights.task,
            weights.deliver,
            weights.notice,
            weights.commit,
            weights.checkpoint,
            weights.savepoint,
            weights.stop,
            weights.restart,
            weights.timer,
            weights.expire,
            weights.fail_task,
            weights.zombie,
            weights.crash,
            weights.global_failure,
            weights.resubmit,
            weights.orphan,
        ];
        match self.random.weighted(&choices) {
            Some(0) => self.emit(),
            Some(1) => self.end_input(),
            Some(2) => self.advance_task(),
            Some(3) => self.deliver(),
            Some(4) => self.is_up() && self.deliver_notice(),
            Some(5) => self.is_up() && self.advance_committer(),
            Some(6) => self.trigger(Kind::Checkpoint),
            Some(7) => self.trigger(Kind::Savepoint),
            Some(8) => {
                let drain = self.random.percent(50);
                self.trigger(Kind::Stop { drain })
            }
            Some(9) => self.perform_restart(),
            Some(10) => self.is_up() && self.fire_timer(false),
            Some(11) => self.expire(),
            Some(12) => self.fail_task(),
            Some(13) => self.lose_sight(),
            Some(14) => self.crash(),
            Some(15) => self.fail_globally(),
            Some(16) => self.user_resubmits(),
            Some(_) => self.advance_orphan(),
            None => false,
        }
    }

    /// Whether there is a job manager at the moment.
    fn is_up(&self) -> bool {
        self.restarts.first() != Some(&Restart::NewProcess)
    }

    fn emit(&mut self) -> bool {
        if self.tasks.is_empty() {
            return false;
        }
        let subtask = self.random.below(self.tasks.len());
        let task = &mut self.tasks[subtask];
        let lengths = &self.plan.split_lengths;
        let open: Vec<usize> =
            task.splits.iter().filter(|&(&s, &offset)| offset < lengths[s]).map(|(&s, _)| s).collect();
        if !task.is_open() || open.is_empty() {
            return false;
        }
        let split = open[self.random.below(open.len())];
        let offset = task.emit(split);
        // An attempt that was given up goes on for a while, but what it emits is nobody's.
        if task.view != View::Failed {
            self.offsets[split] = offset;
        }
        true
    }

    fn end_input(&mut self) -> bool {
        if !self.plan.bounded || self.tasks.is_empty() {
            return false;
        }
        let subtask = self.random.below(self.tasks.len());
        let task = &mut self.tasks[subtask];
        let lengths = &self.plan.split_lengths;
        if !task.is_open() || task.splits.iter().any(|(&split, &offset)| offset < lengths[split]) {
            return false;
        }
        task.end_input(&mut self.truth);
        self.note(|_| format!("input of subtask {subtask} ends"));
        true
    }

    /// Some task, current or given up.
    fn some_task(&mut self) -> Option<usize> {
        let all = self.tasks.len() + self.zombies.len();
        (all > 0).then(|| self.random.below(all))
    }

    fn task_at(&mut self, index: usize) -> &mut Task {
        task_of(&mut self.tasks, &mut self.zombies, index)
    }

    fn advance_task(&mut self) -> bool {
        let Some(index) = self.some_task() else {
            return false;
        };
        let impatience = 10 / self.plan.loss_factor();
        let notices_loss = self.healed || self.random.percent(impatience);
        let asks_again = !self.healed && self.random.percent(2);
        let gives_up = !self.healed && self.random.percent(5);
        let task = self.task_at(index);
        // The timeouts of Flink's ask, of a request, and of the confirmation.
        let asked = task.asked.filter(|_| task.replies.is_empty());
        if task.doomed && task.is_alive() && notices_loss {
            task.die();
            return true;
        }
        if asked.is_some_and(|asked| asked.lost) && gives_up {
            task.die();
            return true;
        }
        if asked.is_some_and(|asked| asked.lost || asks_again) {
            task.asked = None;
            return true;
        }
        let around = &mut Surroundings { truth: &mut self.truth, next_request: &mut self.next_request };
        let task = task_of(&mut self.tasks, &mut self.zombies, index);
        task.status != Status::Dead && task.advance(around)
    }

    /// The job manager receives the next message of some task.
    fn deliver(&mut self) -> bool {
        let Some(index) = self.some_task().filter(|_| self.is_up()) else {
            return false;
        };
        let (current, parallelism) = (index < self.tasks.len(), self.parallelism);
        let loses = self.random.percent(self.weights.lose_message * self.plan.loss_factor());
        let stale = self.random.percent(self.weights.stale_event);
        let repeats = self.random.percent(self.weights.repeat_event);
        let Some(message) = self.task_at(index).outbox.pop_front() else {
            let gone = !current && !self.task_at(index).is_alive();
            if gone {
                let zombie = index - self.tasks.len();
                self.zombies.swap_remove(zombie);
            }
            return gone;
        };
        self.note(|_| format!("from {index}: {}", message.name()));
        let task = self.task_at(index);
        let (subtask, attempt) = (task.subtask as i32, task.attempt);
        let (incarnation, view) = (task.incarnation, task.view);
        let out_of_range = task.subtask >= parallelism;
        match message {
            ToManager::Initializing if view == View::Deploying => {
                task.view = View::Initializing;
                self.step_core(Event::AttemptReady { subtask, attempt });
            }
            ToManager::Running if view == View::Initializing => task.view = View::Running,
            ToManager::Initializing | ToManager::Running => {}
            ToManager::Event(bytes) if loses && task.may_be_lost(&bytes) => task.doomed = true,
            ToManager::Request { .. } if loses => {
                if let Some(asked) = &mut task.asked {
                    asked.lost = true;
                }
            }
            ToManager::Event(bytes) => {
                if repeats && !is_restore(&bytes) {
                    task.outbox.push_back(ToManager::Event(bytes.clone()));
                }
                let stale = stale && !out_of_range;
                if matches!(view, View::Initializing | View::Running) || stale {
                    self.step_core(Event::WriterEvent { subtask, attempt, bytes });
                }
            }
            // Of an attempt from before a rescale; the specification wants it to fail the job (s105).
            ToManager::Request { .. } if out_of_range => {}
            ToManager::Request { request, bytes } => {
                self.requests.insert(request, incarnation);
                self.step_core(Event::Request { request: RequestId(request), bytes });
            }
            ToManager::Acknowledge { checkpoint_id, state } => {
                self.acknowledged(incarnation, checkpoint_id, state);
            }
            ToManager::Decline { checkpoint_id } => self.abort(checkpoint_id),
            ToManager::Finished if view == View::Running => {
                task.view = View::Finished;
                self.end_if_finished();
            }
            ToManager::Finished => {}
            ToManager::Failed => {
                if current && !matches!(view, View::Failed | View::Finished) {
                    self.task_failed(subtask as usize);
                }
            }
        }
        true
    }

    /// A timer runs out. In a healed world only a pause ends before everything else has been done.
    pub(crate) fn fire_timer(&mut self, all: bool) -> bool {
        let may_fire = |timer: &Timer| all || !self.healed || *timer == Timer::Retry;
        let timers: Vec<Timer> = self.timers.keys().copied().filter(may_fire).collect();
        if timers.is_empty() {
            return false;
        }
        let timer = timers[self.random.below(timers.len())];
        self.timers.remove(&timer);
        self.step_core(Event::TimerFired(timer));
        true
    }

    pub(crate) fn expire(&mut self) -> bool {
        let Some(&checkpoint_id) = self.pending.keys().next() else {
            return false;
        };
        self.abort(checkpoint_id);
        if self.is_up() && self.restarts.is_empty() && !self.plan.restart_tolerates_expiry && !self.healed {
            return self.fail_globally();
        }
        true
    }

    fn fail_task(&mut self) -> bool {
        let Some(index) = self.some_task() else {
            return false;
        };
        let early = self.plan.acknowledges_early;
        let loses = self.random.percent(if early { 90 } else { 40 });
        let task = self.task_at(index);
        if !task.is_alive() {
            return false;
        }
        if loses {
            task.outbox.clear();
        }
        task.die();
        self.note(|_| format!("task {index} dies, its messages with it: {loses}"));
        true
    }

    /// The job manager gives up a task that goes on.
    fn lose_sight(&mut self) -> bool {
        if self.tasks.is_empty() || self.plan.adaptive {
            return false;
        }
        let subtask = self.random.below(self.tasks.len());
        if matches!(self.tasks[subtask].view, View::Failed | View::Finished) {
            return false;
        }
        self.task_failed(subtask);
        true
    }

    fn crash(&mut self) -> bool {
        if !self.is_up() {
            return false;
        }
        self.begin_global(Restart::NewProcess);
        true
    }

    fn fail_globally(&mut self) -> bool {
        let global = |restart: &Restart| !matches!(restart, Restart::Region(_));
        if self.restarts.iter().any(global) {
            return false;
        }
        let restart = if self.plan.adaptive { Restart::NewCoordinator } else { Restart::Reset };
        self.begin_global(restart);
        true
    }

    fn user_resubmits(&mut self) -> bool {
        if !self.is_up() || self.jobs as usize >= self.plan.lives {
            return false;
        }
        let Some(target) = self.choose_target() else {
            return false;
        };
        self.resubmit(&target);
        true
    }
}

fn task_of<'a>(tasks: &'a mut [Task], zombies: &'a mut [Task], index: usize) -> &'a mut Task {
    let current = tasks.len();
    if index < current { &mut tasks[index] } else { &mut zombies[index - current] }
}
