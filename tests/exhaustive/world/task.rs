//! A writer's task: what it has read, what it holds, and what it does at barriers and at its end.

use paimon_writer_coordinator::coordinator::command::{Answer, RequestId, Timer};
use paimon_writer_coordinator::wire::END_OF_INPUT;

use super::World;
use crate::rows::{Lane, Piece, Written};
use crate::told::{Question, Told};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Not announced yet.
    Deployed,
    /// Announced, and about to report what it restored.
    Restoring,
    Running,
    /// Failed or cancelled, and not reset yet.
    Failed,
    Finished,
    /// Restored as finished: its operators are never run (4.2).
    FinishedAgain,
}

/// What an attempt is given when it is restored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Given {
    pub checkpoint: i64,
    pub pieces: Vec<Piece>,
    pub entries: Vec<Written>,
    /// The whole vertex had finished.
    pub finished: bool,
}

/// What a writer's part of a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Part {
    pub piece: Piece,
    pub entries: Vec<Written>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Task {
    pub stage: Stage,
    pub attempt: i32,
    pub writer: u128,
    pub given: Option<Given>,
    pub lanes: Vec<Lane>,
    /// Entries of former writers, kept under their own keys.
    pub restored: Vec<Written>,
    pub own: Vec<Written>,
    pub unconfirmed: Vec<i64>,
    /// Reports that are under way, in a scope with slow reports.
    pub undelivered: Vec<Written>,
    pub last_report: Option<Written>,
    pub last_snapshot: i64,
    /// The newest checkpoint whose barrier it handled.
    pub barrier: i64,
    /// The newest completed checkpoint that this attempt took part in, and was told of.
    pub completed: i64,
    pub stopped: bool,
    pub asking: bool,
    pub confirming: bool,
}

/// The names of a subtask's requests: at most one of each kind is open.
pub fn finish_request(subtask: usize) -> i64 {
    subtask as i64 + 1
}

fn confirm_request(subtask: usize) -> i64 {
    subtask as i64 + 101
}

impl Task {
    /// The first attempt of a job that starts without state; it reads its share of the source's lanes.
    pub fn new(subtask: usize, parallelism: usize, lanes: usize) -> Self {
        let lanes = (0..lanes).filter(|lane| lane % parallelism == subtask);
        Self { lanes: lanes.map(|lane| Lane::new(lane as u8)).collect(), ..Self::attempt(subtask, 0) }
    }

    /// A new attempt, which has been given nothing yet.
    pub fn attempt(subtask: usize, attempt: i32) -> Self {
        Self {
            stage: Stage::Deployed,
            attempt,
            // Every attempt draws a name of its own.
            writer: attempt as u128 * 10 + subtask as u128 + 1,
            given: None,
            lanes: Vec::new(),
            restored: Vec::new(),
            own: Vec::new(),
            unconfirmed: Vec::new(),
            undelivered: Vec::new(),
            last_report: None,
            last_snapshot: -1,
            barrier: -1,
            completed: -1,
            stopped: false,
            asking: false,
            confirming: false,
        }
    }

    pub fn end(&self) -> Option<&Written> {
        self.own.iter().find(|entry| entry.is_end())
    }

    pub fn has_ended(&self) -> bool {
        self.end().is_some()
    }
}

impl World {
    /// The attempt is announced, and reports what it restored.
    pub(super) fn recover(&mut self, subtask: usize) {
        let from = self.attempt(subtask);
        if self.job.tasks[subtask].stage == Stage::Deployed {
            let (subtask_id, attempt) = (subtask as i32, from.attempt);
            self.tell(
                Told::Ready(from),
                paimon_writer_coordinator::coordinator::event::Event::AttemptReady {
                    subtask: subtask_id,
                    attempt,
                },
            );
            let task = &mut self.job.tasks[subtask];
            task.stage = match &task.given {
                None => Stage::Running,
                Some(given) if given.finished => Stage::FinishedAgain,
                Some(_) => Stage::Restoring,
            };
            if self.scope.recovers_slowly {
                return;
            }
        }
        if self.job.tasks[subtask].stage == Stage::Restoring {
            let task = &mut self.job.tasks[subtask];
            task.stage = Stage::Running;
            let writer = task.writer;
            let Given { checkpoint, pieces, entries, .. } = task.given.clone().expect("it is being restored");
            let told = Told::Restore { from, checkpoint, pieces, entries };
            let effects = self.machine.restore(from, writer, told);
            self.follow(effects);
        }
    }

    /// Makes an entry of what was read.
    fn write(&mut self, subtask: usize, checkpoint: i64) -> Written {
        let branch = self.job.branch;
        let silent = self.scope.sparse && (checkpoint % 2 + subtask as i64) % 2 == 0;
        let task = &mut self.job.tasks[subtask];
        let mut rows = Vec::new();
        if !silent {
            rows.extend(task.lanes.iter_mut().filter_map(|lane| lane.read(branch)));
        }
        let read: usize = task.lanes.iter().map(|lane| lane.read.len()).sum();
        let end = checkpoint == END_OF_INPUT;
        let entry = Written {
            checkpoint,
            writer: task.writer,
            ended_after: if end { task.last_snapshot } else { i64::MIN },
            watermark: 10 * read as i64 + subtask as i64,
            savepoint: false,
            rows,
        };
        task.own.push(entry.clone());
        task.unconfirmed.push(checkpoint);
        entry
    }

    pub(super) fn end_input(&mut self, subtask: usize, heard: bool) {
        let entry = self.write(subtask, END_OF_INPUT);
        self.job.tasks[subtask].lanes.iter_mut().for_each(|lane| lane.exhausted = true);
        if heard {
            self.report(subtask, entry);
        }
    }

