//! The core and its twin, side by side: every event goes to both, and what they say is compared.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::Coordinator;
use paimon_writer_coordinator::coordinator::command::{Answer, Command, Commit, FutureId, RequestId, Timer};
use paimon_writer_coordinator::coordinator::event::{Event, Failure, FailureClass};
use paimon_writer_coordinator::settings::Settings;

use crate::rows::Written;
use crate::support;
use crate::told::{Attempt, Order, Question, Remembered, Said, Step, Told};
use crate::twin::{self, Twin};

/// One coordinator from its begin to its end.
pub struct Machine {
    settings: Settings,
    core: Coordinator,
    /// Everything that the core was told: it cannot be copied, but it can be told again.
    fed: Vec<Event>,
    history: Vec<Step>,
    pub timers: BTreeSet<Timer>,
    /// The commit that was handed over last.
    pub commit: Option<Commit>,
    pub failed: bool,
}

/// What the world has to act upon, beside [`Machine::commit`] and [`Machine::failed`].
pub enum Effect {
    Open { user: String },
    Commit,
    Completed { checkpoint: i64, bytes: Bytes },
    Declined { checkpoint: i64 },
    Answered { request: i64, answer: Answer, committed_through: i64 },
}

impl Machine {
    pub fn new(settings: Settings) -> Self {
        Self {
            core: Coordinator::new(settings.clone()),
            settings,
            fed: Vec::new(),
            history: Vec::new(),
            timers: BTreeSet::new(),
            commit: None,
            failed: false,
        }
    }

    /// The same machine once more.
    pub fn fork(&self) -> Self {
        let mut core = Coordinator::new(self.settings.clone());
        for event in &self.fed {
            core.step(event.clone());
        }
        Self {
            core,
            settings: self.settings.clone(),
            fed: self.fed.clone(),
            history: self.history.clone(),
            timers: self.timers.clone(),
            commit: self.commit.clone(),
            failed: self.failed,
        }
    }

    /// Everything on which the future of core and twin depends.
    pub fn hash_state(&self, hasher: &mut impl Hasher) {
        // The core derives its debug form, so that shows every field, and nobody needs access to any of them.
        format!("{:?} {:?}", self.core, self.timers).hash(hasher);
        Twin::new(&self.settings, &self.history).hash_state(hasher);
    }

    /// Tells both, and compares what they say.
    ///
    /// # Panics
    /// If they differ.
    pub fn tell(&mut self, told: Told, event: Event) -> Vec<Effect> {
        twin::tell(&self.settings, &mut self.history, told);
        self.fed.push(event.clone());
        let commands = self.core.step(event);
        let mut said = Vec::new();
        let mut effects = Vec::new();
        for command in commands {
            said.extend(self.obey(command, &mut effects));
        }
        self.compare(&said);
        effects
    }

    fn obey(&mut self, command: Command, effects: &mut Vec<Effect>) -> Option<Said> {
        match command {
            Command::OpenCommitter { commit_user, restored, .. } => {
                effects.push(Effect::Open { user: commit_user.clone() });
                Some(Said::Open { user: commit_user, restored })
            }
            Command::Commit(commit) => {
                self.commit = Some(commit.clone());
                effects.push(Effect::Commit);
                Some(Said::Commit(Order {
                    user: commit.commit_user,
                    identifier: commit.identifier,
                    watermark: commit.watermark,
                    completed: commit.completed,
                    savepoint: commit.savepoint,
                    attempt: commit.attempt,
                    entries: commit.entries.iter().map(Written::decode).collect(),
                }))
            }
            Command::CompleteCheckpoint { future, state } => {
                let remembered = Remembered::decode(&state);
                effects.push(Effect::Completed { checkpoint: future.0, bytes: state.into() });
                Some(Said::Completed { checkpoint: future.0, remembered })
            }
            Command::FailCheckpoint { future, .. } => {
                effects.push(Effect::Declined { checkpoint: future.0 });
                Some(Said::Declined { checkpoint: future.0 })
            }
            Command::Answer { request, answer, committed_through } => {
                effects.push(Effect::Answered { request: request.0, answer, committed_through });
                Some(Said::Answered { request: request.0, answer, committed_through })
            }
            Command::DeleteTag { commit_user, identifier } => {
                Some(Said::DeleteTag { user: commit_user, identifier })
            }
            Command::SetTimer { timer, .. } => {
                self.timers.insert(timer);
                None
            }
            Command::CancelTimer(timer) => {
                self.timers.remove(&timer);
                None
            }
            Command::FailJob(error) => {
                self.failed = true;
                Some(Said::JobFailed(error.kind))
            }
        }
    }

    fn compare(&self, found: &[Said]) {
        let step = self.history.last().expect("just told");
        let twin = Twin::new(&self.settings, &self.history);
        let expected: Vec<&Said> =
            step.said.iter().filter(|said| !matches!(said, Said::Settled(_))).collect();
        let quiet = !twin.has_commit_in_flight();
        let all_expected =
            expected.iter().all(|expected| found.iter().any(|found| is_as_expected(expected, found, quiet)));
        let timers: Vec<Timer> = self.timers.iter().copied().collect();
        if expected.len() != found.len() || !all_expected || !twin.sets(&timers) {
            let told: Vec<String> = self.history.iter().map(|step| format!("  {:?}", step.told)).collect();
            panic!(
                "core and twin differ.\ntold:\n{}\nthe twin says: {expected:#?}\nwith timers {:?}\nthe core says: {found:#?}\nwith timers {timers:?}",
                told.join("\n"),
                twin.timers(),
            );
        }
    }

