//! A job as the coordinator sees it, and a table that keeps what is committed: the scenario tests' world.
#![allow(dead_code, reason = "each test crate uses its own part")]

use std::collections::{BTreeMap, VecDeque};

use bytes::{BufMut, Bytes, BytesMut};
use paimon_writer_coordinator::coordinator::Coordinator;
use paimon_writer_coordinator::coordinator::command::{Answer, Command, Commit, FutureId, RequestId, Timer};
use paimon_writer_coordinator::coordinator::event::{Event, Failure, FailureClass};
use paimon_writer_coordinator::error::Error;
use paimon_writer_coordinator::settings::Settings;
use paimon_writer_coordinator::wire::{END_OF_INPUT, Entry, Incarnation, Piece};

pub const MAX: i64 = END_OF_INPUT;

pub fn settings(parallelism: u32) -> Settings {
    Settings {
        parallelism,
        max_due_commits: 3,
        checkpoint_hold_millis: 1_000,
        late_event_millis: 2_000,
        request_hold_millis: 500,
        commit_retries: 2,
        retry_initial_millis: 100,
        retry_max_millis: 150,
        checkpointing_enabled: true,
        end_input_watermark: None,
        commit_user: "user-0".to_owned(),
        table_name: "db.t".to_owned(),
        operator_name: "Writer : t".to_owned(),
    }
}

/// One snapshot of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub commit_user: String,
    pub identifier: i64,
    pub watermark: i64,
    pub files: Vec<String>,
    pub tagged: bool,
}

/// A Paimon table as `filterAndCommit` treats it: per commit user, identifiers only ascend.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub snapshots: Vec<Snapshot>,
    pub forces_empty_snapshots: bool,
}

impl Table {
    pub fn latest_identifier(&self, commit_user: &str) -> Option<i64> {
        let mine = self.snapshots.iter().filter(|snapshot| snapshot.commit_user == commit_user);
        mine.map(|snapshot| snapshot.identifier).next_back()
    }

    pub fn commit(&mut self, commit: &Commit) {
        let done = self.latest_identifier(&commit.commit_user) >= Some(commit.identifier);
        let forced = self.forces_empty_snapshots && commit.completed;
        if done || (commit.entries.is_empty() && !forced) {
            return;
        }
        self.snapshots.push(Snapshot {
            commit_user: commit.commit_user.clone(),
            identifier: commit.identifier,
            watermark: commit.watermark,
            files: files_of(commit),
            tagged: commit.savepoint,
        });
    }

    pub fn files(&self) -> Vec<String> {
        let files = self.snapshots.iter().flat_map(|snapshot| snapshot.files.clone());
        let mut files: Vec<String> = files.collect();
        files.sort();
        files
    }

    pub fn identifiers(&self) -> Vec<i64> {
        self.snapshots.iter().map(|snapshot| snapshot.identifier).collect()
    }

    pub fn delete_tag(&mut self, commit_user: &str, identifier: i64) {
        let is_it = |snapshot: &&mut Snapshot| {
            snapshot.commit_user == commit_user && snapshot.identifier == identifier
        };
        if let Some(snapshot) = self.snapshots.iter_mut().find(is_it) {
            snapshot.tagged = false;
        }
    }

    pub fn tagged(&self) -> Vec<i64> {
        let tagged = self.snapshots.iter().filter(|snapshot| snapshot.tagged);
        tagged.map(|snapshot| snapshot.identifier).collect()
    }

    /// The newest snapshot id of a commit user; ids count from 1.
    pub fn snapshot_id(&self, commit_user: &str) -> Option<i64> {
        let last = self.snapshots.iter().rposition(|snapshot| snapshot.commit_user == commit_user);
        last.map(|position| position as i64 + 1)
    }
}

