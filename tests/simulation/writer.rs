//! One attempt of a writer task with its source: it does what `PaimonWriterOperator` and `WriterEntries` do, in that
//! order.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::command::Answer;
use paimon_writer_coordinator::wire::Entry;

use crate::messages::{Asked, Blocked, Element, Kind, Status, SubtaskState, ToManager, ToTask, View};
use crate::plan::Plan;
use crate::support::{MAX, chunks, encode_entry, encode_restore, end_entry, entry, piece};
use crate::truth::{Row, Truth};

const NONE: i64 = -1;

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) subtask: usize,
    pub(crate) attempt: i32,
    pub(crate) incarnation: u128,
    pub(crate) status: Status,
    pub(crate) view: View,
    /// An event of it was lost: Flink will fail it when the ask times out.
    pub(crate) doomed: bool,
    pub(crate) splits: BTreeMap<usize, u32>,
    open_rows: Vec<Row>,
    pub(crate) restored: Vec<Entry>,
    pub(crate) own: BTreeMap<i64, Entry>,
    pub(crate) unconfirmed: Vec<i64>,
    last_snapshot: i64,
    pub(crate) last_completed: i64,
    final_checkpoint_min: Option<i64>,
    sync_savepoint: Option<i64>,
    pub(crate) blocked: Option<Blocked>,
    pub(crate) asked: Option<Asked>,
    pub(crate) outbox: VecDeque<ToManager>,
    pub(crate) inbox: VecDeque<ToTask>,
    pub(crate) replies: VecDeque<(i64, Answer, i64)>,
    chunk_size: usize,
    parallelism: usize,
    acknowledges_early: bool,
}

/// What a task needs from the world around it.
pub(crate) struct Surroundings<'a> {
    pub(crate) truth: &'a mut Truth,
    pub(crate) next_request: &'a mut i64,
}

impl Task {
    pub(crate) fn new(
        subtask: usize,
        attempt: i32,
        incarnation: u128,
        parallelism: usize,
        plan: &Plan,
    ) -> Self {
        Self {
            subtask,
            attempt,
            incarnation,
            status: Status::Running,
            view: View::Deploying,
            doomed: false,
            splits: BTreeMap::new(),
            open_rows: Vec::new(),
            restored: Vec::new(),
            own: BTreeMap::new(),
            unconfirmed: Vec::new(),
            last_snapshot: NONE,
            last_completed: NONE,
            final_checkpoint_min: None,
            sync_savepoint: None,
            blocked: None,
            asked: None,
            outbox: VecDeque::from([ToManager::Initializing]),
            inbox: VecDeque::new(),
            replies: VecDeque::new(),
            chunk_size: plan.chunk_size,
            parallelism,
            acknowledges_early: plan.acknowledges_early,
        }
    }

    /// `initializeState` and the start of the source.
    pub(crate) fn initialize(&mut self, restored_checkpoint: Option<i64>, state: SubtaskState) {
        self.splits = state.splits.into_iter().collect();
        if let Some(checkpoint_id) = restored_checkpoint {
            let mut pieces = Vec::new();
            for element in state.elements {
                match element {
                    Element::Piece(piece) => pieces.push(piece),
                    Element::Entry(entry) => self.restored.push(entry),
                }
            }
            self.last_snapshot = checkpoint_id;
            let body = encode_restore(&pieces, &self.restored);
            self.send(2, checkpoint_id, &body);
        }
        self.outbox.push_back(ToManager::Running);
    }

    pub(crate) fn initialize_as_finished(&mut self) {
        self.status = Status::FinishedOnRestore;
        self.outbox.push_back(ToManager::Running);
    }