    /// Whether it began with a restored checkpoint.
    pub fn restores(&self) -> bool {
        matches!(self.history.first().map(|step| &step.told), Some(Told::Begin { restored: Some(_), .. }))
    }

    pub fn report(&mut self, from: Attempt, entry: &Written) -> Vec<Effect> {
        let body = support::encode_entry(&entry.encode());
        let told = Told::Report { from, entry: entry.clone() };
        self.send(told, 1, from, entry.writer, entry.checkpoint, &body)
    }

    pub fn restore(&mut self, from: Attempt, writer: u128, told: Told) -> Vec<Effect> {
        let Told::Restore { checkpoint, pieces, entries, .. } = &told else {
            panic!("not a restore event: {told:?}");
        };
        let pieces: Vec<_> = pieces.iter().map(crate::rows::Piece::encode).collect();
        let entries: Vec<_> = entries.iter().map(Written::encode).collect();
        let checkpoint = *checkpoint;
        let body = support::encode_restore(&pieces, &entries);
        self.send(told, 2, from, writer, checkpoint, &body)
    }

    fn send(
        &mut self,
        told: Told,
        kind: u8,
        from: Attempt,
        writer: u128,
        checkpoint: i64,
        body: &Bytes,
    ) -> Vec<Effect> {
        let mut chunks = support::chunks(kind, writer, from.attempt, checkpoint, body, 1 << 20);
        let bytes = chunks.pop().expect("one chunk");
        self.tell(told, Event::WriterEvent { subtask: from.subtask as i32, attempt: from.attempt, bytes })
    }

    pub fn ask(&mut self, request: i64, from: Attempt, writer: u128, question: Question) -> Vec<Effect> {
        let (kind, checkpoint, entry) = match &question {
            Question::Confirm(entry) => (1, entry.checkpoint, Some(entry)),
            Question::MayFinish { completed, end } => (2, *completed, Some(end)),
            Question::MayClose { completed } => (2, *completed, None),
        };
        let ended = matches!(question, Question::MayFinish { .. });
        let body = entry.map(|entry| support::encode_entry(&entry.encode())).unwrap_or_default();
        let Attempt { subtask, attempt } = from;
        let bytes = support::encode_request(kind, subtask as i32, attempt, writer, checkpoint, ended, &body);
        let event = Event::Request { request: RequestId(request), bytes };
        self.tell(Told::Ask { request, from, question }, event)
    }

    pub fn checkpoint(&mut self, checkpoint: i64) -> Vec<Effect> {
        let event = Event::Checkpoint { checkpoint_id: checkpoint, future: FutureId(checkpoint) };
        self.tell(Told::Checkpoint(checkpoint), event)
    }

    pub fn landed(&mut self, snapshot_id: Option<i64>) -> Vec<Effect> {
        let commit = self.commit.as_ref().expect("a commit was handed over").commit;
        self.tell(Told::Landed, Event::Committed { commit, snapshot_id, committer_state: None })
    }

    pub fn commit_failed(&mut self, retryable: bool) -> Vec<Effect> {
        let commit = self.commit.as_ref().expect("a commit was handed over").commit;
        let class = if retryable { FailureClass::Retryable } else { FailureClass::FailJob };
        let failure = Failure { class, message: "disk on fire".to_owned() };
        self.tell(Told::CommitFailed { retryable }, Event::CommitFailed { commit, failure })
    }

    pub fn fire(&mut self, timer: Timer) -> Vec<Effect> {
        assert!(self.timers.remove(&timer), "{timer:?} is set");
        self.tell(Told::Fired(timer), Event::TimerFired(timer))
    }
}

/// A writer may learn late that a checkpoint is in the table, while a commit is in flight, but never early.
fn is_as_expected(expected: &Said, found: &Said, quiet: bool) -> bool {
    let durable = |expected: i64, found: i64| if quiet { found == expected } else { found <= expected };
    match (expected, found) {
        (Said::Commit(expected), Said::Commit(found)) => {
            let mut expected = expected.clone();
            expected.entries.retain(|entry| !entry.rows.is_empty());
            expected == *found
        }
        (
            Said::Completed { checkpoint, remembered },
            Said::Completed { checkpoint: found_checkpoint, remembered: found },
        ) => {
            checkpoint == found_checkpoint
                && remembered.users.last() == found.users.last()
                && durable(remembered.committed_through, found.committed_through)
                && *remembered
                    == Remembered {
                        users: remembered.users.clone(),
                        committed_through: remembered.committed_through,
                        ..found.clone()
                    }
        }
        (
            Said::Answered { request, answer, committed_through },
            Said::Answered { request: found_request, answer: found, committed_through: found_through },
        ) => request == found_request && answer == found && durable(*committed_through, *found_through),
        (expected, found) => expected == found,
    }
}
