//! A coordinator's life as the input dictates it: calls in any order, messages whole, in chunks, stale or foreign, outcomes
//! and timers early, late or never, restarts from its own bytes and from damaged ones with a right checksum.
//!
//! Flink calls in a far narrower order. What must hold here holds whatever it does: no panic, no arithmetic overflow, every
//! future and every request answered once and only while it waits, one commit at a time, the job failed at most once.

use std::collections::BTreeSet;

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::Coordinator;
use paimon_writer_coordinator::coordinator::command::{
    Command, Commit, CommitId, FutureId, RequestId, Timer,
};
use paimon_writer_coordinator::coordinator::event::{Event, Failure, FailureClass};
use paimon_writer_coordinator::settings::Settings;
use paimon_writer_coordinator::snapshot;
use paimon_writer_coordinator::wire::{END_OF_INPUT, Entry, Incarnation, Piece};

use crate::support::{chunks, encode_entry, encode_request, encode_restore, settings};
use crate::targets::framed;

/// The input, read as choices; what is beyond its end is zero.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let (&first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        first
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Mostly small, so that choices meet; sometimes where arithmetic ends.
    fn number(&mut self) -> i64 {
        match self.byte() {
            248 => -1,
            249 => END_OF_INPUT,
            250 => END_OF_INPUT - 1,
            251 => i64::MIN,
            252 => i64::from(i32::MAX),
            253 => i64::from(u32::MAX),
            254 => -2,
            255 => i64::MIN + 1,
            small => i64::from(small % 8),
        }
    }

    fn subtask(&mut self) -> i32 {
        match self.byte() {
            255 => -1,
            254 => i32::MAX,
            small => i32::from(small % 4),
        }
    }

    fn attempt(&mut self) -> i32 {
        i32::from(self.byte() % 3)
    }

    fn incarnation(&mut self) -> Incarnation {
        Incarnation(u128::from(self.byte() % 6))
    }

    fn entry(&mut self) -> Entry {
        let end = self.byte() % 4 == 0;
        Entry {
            checkpoint_id: if end { END_OF_INPUT } else { self.number() },
            incarnation: self.incarnation(),
            ended_after: if end { self.number() } else { i64::MIN },
            watermark: self.number(),
            idle: self.flag(),
            savepoint: self.flag(),
            committable_count: i32::from(self.byte() % 3),
            serializer_version: 3,
            payload: Bytes::copy_from_slice(self.bytes()),
        }
    }

    fn piece(&mut self) -> Piece {
        let incarnation = self.incarnation();
        Piece { incarnation, parallelism: i32::from(self.byte() % 4), ended: self.flag() }
    }
}

/// The coordinator and what it owes.
struct World {
    settings: Settings,
    coordinator: Coordinator,
    last_id: i64,
    futures: BTreeSet<FutureId>,
    requests: BTreeSet<RequestId>,
    timers: BTreeSet<Timer>,
    commit: Option<CommitId>,
    state: Vec<u8>,
    failed: bool,
}

/// Lives through the whole input.
pub fn live(input: &[u8]) {
    let mut choices = Choices(input);
    let parallelism = u32::from(choices.byte() % 3) + 1;
    let settings = Settings { checkpointing_enabled: choices.flag(), ..settings(parallelism) };
    let coordinator = Coordinator::new(settings.clone());
    let (futures, requests, timers) = Default::default();
    let mut world = World {
        settings,
        coordinator,
        last_id: 0,
        futures,
        requests,
        timers,
        commit: None,
        state: Vec::new(),
        failed: false,
    };
    while !choices.0.is_empty() {
        world.act(&mut choices);
    }
    world.end();
}

