//! What fails, and how it goes on.

use paimon_writer_coordinator::coordinator::event::Event;

use super::action::Fate;
use super::checkpoints::{Checkpoint, Share, Status};
use super::task::{Given, Stage, Task};
use super::{Committer, World, settings};
use crate::machine::Machine;
use crate::rows::{Lane, Piece, Written};
use crate::told::Told;

impl World {
    pub(super) fn fail(&mut self, subtask: usize) {
        let from = self.attempt(subtask);
        let task = &mut self.job.tasks[subtask];
        task.stage = Stage::Failed;
        // What was under way is lost with the attempt (1.1).
        task.undelivered.clear();
        task.asking = false;
        let event = Event::AttemptFailed { subtask: subtask as i32, attempt: from.attempt };
        self.tell(Told::Failed(from), event);
    }

    /// The subtask alone goes back to the newest completed checkpoint.
    pub(super) fn reset(&mut self, subtask: usize) {
        self.abort_pending();
        let restored = self.newest_completed().cloned();
        let checkpoint = restored.as_ref().map_or(-1, |checkpoint| checkpoint.id);
        for later in self.job.checkpoints.iter_mut().filter(|later| later.id > checkpoint) {
            later.taken_apart = true;
        }
        let parallelism = self.parallelism();
        let attempt = self.job.tasks[subtask].attempt + 1;
        self.job.next_attempt = self.job.next_attempt.max(attempt + 1);
        let mut task = self.deploy(restored.as_ref(), parallelism).swap_remove(subtask);
        let writer = Task::attempt(subtask, attempt).writer;
        (task.attempt, task.writer) = (attempt, writer);
        self.job.tasks[subtask] = task;
        let event = Event::SubtaskReset { subtask: subtask as i32, checkpoint_id: checkpoint };
        self.tell(Told::Reset { subtask, checkpoint }, event);
    }

    /// Attempts of all subtasks, with what they are given.
    fn deploy(&self, restored: Option<&Checkpoint>, parallelism: usize) -> Vec<Task> {
        let attempt = self.job.next_attempt;
        let lane_count = self.scope.parallelism.max(self.scope.other_parallelism);
        let barrier = self.job.next_checkpoint - 1;
        let task = |subtask: usize| {
            let mut task = Task::new(subtask, parallelism, lane_count);
            let fresh = Task::attempt(subtask, attempt);
            (task.attempt, task.writer) = (fresh.attempt, fresh.writer);
            if let Some(checkpoint) = restored {
                let given = given(checkpoint, subtask, parallelism);
                task.last_snapshot = checkpoint.id;
                task.lanes = lanes(checkpoint, subtask, parallelism);
                task.restored = given.entries.clone();
                task.given = Some(given);
            }
            // Barriers of earlier checkpoints are for earlier attempts.
            task.barrier = barrier;
            task
        };
        (0..parallelism).map(task).collect()
    }

    /// Everything is lost but the table and the newest completed checkpoint.
    pub(super) fn crash(&mut self, fate: Fate, parallelism: usize) {
        self.end_coordinator(fate);
        self.abort_pending();
        let restored = self.newest_completed().cloned();
        self.start_again(restored, parallelism);
    }

    /// A user starts the job again from an old checkpoint, whose id counts on from there.
    pub(super) fn go_back(&mut self, id: i64) {
        self.end_coordinator(Fate::Lost);
        self.job.checkpoints.retain(|checkpoint| checkpoint.id == id);
        let base = self.job.checkpoints.first_mut().expect("a completed checkpoint");
        base.savepoint = false;
        base.stop = false;
        base.told = true;
        for lane in base.shares.iter_mut().flatten().flat_map(|share| &mut share.lanes) {
            lane.exhausted = false;
        }
        let restored = base.clone();
        self.job.next_checkpoint = id + 1;
        self.job.branch += 1;
        self.start_again(Some(restored), self.parallelism());
    }

    fn end_coordinator(&mut self, fate: Fate) {
        for task in &mut self.job.tasks {
            task.stage = Stage::Failed;
        }
        let commit = self.machine.commit.take().filter(|_| self.job.committer == Committer::Busy);
        self.job.committer = Committer::Idle;
        match (fate, commit) {
            (Fate::Lands, Some(commit)) => self.land_in_table(&commit),
            (Fate::Late, Some(commit)) => self.ghost = Some(commit),
            (Fate::Lands | Fate::Late | Fate::Lost, _) => {}
        }
        self.job.opening = None;
        self.tell(Told::Close, Event::Close);
    }

    fn start_again(&mut self, restored: Option<Checkpoint>, parallelism: usize) {
        self.job.tasks = self.deploy(restored.as_ref(), parallelism);
        self.job.next_attempt += 1;
        self.machine = Machine::new(settings(self.scope, parallelism));
        self.job.checkpoints.retain(|checkpoint| checkpoint.status == Status::Completed);
        for checkpoint in &mut self.job.checkpoints {
            checkpoint.told |= Some(checkpoint.id) < restored.as_ref().map(|restored| restored.id);
        }
        self.begin(restored.map(|checkpoint| {
            let bytes = checkpoint.bytes.clone().filter(|_| !checkpoint.had_all_finished());
            (checkpoint.id, bytes)
        }));
    }
}

/// A subtask's operator state: its own if the parallelism is the same, else an even part of everybody's.
fn given(checkpoint: &Checkpoint, subtask: usize, parallelism: usize) -> Given {
    enum Element {
        Piece(Piece),
        Entry(Written),
    }
    let elements = |share: &Share| -> Vec<Element> {
        let part = share.part.iter();
        part.flat_map(|part| {
            let entries = part.entries.iter().cloned().map(Element::Entry);
            [Element::Piece(part.piece)].into_iter().chain(entries).collect::<Vec<_>>()
        })
        .collect()
    };
    let shares: Vec<&Share> = checkpoint.shares.iter().flatten().collect();
    let own: Vec<Element> = if shares.len() == parallelism {
        elements(shares[subtask])
    } else {
        let all: Vec<Element> = shares.into_iter().flat_map(elements).collect();
        let (from, to) = (all.len() * subtask / parallelism, all.len() * (subtask + 1) / parallelism);
        all.into_iter().skip(from).take(to - from).collect()
    };
    let mut given = Given {
        checkpoint: checkpoint.id,
        pieces: Vec::new(),
        entries: Vec::new(),
        finished: checkpoint.had_all_finished(),
    };
    for element in own {
        match element {
            Element::Piece(piece) => given.pieces.push(piece),
            Element::Entry(entry) => given.entries.push(entry),
        }
    }
    given
}

/// The lanes that a subtask reads on.
fn lanes(checkpoint: &Checkpoint, subtask: usize, parallelism: usize) -> Vec<Lane> {
    let all = checkpoint.shares.iter().flatten().flat_map(|share| share.lanes.clone());
    all.filter(|lane| lane.lane as usize % parallelism == subtask).collect()
}
