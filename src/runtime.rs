//! The loop around the machine: one queue in, timers, commands out through a [`Host`].
//!
//! It runs on whichever thread enters [`run`] and starts none. Every start and every reset begins a new epoch with a new
//! [`Coordinator`]; outcomes that belong to an older epoch are dropped here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use crate::coordinator::command::{Answer, Command, Commit, FutureId, RequestId, Timer};
use crate::coordinator::event::Event;
use crate::coordinator::{Coordinator, Status};
use crate::error::Error;
use crate::settings::Settings;

mod log;

pub use log::LogLine;
use log::LogLines;

/// Counts starts and resets of one coordinator object.
pub type Epoch = i64;

/// What the loop is told, in the order in which it was told. `P` is what a host reads as bytes, see [`Host::Payload`].
#[derive(Debug)]
pub enum Message<P = Bytes> {
    /// A start or a reset.
    Reset {
        /// The epoch that begins.
        epoch: Epoch,
        /// The restored checkpoint.
        checkpoint_id: Option<i64>,
        /// Its bytes.
        state: Option<Bytes>,
        /// See [`Event::Begin`].
        fresh_commit_user: String,
    },
    /// A callback of Flink.
    Callback(Event),
    /// One chunk of a writer's message, see [`Event::WriterEvent`]. It may be large, so it is the loop that copies it, and
    /// not the thread that Flink calls in.
    WriterEvent {
        /// The subtask.
        subtask: i32,
        /// The attempt that Flink says it came from.
        attempt: i32,
        /// Where its bytes are.
        payload: P,
    },
    /// An outcome of a command.
    Outcome {
        /// The epoch of the command.
        epoch: Epoch,
        /// The outcome.
        event: Event,
    },
    /// The coordinator is being closed.
    Close,
}

/// Executes commands. Every method returns quickly; what takes long is started, and its outcome is sent as a [`Message`].
pub trait Host {
    /// An error that ends the loop, because nothing can be executed any more.
    type Error;
    /// Bytes that are still where Flink has put them.
    type Payload;

    /// Copies the bytes of a writer's chunk.
    fn read(&mut self, payload: Self::Payload) -> Result<Bytes, Self::Error>;
    /// See [`Command::OpenCommitter`].
    fn open_committer(
        &mut self,
        epoch: Epoch,
        commit_user: &str,
        restored: bool,
        committer_state: Option<&[u8]>,
    ) -> Result<(), Self::Error>;
    /// See [`Command::Commit`]. The payloads may be read until the call returns, no longer.
    fn commit(&mut self, epoch: Epoch, commit: &Commit) -> Result<(), Self::Error>;
    /// See [`Command::DeleteTag`].
    fn delete_tag(&mut self, epoch: Epoch, commit_user: &str, identifier: i64) -> Result<(), Self::Error>;
    /// See [`Command::CompleteCheckpoint`].
    fn complete_checkpoint(&mut self, future: FutureId, state: &[u8]) -> Result<(), Self::Error>;
    /// See [`Command::FailCheckpoint`].
    fn fail_checkpoint(&mut self, future: FutureId, message: &str) -> Result<(), Self::Error>;
    /// See [`Command::Answer`].
    fn answer(
        &mut self,
        request: RequestId,
        answer: Answer,
        committed_through: i64,
    ) -> Result<(), Self::Error>;
    /// See [`Command::FailJob`].
    fn fail_job(&mut self, error: &Error) -> Result<(), Self::Error>;
    /// What has changed for whoever watches the job; [`Status::stale_events`] count on over resets.
    fn show(&mut self, status: &Status) -> Result<(), Self::Error>;
    /// A line for Flink's log.
    fn log(&mut self, line: &LogLine) -> Result<(), Self::Error>;
}