impl World {
    fn act(&mut self, choices: &mut Choices<'_>) {
        match choices.byte() % 20 {
            0 => self.restart(choices),
            1 => self
                .step(Event::CommitterOpened { latest_identifier: choices.flag().then(|| choices.number()) }),
            2 => self.step(Event::CommitterFailed(failure(choices))),
            3 | 4 => {
                self.step(Event::AttemptReady { subtask: choices.subtask(), attempt: choices.attempt() })
            }
            5 => self.step(Event::AttemptFailed { subtask: choices.subtask(), attempt: choices.attempt() }),
            6 => {
                self.step(Event::SubtaskReset { subtask: choices.subtask(), checkpoint_id: choices.number() })
            }
            7..=9 => self.report(choices),
            10 => self.restore(choices),
            11 | 12 => {
                let bytes = request(choices);
                self.ask(bytes);
            }
            13 => self.foreign(choices),
            14 => self.checkpoint(choices.number()),
            15 | 16 => self.step(Event::CheckpointComplete { checkpoint_id: choices.number() }),
            17 => self.step(Event::CheckpointAborted { checkpoint_id: choices.number() }),
            18 => self.outcome(choices),
            _ => self.fire(choices),
        }
    }

    fn step(&mut self, event: Event) {
        for command in self.coordinator.step(event) {
            self.take(command);
        }
        if self.failed {
            assert!(self.futures.is_empty() && self.requests.is_empty(), "a failed coordinator owes nothing");
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::OpenCommitter { .. } | Command::DeleteTag { .. } => {}
            Command::Commit(commit) => self.begin_commit(&commit),
            Command::CompleteCheckpoint { future, state } => {
                assert!(self.futures.remove(&future), "{future:?} is completed once");
                let read = snapshot::decode(&state).expect("its own bytes can be read");
                assert_eq!(snapshot::encode(&read).as_ref(), Ok(&state));
                self.state = state;
            }
            Command::FailCheckpoint { future, message } => {
                assert!(self.futures.remove(&future), "{future:?} is completed once");
                assert!(!message.is_empty());
            }
            Command::Answer { request, .. } => {
                assert!(self.requests.remove(&request), "{request:?} is answered once");
            }
            Command::SetTimer { timer, .. } => {
                self.timers.insert(timer);
            }
            Command::CancelTimer(timer) => {
                self.timers.remove(&timer);
            }
            Command::FailJob(error) => {
                assert!(!self.failed, "the job is failed once; now with {error}");
                self.failed = true;
            }
        }
    }

    fn begin_commit(&mut self, commit: &Commit) {
        let waiting = self.commit.replace(commit.commit);
        assert!(waiting.is_none_or(|waiting| waiting == commit.commit), "one commit at a time");
        assert_eq!(waiting.is_none(), commit.attempt == 1, "only a retry keeps the name");
        assert!(commit.entries.iter().all(|entry| entry.committable_count > 0));
        assert!(commit.entries.iter().all(|entry| entry.checkpoint_id == commit.identifier));
    }

    fn restart(&mut self, choices: &mut Choices<'_>) {
        self.end();
        self.coordinator = Coordinator::new(self.settings.clone());
        self.failed = false;
        let state = match choices.byte() % 4 {
            0 => None,
            1 => Some(self.state.clone()),
            2 => Some(damaged(&self.state, choices)),
            _ => Some(framed(choices.bytes())),
        };
        let restored_checkpoint_id = choices.flag().then(|| choices.number());
        let fresh_commit_user = format!("fresh-{}", self.last_id);
        self.step(Event::Begin {
            restored_checkpoint_id,
            state: state.filter(|state| !state.is_empty()).map(Bytes::from),
            fresh_commit_user,
        });
    }

    /// Closed, it owes nothing; that it fails nothing either shows in `take`.
    fn end(&mut self) {
        self.step(Event::Close);
        assert!(self.futures.is_empty() && self.requests.is_empty(), "a closed coordinator owes nothing");
        self.timers.clear();
        self.commit = None;
    }

    fn report(&mut self, choices: &mut Choices<'_>) {
        let (subtask, attempt) = (choices.subtask(), choices.attempt());
        let entry = choices.entry();
        self.send(
            1,
            subtask,
            attempt,
            entry.incarnation,
            entry.checkpoint_id,
            &encode_entry(&entry),
            choices,
        );
    }

    fn restore(&mut self, choices: &mut Choices<'_>) {
        let (subtask, attempt, checkpoint_id) = (choices.subtask(), choices.attempt(), choices.number());
        let incarnation = choices.incarnation();
        let pieces: Vec<Piece> = (0..choices.byte() % 4).map(|_| choices.piece()).collect();
        let entries: Vec<Entry> = (0..choices.byte() % 4).map(|_| choices.entry()).collect();
        let body = encode_restore(&pieces, &entries);
        self.send(2, subtask, attempt, incarnation, checkpoint_id, &body, choices);
    }

