//! The loop, without a JVM and with a paused clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::Status;
use paimon_writer_coordinator::coordinator::command::{Answer, Commit, CommitId, FutureId, RequestId};
use paimon_writer_coordinator::coordinator::event::{Event, Failure, FailureClass};
use paimon_writer_coordinator::error::Error;
use paimon_writer_coordinator::runtime::{Epoch, Host, LogLine, Message, run};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;
use tokio::time::Instant;

mod support;

use support::{chunks, encode_entry, encode_request, entry, files_of, settings};

/// What a host was asked to do, when, in milliseconds since the start.
#[derive(Debug, Clone, PartialEq)]
enum Call {
    Open(Epoch, String),
    Commit(Epoch, i64, u32, Vec<String>),
    Complete(i64, usize),
    Fail(i64, String),
    Answer(i64, Answer),
    FailJob(String, bool),
    Show(Status),
    Log(String),
}

struct FakeHost {
    calls: Arc<Mutex<Vec<(u64, Call)>>>,
    start: Instant,
    fails_to_commit: bool,
}

impl FakeHost {
    fn note(&self, call: Call) -> Result<(), &'static str> {
        let millis = (Instant::now() - self.start).as_millis() as u64;
        self.calls.lock().expect("not poisoned").push((millis, call));
        Ok(())
    }
}

impl Host for FakeHost {
    type Error = &'static str;
    type Payload = Bytes;

    fn read(&mut self, payload: Bytes) -> Result<Bytes, &'static str> {
        Ok(payload)
    }

    fn open_committer(
        &mut self,
        epoch: Epoch,
        user: &str,
        _: bool,
        _: Option<&[u8]>,
    ) -> Result<(), &'static str> {
        self.note(Call::Open(epoch, user.to_owned()))
    }

    fn commit(&mut self, epoch: Epoch, commit: &Commit) -> Result<(), &'static str> {
        if self.fails_to_commit {
            return Err("the JVM is gone");
        }
        self.note(Call::Commit(epoch, commit.identifier, commit.attempt, files_of(commit)))
    }

    fn delete_tag(&mut self, _: Epoch, _: &str, _: i64) -> Result<(), &'static str> {
        Ok(())
    }

    fn complete_checkpoint(&mut self, future: FutureId, state: &[u8]) -> Result<(), &'static str> {
        self.note(Call::Complete(future.0, state.len()))
    }

    fn fail_checkpoint(&mut self, future: FutureId, message: &str) -> Result<(), &'static str> {
        self.note(Call::Fail(future.0, message.to_owned()))
    }

    fn answer(&mut self, request: RequestId, answer: Answer, _: i64) -> Result<(), &'static str> {
        self.note(Call::Answer(request.0, answer))
    }

    fn fail_job(&mut self, error: &Error) -> Result<(), &'static str> {
        self.note(Call::FailJob(error.message.clone(), error.kind.recoverable()))
    }

    fn show(&mut self, status: &Status) -> Result<(), &'static str> {
        self.note(Call::Show(*status))
    }

    fn log(&mut self, line: &LogLine) -> Result<(), &'static str> {
        self.note(Call::Log(line.message.clone()))
    }
}

/// A loop that is running, and what it did.
struct Loop {
    sender: UnboundedSender<Message>,
    calls: Arc<Mutex<Vec<(u64, Call)>>>,
    task: tokio::task::JoinHandle<Result<(), &'static str>>,
}

impl Loop {
    fn start(fails_to_commit: bool) -> Self {
        let (sender, receiver) = unbounded_channel();
        let calls = Arc::<Mutex<Vec<(u64, Call)>>>::default();
        let mut host = FakeHost { calls: calls.clone(), start: Instant::now(), fails_to_commit };
        let task = tokio::task::spawn_local(async move { run(settings(1), receiver, &mut host).await });
        Self { sender, calls, task }
    }

    fn send(&self, message: Message) {
        self.sender.send(message).expect("the loop is running");
    }

    fn callback(&self, event: Event) {
        self.send(Message::Callback(event));
    }

    fn reset(&self, epoch: Epoch) {
        self.send(Message::Reset {
            epoch,
            checkpoint_id: None,
            state: None,
            fresh_commit_user: "fresh".to_owned(),
        });
        self.send(Message::Outcome { epoch, event: Event::CommitterOpened { latest_identifier: None } });
        self.callback(Event::AttemptReady { subtask: 0, attempt: 0 });
    }

    fn complete_checkpoint_with_file(&self, checkpoint_id: i64) {
        let body = encode_entry(&entry(1, checkpoint_id, "a"));
        for payload in chunks(1, 1, 0, checkpoint_id, &body, 1 << 20) {
            self.send(Message::WriterEvent { subtask: 0, attempt: 0, payload });
        }
        self.callback(Event::CheckpointComplete { checkpoint_id });
    }

    async fn calls_after(&self, millis: u64) -> Vec<(u64, Call)> {
        tokio::time::sleep(Duration::from_millis(millis.max(1))).await;
        let calls = std::mem::take(&mut *self.calls.lock().expect("not poisoned"));
        calls.into_iter().filter(|(_, call)| !matches!(call, Call::Log(_) | Call::Show(_))).collect()
    }
}

async fn with_loop<F: Future<Output = ()>>(fails: bool, test: impl FnOnce(Loop) -> F) {
    LocalSet::new().run_until(async { test(Loop::start(fails)).await }).await;
}