/// Runs a coordinator until it is closed, all senders are gone, or the host fails.
///
/// # Errors
/// The host's error.
pub async fn run<H: Host>(
    settings: Settings,
    mut messages: UnboundedReceiver<Message<H::Payload>>,
    host: &mut H,
) -> Result<(), H::Error> {
    let lines = LogLines::default();
    let _log = tracing::subscriber::set_default(lines.clone());
    let mut running = Running {
        coordinator: Coordinator::new(settings.clone()),
        settings,
        epoch: 0,
        stale_events: 0,
        shown: None,
        timers: Timers::default(),
        lines,
        host,
    };
    loop {
        let message = match running.timers.next() {
            None => messages.recv().await,
            Some((deadline, timer)) => tokio::select! {
                biased;
                message = messages.recv() => message,
                () = tokio::time::sleep_until(deadline) => {
                    running.timers.cancel(timer);
                    running.step(Event::TimerFired(timer))?;
                    continue;
                }
            },
        };
        match message {
            None | Some(Message::Close) => return running.step(Event::Close),
            Some(message) => running.take(message)?,
        }
    }
}

struct Running<'a, H: Host> {
    coordinator: Coordinator,
    settings: Settings,
    epoch: Epoch,
    /// Of the epochs before.
    stale_events: u64,
    shown: Option<Status>,
    timers: Timers,
    lines: LogLines,
    host: &'a mut H,
}

impl<H: Host> Running<'_, H> {
    fn take(&mut self, message: Message<H::Payload>) -> Result<(), H::Error> {
        match message {
            Message::Reset { epoch, checkpoint_id, state, fresh_commit_user } => {
                self.step(Event::Close)?;
                self.timers = Timers::default();
                self.epoch = epoch;
                self.stale_events += self.coordinator.status().stale_events;
                self.coordinator = Coordinator::new(self.settings.clone());
                let restored_checkpoint_id = checkpoint_id;
                self.step(Event::Begin { restored_checkpoint_id, state, fresh_commit_user })
            }
            Message::Callback(event) => self.step(event),
            Message::WriterEvent { subtask, attempt, payload } => {
                let bytes = self.host.read(payload)?;
                self.step(Event::WriterEvent { subtask, attempt, bytes })
            }
            Message::Outcome { epoch, event } if epoch == self.epoch => self.step(event),
            Message::Outcome { .. } => Ok(()),
            Message::Close => self.step(Event::Close),
        }
    }

    fn step(&mut self, event: Event) -> Result<(), H::Error> {
        let commands = self.coordinator.step(event);
        for line in self.lines.take() {
            self.host.log(&line)?;
        }
        self.show()?;
        commands.into_iter().try_for_each(|command| self.execute(command))
    }

    fn show(&mut self) -> Result<(), H::Error> {
        let mut status = self.coordinator.status();
        status.stale_events += self.stale_events;
        if self.shown != Some(status) {
            self.shown = Some(status);
            self.host.show(&status)?;
        }
        Ok(())
    }

    fn execute(&mut self, command: Command) -> Result<(), H::Error> {
        match command {
            Command::OpenCommitter { commit_user, restored, committer_state } => {
                self.host.open_committer(self.epoch, &commit_user, restored, committer_state.as_deref())
            }
            Command::Commit(commit) => self.host.commit(self.epoch, &commit),
            Command::DeleteTag { commit_user, identifier } => {
                self.host.delete_tag(self.epoch, &commit_user, identifier)
            }
            Command::CompleteCheckpoint { future, state } => self.host.complete_checkpoint(future, &state),
            Command::FailCheckpoint { future, message } => self.host.fail_checkpoint(future, &message),
            Command::Answer { request, answer, committed_through } => {
                self.host.answer(request, answer, committed_through)
            }
            Command::SetTimer { timer, after_millis } => {
                self.timers.set(timer, Instant::now() + Duration::from_millis(after_millis));
                Ok(())
            }
            Command::CancelTimer(timer) => {
                self.timers.cancel(timer);
                Ok(())
            }
            Command::FailJob(error) => self.host.fail_job(&error),
        }
    }
}

/// Deadlines by timer, and timers by deadline.
#[derive(Default)]
struct Timers {
    deadlines: BTreeMap<Timer, Instant>,
    order: BTreeSet<(Instant, Timer)>,
}

impl Timers {
    fn set(&mut self, timer: Timer, deadline: Instant) {
        self.cancel(timer);
        self.deadlines.insert(timer, deadline);
        self.order.insert((deadline, timer));
    }

    fn cancel(&mut self, timer: Timer) {
        if let Some(deadline) = self.deadlines.remove(&timer) {
            self.order.remove(&(deadline, timer));
        }
    }

    fn next(&self) -> Option<(Instant, Timer)> {
        self.order.first().copied()
    }
}