pub fn files_of(commit: &Commit) -> Vec<String> {
    let text = |entry: &Entry| String::from_utf8(entry.payload.to_vec()).expect("test payload");
    let mut files: Vec<String> = commit
        .entries
        .iter()
        .flat_map(|entry| text(entry).split(' ').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    files.sort();
    files
}

/// The entry of a test writer; the payload is its file names.
pub fn entry(incarnation: u128, checkpoint_id: i64, files: &str) -> Entry {
    Entry {
        checkpoint_id,
        incarnation: Incarnation(incarnation),
        ended_after: i64::MIN,
        watermark: i64::MIN,
        idle: false,
        savepoint: false,
        committable_count: files.split_whitespace().count() as i32,
        serializer_version: 3,
        payload: Bytes::copy_from_slice(files.as_bytes()),
    }
}

pub fn end_entry(incarnation: u128, ended_after: i64, files: &str) -> Entry {
    Entry { ended_after, ..entry(incarnation, MAX, files) }
}

pub fn piece(incarnation: u128, parallelism: i32, ended: bool) -> Piece {
    Piece { incarnation: Incarnation(incarnation), parallelism, ended }
}

pub fn encode_entry(entry: &Entry) -> Bytes {
    let mut bytes = BytesMut::new();
    put_entry(&mut bytes, entry);
    bytes.freeze()
}

fn put_entry(bytes: &mut BytesMut, entry: &Entry) {
    bytes.put_i64(entry.checkpoint_id);
    bytes.put_u128(entry.incarnation.0);
    bytes.put_i64(entry.ended_after);
    bytes.put_i64(entry.watermark);
    bytes.put_u8(u8::from(entry.idle) | u8::from(entry.savepoint) << 1);
    bytes.put_i32(entry.committable_count);
    bytes.put_i32(entry.serializer_version);
    bytes.put_i32(entry.payload.len() as i32);
    bytes.put_slice(&entry.payload);
}

pub fn encode_restore(pieces: &[Piece], entries: &[Entry]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i32(pieces.len() as i32);
    for piece in pieces {
        bytes.put_u128(piece.incarnation.0);
        bytes.put_i32(piece.parallelism);
        bytes.put_u8(u8::from(piece.ended));
    }
    bytes.put_i32(entries.len() as i32);
    for entry in entries {
        put_entry(&mut bytes, entry);
    }
    bytes.freeze()
}

/// A request as Java's `WriterRequest.encode` writes it: kind 1 asks whether the report with this body is held, kind 2
/// whether the writer may finish, which has `ended` with this report.
pub fn encode_request(
    kind: u8,
    subtask: i32,
    attempt: i32,
    incarnation: u128,
    checkpoint_id: i64,
    ended: bool,
    body: &Bytes,
) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u32(0x5057_4352);
    bytes.put_u8(1);
    bytes.put_u8(kind);
    bytes.put_i32(subtask);
    bytes.put_i32(attempt);
    bytes.put_u128(incarnation);
    bytes.put_i64(checkpoint_id);
    bytes.put_u8(u8::from(ended));
    bytes.put_i32(body.len() as i32);
    bytes.put_u32(crc32c::crc32c(body));
    bytes.freeze()
}

/// The chunks of a message.
pub fn chunks(
    kind: u8,
    incarnation: u128,
    attempt: i32,
    checkpoint_id: i64,
    body: &Bytes,
    chunk_size: usize,
) -> Vec<Bytes> {
    let slices: Vec<&[u8]> = if body.is_empty() { vec![&[]] } else { body.chunks(chunk_size).collect() };
    let count = slices.len();
    let chunk = |(index, slice): (usize, &&[u8])| {
        let mut bytes = BytesMut::new();
        bytes.put_u32(0x5057_4345);
        bytes.put_u8(1);
        bytes.put_u8(kind);
        bytes.put_u128(incarnation);
        bytes.put_i32(attempt);
        bytes.put_i64(checkpoint_id);
        bytes.put_i32(index as i32);
        bytes.put_i32(count as i32);
        bytes.put_i32(body.len() as i32);
        bytes.put_u32(crc32c::crc32c(body));
        bytes.put_slice(slice);
        bytes.freeze()
    };
    slices.iter().enumerate().map(chunk).collect()
}

/// What became of a checkpoint's future.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Future {
    Held,
    Completed(Bytes),
    Failed(String),
}

/// A job around a coordinator. Commits run at once unless `hold_commits` is set.
pub struct Job {
    pub coordinator: Coordinator,
    pub table: Table,
    pub hold_commits: bool,
    /// Whether the committer takes its time to open.
    pub hold_opening: bool,
    pub waiting_commits: VecDeque<Commit>,
    pub futures: BTreeMap<i64, Future>,
    pub answers: BTreeMap<i64, (Answer, i64)>,
    pub timers: BTreeMap<Timer, u64>,
    pub failure: Option<Error>,
    pub job_failures: usize,
    next_id: i64,
}

impl Job {
    /// A job that started without state; attempt 0 of every subtask is ready, with incarnation = subtask + 1.
    pub fn start(settings: Settings) -> Self {
        Self::start_on(settings, Table::default())
    }

    pub fn start_on(settings: Settings, table: Table) -> Self {
        let mut job = Self::new(settings.clone(), table);
        job.step(Event::Begin {
            restored_checkpoint_id: None,
            state: None,
            fresh_commit_user: "fresh".to_owned(),
        });
        (0..settings.parallelism as i32).for_each(|subtask| job.ready(subtask, 0));
        job
    }