fn commit_failed(commit: i64) -> Event {
    let failure = Failure { class: FailureClass::Retryable, message: "slow disk".to_owned() };
    Event::CommitFailed { commit: CommitId(commit), failure }
}

#[tokio::test(start_paused = true)]
async fn s90_a_failed_commit_is_tried_again_when_its_pause_is_over() {
    with_loop(false, |job| async move {
        job.reset(1);
        job.complete_checkpoint_with_file(1);
        job.send(Message::Outcome { epoch: 1, event: commit_failed(1) });
        let files = || vec!["a".to_owned()];
        let expected = [
            (0, Call::Open(1, "user-0".to_owned())),
            (0, Call::Commit(1, 1, 1, files())),
            (100, Call::Commit(1, 1, 2, files())),
        ];
        assert_eq!(job.calls_after(1_000).await, expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s42_outcomes_and_timers_of_an_old_epoch_are_dropped() {
    with_loop(false, |job| async move {
        job.reset(1);
        job.complete_checkpoint_with_file(1);
        job.send(Message::Outcome { epoch: 1, event: commit_failed(1) });
        job.reset(2);
        let late = Event::Committed { commit: CommitId(1), snapshot_id: Some(1), committer_state: None };
        job.send(Message::Outcome { epoch: 1, event: late });
        let calls = job.calls_after(1_000).await;
        let commits = calls.iter().filter(|(_, call)| matches!(call, Call::Commit(..))).count();
        assert_eq!(commits, 1, "the retry of epoch 1 is gone: {calls:?}");
        assert_eq!(calls.last(), Some(&(0, Call::Open(2, "user-0".to_owned()))));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s44_closing_ends_the_loop_at_once_and_fails_what_is_held() {
    with_loop(false, |job| async move {
        job.reset(1);
        job.complete_checkpoint_with_file(1);
        job.send(Message::Outcome { epoch: 1, event: commit_failed(1) });
        let request = encode_request(1, 0, 0, 1, 9, false, &Bytes::new());
        job.callback(Event::Request { request: RequestId(7), bytes: request });
        job.send(Message::Close);
        let calls = job.calls_after(0).await;
        assert_eq!(calls.last(), Some(&(0, Call::Answer(7, Answer::Rejected))));
        assert_eq!(job.task.await.expect("no panic"), Ok(()));
        assert!(job.sender.send(Message::Close).is_err(), "s106: later calls are refused");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_fails_ends_the_loop_with_its_error() {
    with_loop(true, |job| async move {
        job.reset(1);
        job.complete_checkpoint_with_file(1);
        assert_eq!(job.task.await.expect("no panic"), Err("the JVM is gone"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s10_a_checkpoint_before_anything_else_is_declined() {
    with_loop(false, |job| async move {
        job.callback(Event::Checkpoint { checkpoint_id: 1, future: FutureId(4) });
        let calls = job.calls_after(0).await;
        assert!(matches!(&calls[..], [(0, Call::Fail(4, _))]), "{calls:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s108_the_host_is_shown_what_waits_and_only_what_has_changed() {
    with_loop(false, |job| async move {
        let stale = |job: &Loop| {
            let body = encode_entry(&entry(1, 9, "a"));
            for bytes in chunks(1, 1, 7, 9, &body, 1 << 20) {
                job.callback(Event::WriterEvent { subtask: 0, attempt: 7, bytes });
            }
        };
        job.reset(1);
        job.complete_checkpoint_with_file(1);
        job.callback(Event::CheckpointComplete { checkpoint_id: 1 });
        stale(&job);
        let done = Event::Committed { commit: CommitId(1), snapshot_id: Some(1), committer_state: None };
        job.send(Message::Outcome { epoch: 1, event: done });
        job.reset(2);
        stale(&job);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let calls = std::mem::take(&mut *job.calls.lock().expect("not poisoned"));
        let shown: Vec<Status> = calls
            .into_iter()
            .filter_map(|(_, call)| if let Call::Show(status) = call { Some(status) } else { None })
            .collect();
        let none = Status {
            phase: 0,
            last_completed_checkpoint: -1,
            last_committed_checkpoint: -1,
            pending_entries: 0,
            pending_bytes: 0,
            due_commits: 0,
            held_checkpoints: 0,
            awaited_writers: 0,
            stale_events: 0,
        };
        let bytes = entry(1, 1, "a").payload.len() as u64;
        let running = Status { phase: 2, ..none };
        let holds = Status { pending_entries: 1, pending_bytes: bytes, ..running };
        let due = Status { last_completed_checkpoint: 1, due_commits: 1, ..holds };
        let stale = Status { stale_events: 1, ..due };
        let done =
            Status { last_completed_checkpoint: 1, last_committed_checkpoint: 1, stale_events: 1, ..running };
        let expected = [
            Status { phase: 3, ..none },
            none,
            running,
            holds,
            due,
            stale,
            done,
            Status { phase: 3, ..done },
            Status { stale_events: 1, ..none },
            Status { stale_events: 1, ..running },
            Status { stale_events: 2, ..running },
        ];
        assert_eq!(shown, expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_core_logs_reaches_the_host() {
    with_loop(false, |job| async move {
        job.reset(1);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let calls = job.calls.lock().expect("not poisoned").clone();
        let running = |call: &Call| matches!(call, Call::Log(line) if line.contains("running") && line.contains("user-0"));
        assert!(calls.iter().any(|(_, call)| running(call)), "{calls:?}");
    })
    .await;
}
