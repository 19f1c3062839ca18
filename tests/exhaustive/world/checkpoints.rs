//! Flink's checkpoints: triggered, acknowledged, completed or given up, and told of or not.

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::event::Event;

use super::World;
use super::task::{Part, Stage};
use crate::rows::Lane;
use crate::told::Told;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Completed,
    Aborted,
}

/// What a subtask contributed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Share {
    /// None for a subtask that had finished before the trigger.
    pub part: Option<Part>,
    pub lanes: Vec<Lane>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    pub id: i64,
    /// A savepoint; one that stops the job is notified like a checkpoint.
    pub savepoint: bool,
    pub stop: bool,
    /// A savepoint behind which a region went back.
    pub taken_apart: bool,
    pub status: Status,
    /// Whether the coordinator was told of its end.
    pub told: bool,
    /// The coordinator's part, once it has answered.
    pub bytes: Option<Bytes>,
    pub shares: Vec<Option<Share>>,
}

impl Checkpoint {
    pub fn is_notified(&self) -> bool {
        !self.savepoint || self.stop
    }

    /// The coordinator and all writers have contributed.
    pub fn is_whole(&self) -> bool {
        self.bytes.is_some() && self.shares.iter().all(Option::is_some)
    }

    /// Every subtask had finished before: Flink keeps nothing of the vertex.
    pub fn had_all_finished(&self) -> bool {
        self.shares.iter().flatten().all(|share| share.part.is_none())
    }
}

impl World {
    pub fn pending(&self) -> impl Iterator<Item = &Checkpoint> {
        self.job.checkpoints.iter().filter(|checkpoint| checkpoint.status == Status::Pending)
    }

    /// What a failover restores.
    pub fn newest_completed(&self) -> Option<&Checkpoint> {
        let candidates = self.job.checkpoints.iter().rev();
        candidates
            .into_iter()
            .find(|checkpoint| checkpoint.status == Status::Completed && !checkpoint.savepoint)
    }

    /// Completed checkpoints from which a user may start the job again.
    ///
    /// Not a savepoint that a region failover took apart while what is left of it is the newest snapshot in the table: it
    /// has the savepoint's identifier and not all of its rows, and no coordinator could tell.
    pub(super) fn may_go_back_to(&self) -> impl Iterator<Item = i64> {
        let newest = self.table.snapshots.last().map(|snapshot| snapshot.identifier);
        let completed =
            self.job.checkpoints.iter().filter(|checkpoint| checkpoint.status == Status::Completed);
        let whole =
            completed.filter(move |checkpoint| !checkpoint.taken_apart || Some(checkpoint.id) != newest);
        whole.map(|checkpoint| checkpoint.id)
    }

    fn find(&mut self, id: i64) -> &mut Checkpoint {
        self.job.checkpoints.iter_mut().find(|checkpoint| checkpoint.id == id).expect("a known checkpoint")
    }

    pub(super) fn kind_of(&self, id: i64) -> (bool, bool) {
        let found = self.job.checkpoints.iter().find(|checkpoint| checkpoint.id == id);
        found.map_or((false, false), |checkpoint| (checkpoint.savepoint, checkpoint.stop))
    }

    /// A savepoint that stops the job is under way, or has completed.
    pub fn has_stopped(&self) -> bool {
        self.job.checkpoints.iter().any(|checkpoint| checkpoint.stop && checkpoint.status != Status::Aborted)
    }

    /// The savepoint that stopped the job, once it has completed.
    pub(super) fn stopped_at(&self) -> Option<i64> {
        let mut stops = self.job.checkpoints.iter().filter(|checkpoint| checkpoint.stop);
        stops.find(|checkpoint| checkpoint.status == Status::Completed).map(|checkpoint| checkpoint.id)
    }

    /// Every task runs or has finished, and the last trigger is through.
    pub fn may_trigger(&self) -> bool {
        let tasks = &self.job.tasks;
        let ready = |stage: Stage| matches!(stage, Stage::Running | Stage::Finished | Stage::FinishedAgain);
        tasks.iter().all(|task| ready(task.stage))
            && self.pending().all(|checkpoint| checkpoint.bytes.is_some())
            && !self.has_stopped()
    }

    pub(super) fn trigger(&mut self, savepoint: bool, stop: bool) {
        let id = self.job.next_checkpoint;
        self.job.next_checkpoint += 1;
        let had_finished = |stage: Stage| matches!(stage, Stage::Finished | Stage::FinishedAgain);
        let share = |task: &super::task::Task| {
            had_finished(task.stage).then(|| Share { part: None, lanes: task.lanes.clone() })
        };
        self.job.checkpoints.push(Checkpoint {
            id,
            savepoint,
            stop,
            taken_apart: false,
            status: Status::Pending,
            told: false,
            bytes: None,
            shares: self.job.tasks.iter().map(share).collect(),
        });
        let effects = self.machine.checkpoint(id);
        self.follow(effects);
        self.complete_if_whole(id);
    }

