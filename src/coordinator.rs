//! The machine: an event in, commands out. It decides everything and does nothing.
//!
//! ```text
//!             Begin (nothing restored)              committer open
//!   Created ────────────────────────────▶ Created ─────────────────▶ Running ──▶ Closed
//!      │      Begin (checkpoint n)                                      ▲
//!      └───────────────────────▶ Restoring ─────────────────────────────┘
//!                                 one restore event of each writer, and the table's latest identifier of our user
//! ```
//!
//! Invariants: no thread, no clock, no JVM, no file, no table. Nothing is committed before its checkpoint has completed.
//! An entry leaves only when a commit that holds it has succeeded, or when its writer is reset to an earlier checkpoint.
//! One commit is in flight at a time, and what it holds is frozen.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::settings::Settings;
use crate::wire::Incarnation;

pub mod command;
pub mod event;

mod checkpoint;
mod commit;
mod ledger;
mod phase;
mod reports;
mod request;
mod restore;
mod status;
mod watermark;
mod writer;

use command::{Command, FutureId, RequestId, Timer};
use commit::InFlight;
use event::Event;
use ledger::{Generation, Ledger, UnitId};
use phase::Phase;
use request::Asked;
pub use status::Status;
use watermark::WatermarkAligner;
use writer::Writer;

/// The coordinator's logic. One value serves from one start or reset to the next.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    phase: Phase,
    ledger: Ledger,
    writers: Vec<Writer>,
    /// The commit user of each generation that still matters; the last is the current one.
    commit_users: BTreeMap<Generation, String>,
    in_flight: Option<InFlight>,
    last_commit: i64,
    /// Completed checkpoints whose commit is not done.
    completed: BTreeSet<i64>,
    /// Aborted checkpoints whose entries wait to be committed with a later one.
    aborted: BTreeSet<i64>,
    /// The highest checkpoint known to have completed, -1 for none.
    completed_through: i64,
    /// The checkpoint this coordinator was restored from, -1 for none: everything up to it is complete as it is.
    restored_through: i64,
    /// Every ordinary checkpoint up to this one is durably in the table; `i64::MIN` for none.
    committed_through: i64,
    /// The id of the newest snapshot of the current commit user, -1 for none.
    snapshot_id: i64,
    /// Writers whose end-of-input entries are in the table.
    committed_end_of_input: BTreeSet<Incarnation>,
    final_commit_done: bool,
    watermark: WatermarkAligner,
    committer_state: Option<Bytes>,
    held_checkpoints: BTreeMap<FutureId, i64>,
    asked: BTreeMap<RequestId, Asked>,
    late_entry_timer: bool,
    /// How many writers owe an entry of a completed checkpoint, while no commit is under way.
    late_writers: usize,
    /// Flink recovers a batch job, and no attempt has been ready yet.
    recovers_batch: bool,
    opening_attempts: u32,
    stale_events: u64,
    commands: Vec<Command>,
}

impl Coordinator {
    /// A coordinator that waits for [`Event::Begin`].
    pub fn new(settings: Settings) -> Self {
        let writers = (0..settings.parallelism).map(|_| Writer::default()).collect();
        Self {
            commit_users: BTreeMap::from([(0, settings.commit_user.clone())]),
            settings,
            phase: Phase::Created { fresh_commit_user: String::new() },
            ledger: Ledger::default(),
            writers,
            in_flight: None,
            last_commit: 0,
            completed: BTreeSet::new(),
            aborted: BTreeSet::new(),
            completed_through: -1,
            restored_through: -1,
            committed_through: i64::MIN,
            snapshot_id: -1,
            committed_end_of_input: BTreeSet::new(),
            final_commit_done: false,
            watermark: WatermarkAligner::new(i64::MIN),
            committer_state: None,
            held_checkpoints: BTreeMap::new(),
            asked: BTreeMap::new(),
            late_entry_timer: false,
            late_writers: 0,
            recovers_batch: false,
            opening_attempts: 0,
            stale_events: 0,
            commands: Vec::new(),
        }
    }