    #[expect(clippy::too_many_arguments, reason = "what an event says")]
    fn send(
        &mut self,
        kind: u8,
        subtask: i32,
        attempt: i32,
        incarnation: Incarnation,
        checkpoint_id: i64,
        body: &Bytes,
        choices: &mut Choices<'_>,
    ) {
        // An event of a checkpoint that cannot be would fail the job every time, and nothing else would be tried.
        let checkpoint_id = if checkpoint_id < 0 && choices.flag() { 1 } else { checkpoint_id };
        let shape = choices.byte();
        let chunk_size = if shape < 128 { 1 << 20 } else { usize::from(shape % 32) + 1 };
        let mut events = chunks(kind, incarnation.0, attempt, checkpoint_id, body, chunk_size);
        if shape % 16 == 0 {
            events.rotate_left(1);
        }
        for bytes in events {
            let attempt = if shape == 255 { attempt + 1 } else { attempt };
            self.step(Event::WriterEvent { subtask, attempt, bytes });
        }
    }

    /// Bytes that no writer of ours sent.
    fn foreign(&mut self, choices: &mut Choices<'_>) {
        let (subtask, attempt, as_request) = (choices.subtask(), choices.attempt(), choices.flag());
        let bytes = Bytes::copy_from_slice(choices.bytes());
        if as_request {
            self.ask(bytes);
        } else {
            self.step(Event::WriterEvent { subtask, attempt, bytes });
        }
    }

    fn ask(&mut self, bytes: Bytes) {
        self.last_id += 1;
        let request = RequestId(self.last_id);
        self.requests.insert(request);
        self.step(Event::Request { request, bytes });
    }

    fn checkpoint(&mut self, checkpoint_id: i64) {
        self.last_id += 1;
        let future = FutureId(self.last_id);
        self.futures.insert(future);
        self.step(Event::Checkpoint { checkpoint_id, future });
    }

    fn outcome(&mut self, choices: &mut Choices<'_>) {
        let Some(commit) = self.commit else {
            // The outcome of a commit that this coordinator never ordered.
            let event = Event::Committed {
                commit: CommitId(choices.number()),
                snapshot_id: None,
                committer_state: None,
            };
            return self.step(event);
        };
        let event = if choices.flag() {
            Event::CommitFailed { commit, failure: failure(choices) }
        } else {
            self.commit = None;
            let snapshot_id = choices.flag().then(|| choices.number());
            Event::Committed { commit, snapshot_id, committer_state: None }
        };
        self.step(event);
    }

    fn fire(&mut self, choices: &mut Choices<'_>) {
        let position = usize::from(choices.byte()) % self.timers.len().max(1);
        if let Some(timer) = self.timers.iter().nth(position).copied() {
            self.timers.remove(&timer);
            self.step(Event::TimerFired(timer));
        }
    }
}

fn failure(choices: &mut Choices<'_>) -> Failure {
    let class = match choices.byte() {
        0..=200 => FailureClass::Retryable,
        201..=230 => FailureClass::FailJob,
        231.. => FailureClass::Final,
    };
    Failure { class, message: "disk on fire".to_owned() }
}

fn request(choices: &mut Choices<'_>) -> Bytes {
    encode_request(
        choices.byte() % 2 + 1,
        choices.subtask(),
        choices.attempt(),
        choices.incarnation().0,
        choices.number(),
        choices.flag(),
        // The report of an entry as `Choices::entry` would make it, which may be one that was sent.
        &encode_entry(&choices.entry()),
    )
}

/// These bytes with one byte of their body changed, and the checksum as if they had been written so.
fn damaged(state: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut body = state.get(18..).unwrap_or_default().to_vec();
    let position = usize::from(choices.byte()) | usize::from(choices.byte() % 8) << 8;
    let value = choices.byte();
    let length = body.len().max(1);
    if let Some(byte) = body.get_mut(position % length) {
        *byte = value;
    }
    framed(&body)
}