    /// The coordinator has answered.
    pub(super) fn part_completed(&mut self, id: i64, bytes: Option<Bytes>) {
        let checkpoint = self.find(id);
        match bytes {
            Some(bytes) => {
                assert_eq!(checkpoint.bytes, None, "the future of checkpoint {id} is completed once");
                checkpoint.bytes = Some(bytes);
                self.complete_if_whole(id);
            }
            None => {
                assert_eq!(checkpoint.bytes, None, "the future of checkpoint {id} is completed once");
                checkpoint.status = Status::Aborted;
            }
        }
    }

    /// The checkpoint whose barrier this subtask handles next.
    pub(super) fn next_barrier(&self, subtask: usize) -> Option<i64> {
        let task = &self.job.tasks[subtask];
        let next = self.pending().find(|checkpoint| checkpoint.id > task.barrier)?;
        (next.bytes.is_some() && !task.stopped).then_some(next.id)
    }

    /// The barrier of an aborted checkpoint that may still be under way to this subtask.
    pub(super) fn late_barrier(&self, subtask: usize) -> Option<i64> {
        let task = &self.job.tasks[subtask];
        let mut aborted =
            self.job.checkpoints.iter().filter(|checkpoint| checkpoint.status == Status::Aborted);
        let late = aborted.find(|checkpoint| checkpoint.id > task.barrier && checkpoint.bytes.is_some())?;
        let in_order = self.next_barrier(subtask).is_none_or(|next| late.id < next);
        (in_order && !late.stop && !task.stopped).then_some(late.id)
    }

    pub(super) fn acknowledge(&mut self, subtask: usize, id: i64, part: Part) {
        let lanes = self.job.tasks[subtask].lanes.clone();
        self.find(id).shares[subtask] = Some(Share { part: Some(part), lanes });
        self.complete_if_whole(id);
    }

    fn complete_if_whole(&mut self, id: i64) {
        let checkpoint = self.find(id);
        if checkpoint.status == Status::Pending && checkpoint.is_whole() && !self.scope.completes_slowly {
            self.complete(id);
        }
    }

    pub(super) fn complete(&mut self, id: i64) {
        let checkpoint = self.find(id);
        checkpoint.status = Status::Completed;
        let (savepoint, stop) = (checkpoint.savepoint, checkpoint.stop);
        let lanes = checkpoint.shares.iter().flatten().flat_map(|share| share.lanes.clone());
        let rows: Vec<_> = lanes.flat_map(|lane| lane.read).collect();
        self.job.durable.extend(rows);
        if savepoint && !stop {
            return;
        }
        for subsumed in self.job.checkpoints.iter_mut().filter(|other| other.id < id && !other.savepoint) {
            if subsumed.status == Status::Pending {
                subsumed.status = Status::Aborted;
            }
        }
        for task in self.job.tasks.iter_mut().filter(|task| task.stage == Stage::Running) {
            if task.barrier >= id {
                task.completed = id;
            }
        }
        self.forget_checkpoints();
    }

    /// Keeps what can still matter, so that states stay few.
    fn forget_checkpoints(&mut self) {
        let newest = self.newest_completed().map(|checkpoint| checkpoint.id);
        let goes_back = self.scope.limits.going_back > 0;
        let barriers: Vec<i64> = self.job.tasks.iter().map(|task| task.barrier).collect();
        self.job.checkpoints.retain(|checkpoint| match checkpoint.status {
            Status::Pending => true,
            Status::Completed => {
                checkpoint.stop
                    || Some(checkpoint.id) == newest
                    || goes_back
                    || !checkpoint.told && checkpoint.is_notified()
            }
            Status::Aborted => !checkpoint.told || barriers.iter().any(|&barrier| barrier < checkpoint.id),
        });
    }

    pub(super) fn abort(&mut self, id: i64) {
        let checkpoint = self.find(id);
        checkpoint.status = Status::Aborted;
        checkpoint.told = true;
        self.tell(Told::Aborted(id), Event::CheckpointAborted { checkpoint_id: id });
        self.forget_checkpoints();
    }

    pub(super) fn abort_pending(&mut self) {
        for checkpoint in &mut self.job.checkpoints {
            if checkpoint.status == Status::Pending {
                checkpoint.status = Status::Aborted;
            }
        }
    }

    /// A checkpoint whose barrier a task has not seen cannot complete once that task has finished. A stop that cannot
    /// complete fails the tasks that have stopped for it (4.6).
    pub(super) fn give_up_what_cannot_complete(&mut self) {
        let finished: Vec<bool> = self.job.tasks.iter().map(|task| task.stage == Stage::Finished).collect();
        for checkpoint in &mut self.job.checkpoints {
            let unseen =
                checkpoint.shares.iter().zip(&finished).any(|(share, &finished)| finished && share.is_none());
            if checkpoint.status == Status::Pending && unseen {
                checkpoint.status = Status::Aborted;
            }
        }
        for subtask in 0..self.parallelism() {
            let task = &self.job.tasks[subtask];
            if task.stopped && task.stage == Stage::Running && !self.has_stopped() {
                self.fail(subtask);
            }
        }
    }

    pub(super) fn done(&mut self, id: i64) {
        self.find(id).told = true;
        self.tell(Told::Done(id), Event::CheckpointComplete { checkpoint_id: id });
        self.forget_checkpoints();
    }
}