    /// The report is on its way, and arrives at once unless the scope says otherwise.
    fn report(&mut self, subtask: usize, entry: Written) {
        self.job.tasks[subtask].undelivered.push(entry);
        if !self.scope.reports_slowly {
            self.deliver(subtask);
        }
    }

    pub(super) fn deliver(&mut self, subtask: usize) {
        let entry = self.job.tasks[subtask].undelivered.remove(0);
        if self.scope.limits.repeats > 0 {
            self.job.tasks[subtask].last_report = Some(entry.clone());
        }
        let effects = self.machine.report(self.attempt(subtask), &entry);
        self.follow(effects);
    }

    /// The barrier of a checkpoint: an entry, its confirmation, the writer's state.
    pub(super) fn barrier(&mut self, subtask: usize, checkpoint: i64) {
        let (savepoint, stop) = self.kind_of(checkpoint);
        let mut entry = None;
        if !self.job.tasks[subtask].has_ended() || savepoint {
            entry = Some(self.write(subtask, checkpoint));
        }
        if let Some(mut entry) = entry {
            entry.savepoint = savepoint;
            let last = self.job.tasks[subtask].own.last_mut().expect("just written");
            last.savepoint = savepoint;
            self.report(subtask, entry);
        }
        let parallelism = self.parallelism();
        let task = &mut self.job.tasks[subtask];
        task.barrier = checkpoint;
        task.stopped = stop;
        let piece = Piece { writer: task.writer, parallelism, ended: task.has_ended() };
        let entries = task.restored.iter().chain(&task.own).cloned().collect();
        task.last_snapshot = checkpoint;
        if !self.scope.reports_slowly {
            self.confirm(subtask);
        }
        if self.job.tasks[subtask].stage == Stage::Running && !self.machine.failed {
            self.acknowledge(subtask, checkpoint, Part { piece, entries });
        }
    }

    /// Asks for every entry that is not confirmed, and sends again what the coordinator does not hold.
    fn confirm(&mut self, subtask: usize) {
        let unconfirmed = std::mem::take(&mut self.job.tasks[subtask].unconfirmed);
        for checkpoint in unconfirmed {
            let task = &self.job.tasks[subtask];
            let entry = task.own.iter().find(|entry| entry.checkpoint == checkpoint);
            let entry = entry.expect("an unconfirmed entry is kept").clone();
            self.job.tasks[subtask].confirming = true;
            self.ask(confirm_request(subtask), subtask, Question::Confirm(entry.clone()));
            if self.job.tasks[subtask].confirming && !self.machine.failed {
                self.fire(Timer::HeldRequest(RequestId(confirm_request(subtask))));
                self.report(subtask, entry.clone());
                self.ask(confirm_request(subtask), subtask, Question::Confirm(entry));
            }
            let confirmed = !self.job.tasks[subtask].confirming || self.machine.failed;
            assert!(confirmed, "subtask {subtask} has no confirmation for checkpoint {checkpoint}");
        }
    }

    pub(super) fn ask(&mut self, request: i64, subtask: usize, question: Question) {
        let writer = self.job.tasks[subtask].writer;
        let effects = self.machine.ask(request, self.attempt(subtask), writer, question);
        self.follow(effects);
    }

    /// The task asks whether it may finish, and sends its end of input again if it must.
    pub(super) fn ask_to_finish(&mut self, subtask: usize) {
        let task = &mut self.job.tasks[subtask];
        task.asking = true;
        let completed = task.completed;
        let Some(end) = task.end().cloned() else {
            return self.ask(finish_request(subtask), subtask, Question::MayClose { completed });
        };
        let question = Question::MayFinish { completed, end };
        self.ask(finish_request(subtask), subtask, question.clone());
        if !self.scope.reports_slowly && !self.job.tasks[subtask].undelivered.is_empty() {
            self.deliver(subtask);
            self.job.tasks[subtask].asking = true;
            self.ask(finish_request(subtask), subtask, question);
        }
    }

    /// Whether the task would end now: a checkpoint that it took part in after its end has completed.
    pub(super) fn may_ask(&self, subtask: usize) -> bool {
        let task = &self.job.tasks[subtask];
        let ended = task.end().is_some_and(|end| task.completed > end.ended_after);
        let stopped = task.stopped && task.completed == task.barrier;
        task.stage == Stage::Running && !task.asking && (ended || stopped)
    }

    pub(super) fn answered(&mut self, request: i64, answer: Answer, committed_through: i64) {
        let parallelism = self.parallelism();
        let subtask = (request - 1) as usize % 100;
        let confirms = request > 100;
        assert!(subtask < parallelism, "an answer to request {request}");
        let task = &mut self.job.tasks[subtask];
        match answer {
            Answer::Held => {
                task.confirming = false;
                let keeps = |entry: &Written| entry.is_end() || entry.checkpoint > committed_through;
                task.restored.retain(keeps);
                task.own.retain(keeps);
            }
            Answer::Go => {
                task.asking = false;
                task.stage = Stage::Finished;
            }
            // A confirmation is asked for again at once; see there.
            Answer::Resend if confirms => {}
            Answer::Resend => {
                task.asking = false;
                let end = task.end().cloned().expect("only an end of input is asked for again");
                if !task.undelivered.contains(&end) {
                    task.undelivered.push(end);
                }
            }
            Answer::Rejected if confirms => task.confirming = false,
            Answer::Wait | Answer::Rejected => task.asking = false,
            Answer::GoUnused => panic!("with checkpoints no files are called unused"),
        }
    }
}