    /// Whether an event may get lost. Without a confirmation before the acknowledgement only one that Flink notices
    /// before the next checkpoint may: what was restored.
    pub(crate) fn may_be_lost(&self, event: &Bytes) -> bool {
        !self.acknowledges_early || is_restore(event)
    }

    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.status, Status::Dead | Status::Finished)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.status == Status::Running && self.blocked.is_none() && self.sync_savepoint.is_none()
    }

    pub(crate) fn die(&mut self) {
        if self.is_alive() {
            self.status = Status::Dead;
            self.outbox.push_back(ToManager::Failed);
        }
    }

    /// The source emits the next row of one of its splits.
    pub(crate) fn emit(&mut self, split: usize) -> u32 {
        let offset = self.splits.get_mut(&split).expect("its own split");
        self.open_rows.push((split, *offset));
        *offset += 1;
        *offset
    }

    fn send(&mut self, kind: u8, checkpoint_id: i64, body: &Bytes) {
        let events = chunks(kind, self.incarnation, self.attempt, checkpoint_id, body, self.chunk_size);
        self.outbox.extend(events.into_iter().map(ToManager::Event));
    }

    pub(crate) fn send_entry(&mut self, checkpoint_id: i64) {
        let body = encode_entry(&self.own[&checkpoint_id]);
        self.send(1, checkpoint_id, &body);
    }

    /// `prepareCommit`: everything written since the last one is in this entry.
    fn add_entry(&mut self, checkpoint_id: i64, truth: &mut Truth) {
        let rows = std::mem::take(&mut self.open_rows);
        let files = if rows.is_empty() { String::new() } else { truth.write_file(rows) };
        let made = if checkpoint_id == MAX {
            end_entry(self.incarnation, self.last_snapshot, &files)
        } else {
            entry(self.incarnation, checkpoint_id, &files)
        };
        self.own.insert(checkpoint_id, made);
        self.unconfirmed.push(checkpoint_id);
    }

    pub(crate) fn end_input(&mut self, truth: &mut Truth) {
        self.status = Status::Ended;
        self.add_entry(MAX, truth);
        self.send_entry(MAX);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.own.contains_key(&MAX)
    }

    /// Takes the next message of the job manager, or goes on with what it waits for; false if there is nothing to do.
    pub(crate) fn advance(&mut self, around: &mut Surroundings<'_>) -> bool {
        if self.status == Status::Finished {
            return self.decline();
        }
        if self.blocked.is_some() {
            return self.advance_blocked(around);
        }
        let Some(message) = self.inbox.pop_front() else {
            return false;
        };
        match message {
            ToTask::Trigger { checkpoint_id, kind } => self.snapshot(checkpoint_id, kind, around.truth),
            ToTask::Complete(checkpoint_id) => self.checkpoint_complete(checkpoint_id),
            ToTask::Aborted(checkpoint_id) => {
                if self.sync_savepoint == Some(checkpoint_id) {
                    self.die();
                }
            }
        }
        true
    }

    fn snapshot(&mut self, checkpoint_id: i64, kind: Kind, truth: &mut Truth) {
        if matches!(self.status, Status::Ended | Status::FinishedOnRestore) {
            self.final_checkpoint_min.get_or_insert(checkpoint_id);
        }
        if matches!(kind, Kind::Stop { .. }) {
            self.sync_savepoint = Some(checkpoint_id);
        }
        if self.status == Status::FinishedOnRestore {
            self.outbox.push_back(ToManager::Acknowledge { checkpoint_id, state: None });
            return;
        }
        if kind == (Kind::Stop { drain: true }) && self.status == Status::Running {
            self.end_input(truth);
        }
        if self.status == Status::Running {
            self.add_entry(checkpoint_id, truth);
        }
        if kind != Kind::Checkpoint {
            if !self.own.contains_key(&checkpoint_id) {
                self.add_entry(checkpoint_id, truth);
            }
            if let Some(entry) = self.own.get_mut(&checkpoint_id) {
                entry.savepoint = true;
            }
        }
        let own_piece = piece(self.incarnation, self.parallelism as i32, self.has_ended());
        let entries = self.restored.iter().chain(self.own.values()).cloned().map(Element::Entry);
        let elements = std::iter::once(Element::Piece(own_piece)).chain(entries).collect();
        let state = SubtaskState { elements, splits: self.splits.iter().map(|(&s, &o)| (s, o)).collect() };
        for id in self.unconfirmed.clone() {
            if id != MAX {
                self.send_entry(id);
            }
        }
        if self.acknowledges_early {
            self.unconfirmed.clear();
            self.last_snapshot = checkpoint_id;
            self.outbox.push_front(ToManager::Acknowledge { checkpoint_id, state: Some(state) });
            return;
        }
        self.blocked =
            Some(Blocked::Confirm { checkpoint_id, position: 0, committed_through: i64::MIN, state });
        self.hand_over_if_confirmed();
    }

    fn checkpoint_complete(&mut self, checkpoint_id: i64) {
        self.last_completed = self.last_completed.max(checkpoint_id);
        let may_end = match self.sync_savepoint {
            Some(savepoint) => savepoint == checkpoint_id,
            None => self.final_checkpoint_min.is_some_and(|least| least <= checkpoint_id),
        };
        if !may_end {
            return;
        }
        if self.status == Status::FinishedOnRestore {
            self.finish();
        } else {
            self.blocked = Some(Blocked::Finish);
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.doomed && self.acknowledges_early {
            // It may not end before Flink has noticed the loss: see `may_be_lost`.
            return self.die();
        }
        self.status = Status::Finished;
        self.outbox.push_back(ToManager::Finished);
    }

    pub(crate) fn hand_over_if_confirmed(&mut self) {
        match self.blocked.take() {
            Some(Blocked::Confirm { checkpoint_id, position, committed_through, state })
                if position == self.unconfirmed.len() =>
            {
                self.unconfirmed.clear();
                self.last_snapshot = checkpoint_id;
                let is_kept =
                    |entry: &Entry| entry.checkpoint_id == MAX || entry.checkpoint_id > committed_through;
                self.restored.retain(is_kept);
                self.own.retain(|_, entry| is_kept(entry));
                self.outbox.push_back(ToManager::Acknowledge { checkpoint_id, state: Some(state) });
            }
            other => self.blocked = other,
        }
    }
}

/// Whether it is a chunk of a restore event; only entries are ever sent twice.
pub(crate) fn is_restore(event: &Bytes) -> bool {
    event[5] == 2
}