    /// Takes one event and returns what is to be done about it, in order.
    pub fn step(&mut self, event: Event) -> Vec<Command> {
        let outcome = self.handle(event).and_then(|()| self.advance());
        if let Err(error) = outcome {
            self.fail(error);
        }
        debug_assert!(self.sizes_are_right());
        std::mem::take(&mut self.commands)
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match (&mut self.phase, event) {
            (Phase::Closed { .. }, event) => {
                self.refuse(event);
                Ok(())
            }
            (_, Event::Close) => {
                // A reset also closes the coordinator that nothing has begun yet.
                if !matches!(&self.phase, Phase::Created { fresh_commit_user } if fresh_commit_user.is_empty())
                {
                    tracing::info!("closed");
                }
                self.close("The coordinator is closed or has been reset.".to_owned());
                Ok(())
            }
            (Phase::Created { .. }, Event::Begin { restored_checkpoint_id, state, fresh_commit_user }) => {
                self.begin(restored_checkpoint_id, state, fresh_commit_user)
            }
            (Phase::Restoring(_) | Phase::Running, Event::Begin { .. }) => Err(Error::new(
                ErrorKind::UnexpectedCall,
                "Begun twice; every start or reset needs a new coordinator.",
            )),
            (Phase::Restoring(restoring), Event::CommitterOpened { latest_identifier }) => {
                restoring.latest_identifier = Some(latest_identifier);
                self.finish_restoring()
            }
            (Phase::Created { fresh_commit_user }, Event::CommitterOpened { latest_identifier }) => {
                let fresh_commit_user = std::mem::take(fresh_commit_user);
                self.finish_starting(latest_identifier, fresh_commit_user)
            }
            (Phase::Running, Event::CommitterOpened { .. }) => Ok(()),
            (_, Event::CommitterFailed(failure)) => self.committer_failed(failure),
            (_, Event::AttemptReady { subtask, attempt }) => self.attempt_ready(subtask, attempt),
            (_, Event::AttemptFailed { subtask, attempt }) => self.attempt_failed(subtask, attempt),
            (_, Event::SubtaskReset { subtask, checkpoint_id }) => self.subtask_reset(subtask, checkpoint_id),
            (_, Event::BatchSnapshotsAskedFor) => {
                self.recovers_batch |= self.writers.iter().all(|writer| writer.attempt.is_none());
                Ok(())
            }
            (_, Event::WriterEvent { subtask, attempt, bytes }) => self.writer_event(subtask, attempt, bytes),
            (_, Event::Request { request, bytes }) => self.request(request, bytes),
            (_, Event::Checkpoint { checkpoint_id, future }) => {
                self.checkpoint(checkpoint_id, future);
                Ok(())
            }
            (_, Event::CheckpointComplete { checkpoint_id }) => {
                self.checkpoint_completed(checkpoint_id);
                Ok(())
            }
            (_, Event::CheckpointAborted { checkpoint_id }) => {
                self.checkpoint_aborted(checkpoint_id);
                Ok(())
            }
            (_, Event::Committed { commit, snapshot_id, committer_state }) => {
                self.committed(commit, snapshot_id, committer_state);
                Ok(())
            }
            (_, Event::CommitFailed { commit, failure }) => self.commit_failed(commit, failure),
            (_, Event::TimerFired(timer)) => self.timer_fired(timer),
        }
    }

    /// What every event may have made possible.
    fn advance(&mut self) -> Result<()> {
        if matches!(self.phase, Phase::Closed { .. }) {
            return Ok(());
        }
        self.check_batch_recovery()?;
        self.start_due_commit();
        self.watch_for_late_entries();
        self.release_checkpoints();
        self.answer_those_who_wait();
        Ok(())
    }

    /// Without checkpoints nothing is committed before the end of input, and a task that fails begins from nothing.
    fn takes_checkpoints(&self) -> bool {
        self.settings.checkpointing_enabled
    }

    fn generation(&self) -> Generation {
        self.commit_users.keys().next_back().copied().unwrap_or_default()
    }

    /// The current one.
    fn commit_user(&self) -> &str {
        self.commit_users.values().next_back().map_or("", String::as_str)
    }

    fn unit_id(&self, checkpoint_id: i64) -> UnitId {
        UnitId { generation: self.generation(), checkpoint_id }
    }

    fn writer_index(&self, subtask: i32) -> Result<usize> {
        usize::try_from(subtask).ok().filter(|&index| index < self.writers.len()).ok_or_else(|| {
            Error::new(
                ErrorKind::UnexpectedCall,
                format!("Called for subtask {subtask}; there are {} subtasks.", self.writers.len()),
            )
        })
    }

    fn run(&mut self, why: &str) {
        self.phase = Phase::Running;
        tracing::info!("running, commits as user {}: {why}", self.commit_user());
    }

    fn fail(&mut self, error: Error) {
        let Settings { table_name, operator_name, .. } = &self.settings;
        let message = format!("Table {table_name}, operator '{operator_name}': {}", error.message);
        let error = Error::new(error.kind, message);
        self.close(error.message.clone());
        self.commands.push(Command::FailJob(error));
    }

    fn close(&mut self, reason: String) {
        for future in std::mem::take(&mut self.held_checkpoints).into_keys() {
            self.commands.push(Command::CancelTimer(Timer::HeldCheckpoint(future)));
            self.fail_checkpoint(future, &reason);
        }
        for request in std::mem::take(&mut self.asked).into_keys() {
            self.answer(request, command::Answer::Rejected);
        }
        self.commands.push(Command::CancelTimer(Timer::Retry));
        self.commands.push(Command::CancelTimer(Timer::LateEntry));
        self.phase = Phase::Closed { reason };
    }

    fn timer_fired(&mut self, timer: Timer) -> Result<()> {
        match timer {
            Timer::LateEntry => self.entry_missing(),
            Timer::Retry => {
                self.try_again();
                Ok(())
            }
            Timer::HeldCheckpoint(future) => {
                self.checkpoint_held_too_long(future);
                Ok(())
            }
            Timer::HeldRequest(request) => {
                self.request_held_too_long(request);
                Ok(())
            }
        }
    }
}