    /// A job that restores; attempt 0 of every subtask is ready, no restore event has come yet.
    pub fn restore(settings: Settings, table: Table, checkpoint_id: i64, state: Option<Bytes>) -> Self {
        let mut job = Self::new(settings.clone(), table);
        job.step(Event::Begin {
            restored_checkpoint_id: Some(checkpoint_id),
            state,
            fresh_commit_user: format!("fresh-{checkpoint_id}"),
        });
        (0..settings.parallelism as i32).for_each(|subtask| job.ready(subtask, 0));
        job
    }

    /// A job without checkpoints whose job manager was lost; its coordinator is reset after its start.
    pub fn restore_batch(settings: Settings, table: Table, state: Option<Bytes>) -> Self {
        let mut job = Self::new(settings, table);
        job.step(Event::Begin { restored_checkpoint_id: None, state, fresh_commit_user: "fresh".to_owned() });
        job
    }

    pub fn new(settings: Settings, table: Table) -> Self {
        Self {
            hold_opening: false,
            coordinator: Coordinator::new(settings),
            table,
            hold_commits: false,
            waiting_commits: VecDeque::new(),
            futures: BTreeMap::new(),
            answers: BTreeMap::new(),
            timers: BTreeMap::new(),
            failure: None,
            job_failures: 0,
            next_id: 0,
        }
    }

    pub fn step(&mut self, event: Event) {
        let mut commands = VecDeque::from(self.coordinator.step(event));
        while let Some(command) = commands.pop_front() {
            match command {
                Command::OpenCommitter { .. } if self.hold_opening => {}
                Command::OpenCommitter { commit_user, .. } => {
                    let latest = self.table.latest_identifier(&commit_user);
                    let opened = Event::CommitterOpened { latest_identifier: latest };
                    commands.extend(self.coordinator.step(opened));
                }
                Command::Commit(commit) if self.hold_commits => self.waiting_commits.push_back(commit),
                Command::Commit(commit) => commands.extend(self.execute(&commit)),
                Command::DeleteTag { commit_user, identifier } => {
                    self.table.delete_tag(&commit_user, identifier);
                }
                Command::CompleteCheckpoint { future, state } => {
                    let held = self.futures.insert(future.0, Future::Completed(state.into()));
                    assert_eq!(held, Some(Future::Held), "a future is completed once");
                }
                Command::FailCheckpoint { future, message } => {
                    let held = self.futures.insert(future.0, Future::Failed(message));
                    assert_eq!(held, Some(Future::Held), "a future is completed once");
                }
                Command::Answer { request, answer, committed_through } => {
                    let earlier = self.answers.insert(request.0, (answer, committed_through));
                    assert_eq!(earlier, None, "a request is answered once");
                }
                Command::SetTimer { timer, after_millis } => {
                    self.timers.insert(timer, after_millis);
                }
                Command::CancelTimer(timer) => {
                    self.timers.remove(&timer);
                }
                Command::FailJob(error) => {
                    self.job_failures += 1;
                    self.failure = Some(error);
                }
            }
        }
    }

    fn execute(&mut self, commit: &Commit) -> Vec<Command> {
        self.table.commit(commit);
        let snapshot_id = self.table.snapshot_id(&commit.commit_user);
        self.coordinator.step(Event::Committed { commit: commit.commit, snapshot_id, committer_state: None })
    }

    /// Lets the oldest held commit succeed.
    pub fn release_commit(&mut self) {
        let commit = self.waiting_commits.pop_front().expect("a commit is waiting");
        self.table.commit(&commit);
        let snapshot_id = self.table.snapshot_id(&commit.commit_user);
        self.step(Event::Committed { commit: commit.commit, snapshot_id, committer_state: None });
    }

    pub fn release_all_commits(&mut self) {
        self.hold_commits = false;
        while !self.waiting_commits.is_empty() {
            self.release_commit();
        }
    }

    pub fn fail_commit(&mut self, class: FailureClass) {
        let commit = self.waiting_commits.pop_front().expect("a commit is waiting");
        let failure = Failure { class, message: "disk on fire".to_owned() };
        self.step(Event::CommitFailed { commit: commit.commit, failure });
    }

    /// The committer is open at last, and the table has nothing of ours.
    pub fn open(&mut self) {
        self.hold_opening = false;
        self.step(Event::CommitterOpened { latest_identifier: None });
    }

    pub fn ready(&mut self, subtask: i32, attempt: i32) {
        self.step(Event::AttemptReady { subtask, attempt });
    }

    pub fn failed(&mut self, subtask: i32, attempt: i32) {
        self.step(Event::AttemptFailed { subtask, attempt });
    }

    pub fn subtask_reset(&mut self, subtask: i32, checkpoint_id: i64) {
        self.step(Event::SubtaskReset { subtask, checkpoint_id });
    }

    /// Attempt 0's entry, by the incarnation that belongs to it.
    pub fn ev(&mut self, subtask: i32, checkpoint_id: i64, files: &str) {
        self.report(subtask, 0, &entry(subtask as u128 + 1, checkpoint_id, files));
    }

    pub fn end(&mut self, subtask: i32, ended_after: i64, files: &str) {
        self.report(subtask, 0, &end_entry(subtask as u128 + 1, ended_after, files));
    }

    pub fn report(&mut self, subtask: i32, attempt: i32, entry: &Entry) {
        let body = encode_entry(entry);
        self.send(1, subtask, attempt, entry.incarnation.0, entry.checkpoint_id, &body);
    }

    /// The restore event of an attempt.
    pub fn rev(
        &mut self,
        subtask: i32,
        attempt: i32,
        checkpoint_id: i64,
        pieces: &[Piece],
        entries: &[Entry],
    ) {
        let body = encode_restore(pieces, entries);
        self.send(2, subtask, attempt, 900 + subtask as u128, checkpoint_id, &body);
    }

    fn send(
        &mut self,
        kind: u8,
        subtask: i32,
        attempt: i32,
        incarnation: u128,
        checkpoint_id: i64,
        body: &Bytes,
    ) {
        for bytes in chunks(kind, incarnation, attempt, checkpoint_id, body, 1 << 20) {
            self.step(Event::WriterEvent { subtask, attempt, bytes });
        }
    }

    /// Takes the coordinator's part of a checkpoint and returns the future's name.
    pub fn cc(&mut self, checkpoint_id: i64) -> i64 {
        self.next_id += 1;
        self.futures.insert(self.next_id, Future::Held);
        self.step(Event::Checkpoint { checkpoint_id, future: FutureId(self.next_id) });
        self.next_id
    }

    /// The bytes of a checkpoint that completes at once.
    pub fn cc_bytes(&mut self, checkpoint_id: i64) -> Bytes {
        let future = self.cc(checkpoint_id);
        match &self.futures[&future] {
            Future::Completed(bytes) => bytes.clone(),
            other @ (Future::Held | Future::Failed(_)) => panic!("checkpoint {checkpoint_id} is {other:?}"),
        }
    }

    pub fn done(&mut self, checkpoint_id: i64) {
        self.step(Event::CheckpointComplete { checkpoint_id });
    }

    pub fn abort(&mut self, checkpoint_id: i64) {
        self.step(Event::CheckpointAborted { checkpoint_id });
    }

    pub fn fire(&mut self, timer: Timer) {
        assert!(self.timers.remove(&timer).is_some(), "{timer:?} is set");
        self.step(Event::TimerFired(timer));
    }

    /// Asks whether the entry is held whole.
    pub fn confirm(&mut self, subtask: i32, attempt: i32, entry: &Entry) -> i64 {
        self.ask(1, subtask, attempt, entry.checkpoint_id, entry)
    }

    /// Asks whether an ended writer may finish once this checkpoint has completed.
    pub fn may_finish(&mut self, subtask: i32, attempt: i32, checkpoint_id: i64, end: &Entry) -> i64 {
        self.ask(2, subtask, attempt, checkpoint_id, end)
    }

    /// The same for one whose input has not ended (stop-with-savepoint without drain).
    pub fn may_close(&mut self, subtask: i32, attempt: i32, checkpoint_id: i64) -> i64 {
        self.ask(3, subtask, attempt, checkpoint_id, &entry(subtask as u128 + 1, checkpoint_id, ""))
    }

    fn ask(&mut self, kind: u8, subtask: i32, attempt: i32, checkpoint_id: i64, entry: &Entry) -> i64 {
        let (incarnation, body) = (entry.incarnation.0, encode_entry(entry));
        let bytes =
            encode_request(kind.min(2), subtask, attempt, incarnation, checkpoint_id, kind == 2, &body);
        self.next_id += 1;
        self.step(Event::Request { request: RequestId(self.next_id), bytes });
        self.next_id
    }

    pub fn answer(&self, request: i64) -> Option<Answer> {
        self.answers.get(&request).map(|&(answer, _)| answer)
    }

    pub fn assert_alive(&self) {
        assert_eq!(self.failure, None);
    }
}
