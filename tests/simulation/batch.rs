//! A job without checkpoints: waves of tasks, tasks that run again or twice at once, a job manager that is lost.
//!
//! Facts of Flink, by the section of `FACTS.md`, part 2, beside those of the other worlds:
//! * 5.1: a failed region is reset to -1, and finished tasks with it when what they read is gone; all together begin with
//!   nothing after a global failover.
//! * 5.2: bytes are taken when a task finishes, or later. A new job manager starts a coordinator, resets it to the newest
//!   bytes, perhaps twice, and then resets every task that had not finished by then; attempts count from 0 again.
//! * 5.3: of two attempts the first to finish counts, and the other is cancelled.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::Coordinator;
use paimon_writer_coordinator::coordinator::command::{
    Answer, Command, Commit, CommitId, FutureId, RequestId, Timer,
};
use paimon_writer_coordinator::coordinator::event::{Event, Failure, FailureClass};
use paimon_writer_coordinator::settings::Settings;

use crate::random::Random;
use crate::support::{MAX, Table, chunks, encode_entry, encode_request, end_entry, files_of, settings};

const STEPS_MAX: usize = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Writes,
    Reported,
    Asked(i64),
    Done,
}

/// What a task sends to the job manager; one task's messages stay in order.
#[derive(Debug)]
enum Message {
    Event(Bytes),
    Request(i64, Bytes),
    Finished,
}

/// One attempt of a writer.
#[derive(Debug)]
struct Task {
    subtask: usize,
    attempt: i32,
    incarnation: u128,
    stage: Stage,
    outbox: VecDeque<Message>,
}

impl Task {
    fn file(&self) -> String {
        format!("{}-{}", self.subtask, self.incarnation)
    }

    fn report(&self) -> Bytes {
        encode_entry(&end_entry(self.incarnation, -1, &self.file()))
    }
}

/// What of a job survives its job manager: the finished tasks, and the coordinator's bytes.
#[derive(Debug, Clone)]
struct Recorded {
    finished: BTreeSet<usize>,
    bytes: Bytes,
}

/// One job, its table and its cluster.
pub(crate) struct BatchWorld {
    random: Random,
    tracing: bool,
    healed: bool,
    settings: Settings,
    slots: usize,
    speculates: bool,
    recovers: bool,
    core: Coordinator,
    table: Table,
    deleted: BTreeSet<String>,
    opening: bool,
    commit: Option<Commit>,
    /// Commits of job managers that are lost.
    orphans: Vec<Commit>,
    timers: BTreeSet<Timer>,
    futures: BTreeMap<i64, Option<Bytes>>,
    answers: BTreeMap<i64, Answer>,
    tasks: Vec<Task>,
    finished: BTreeSet<usize>,
    attempts: Vec<i32>,
    recorded: Option<Recorded>,
    unrecorded: bool,
    failing: bool,
    next: i64,
}

impl BatchWorld {
    pub(crate) fn new(seed: u64, tracing: bool) -> Self {
        let mut random = Random::new(seed ^ 0x6261_7463_6800_0000);
        let parallelism = random.between(1, 4);
        let settings =
            Settings { checkpointing_enabled: false, commit_retries: 1, ..settings(parallelism as u32) };
        let mut world = Self {
            slots: random.between(1, parallelism + 1),
            speculates: random.percent(30),
            recovers: random.percent(70),
            random,
            tracing,
            healed: false,
            core: Coordinator::new(settings.clone()),
            settings,
            table: Table::default(),
            deleted: BTreeSet::new(),
            opening: false,
            commit: None,
            orphans: Vec::new(),
            timers: BTreeSet::new(),
            futures: BTreeMap::new(),
            answers: BTreeMap::new(),
            tasks: Vec::new(),
            finished: BTreeSet::new(),
            attempts: vec![0; parallelism],
            recorded: None,
            unrecorded: false,
            failing: false,
            next: 0,
        };
        world.begin(None);
        world
    }

    /// The job must come to its end with each row in the table once.
    pub(crate) fn run(&mut self) {
        let chaos = self.random.between(20, 150);
        for step in 0..STEPS_MAX {
            self.healed = step >= chaos;
            // The job's other tasks may go on for as long as things go wrong.
            if self.is_finished() && (self.healed || self.random.percent(5)) {
                return;
            }
            self.step();
        }
        panic!("a healed job does not finish in {STEPS_MAX} steps");
    }

    fn is_finished(&self) -> bool {
        let all = self.finished.len() == self.attempts.len();
        if all {
            for subtask in 0..self.attempts.len() {
                assert_eq!(self.sets_of(subtask), 1, "subtask {subtask} has finished: {:?}", self.table);
            }
        }
        all
    }

    fn sets_of(&self, subtask: usize) -> usize {
        let of_subtask = |file: &&String| file.split('-').next() == Some(&subtask.to_string());
        self.table.files().iter().filter(of_subtask).count()
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if self.tracing {
            println!("{}", text());
        }
    }

    fn step(&mut self) {
        if self.failing {
            self.fail_over();
        }
        let trouble = |weight: usize| if self.healed { 0 } else { weight };
        let weights = [10, 40, 20, 30, 5, trouble(3), trouble(2), trouble(1), trouble(2), trouble(2)];
        match self.random.weighted(&weights) {
            Some(0) => self.deploy(),
            Some(1) => self.advance_task(),
            Some(2) => self.commit_or_open(),
            Some(3) => self.deliver(),
            Some(4) => self.fire(),
            Some(5) => self.fail_region(),
            Some(6) => self.failing = true,
            Some(7) => self.lose_job_manager(),
            Some(8) => self.land_orphan(),
            _ => self.record(),
        }
    }

    fn deploy(&mut self) {
        let running: Vec<usize> = self.tasks.iter().map(|task| task.subtask).collect();
        let may_run = |subtask: &usize| {
            !self.finished.contains(subtask)
                && (!running.contains(subtask)
                    || self.speculates && running.iter().filter(|&of| of == subtask).count() < 2)
        };
        let candidates: Vec<usize> = (0..self.attempts.len()).filter(may_run).collect();
        if running.len() >= self.slots || candidates.is_empty() {
            return;
        }
        let subtask = candidates[self.random.below(candidates.len())];
        let attempt = self.attempts[subtask];
        self.attempts[subtask] += 1;
        self.next += 1;
        let incarnation = self.next as u128;
        let outbox = VecDeque::new();
        self.tasks.push(Task { subtask, attempt, incarnation, stage: Stage::Writes, outbox });
        self.tell(Event::AttemptReady { subtask: subtask as i32, attempt });
    }

    fn advance_task(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        let index = self.random.below(self.tasks.len());
        match self.tasks[index].stage {
            Stage::Writes => self.report(index),
            Stage::Reported => self.ask(index),
            Stage::Asked(request) => match self.answers.remove(&request) {
                None => {}
                Some(Answer::Go) => self.end_task(index),
                Some(Answer::GoUnused) => {
                    let file = self.tasks[index].file();
                    assert!(!self.table.files().contains(&file), "{file} is used");
                    self.deleted.insert(file);
                    self.end_task(index);
                }
                Some(Answer::Wait) => self.ask(index),
                Some(Answer::Resend) => self.report(index),
                Some(Answer::Rejected | Answer::Held) => self.fail_task(index),
            },
            Stage::Done => {}
        }
    }

    fn report(&mut self, index: usize) {
        let size = self.random.between(30, 200);
        let task = &mut self.tasks[index];
        task.stage = Stage::Reported;
        let body = task.report();
        let chunks = chunks(1, task.incarnation, task.attempt, MAX, &body, size);
        task.outbox.extend(chunks.into_iter().map(Message::Event));
    }

    fn ask(&mut self, index: usize) {
        self.next += 1;
        let request = self.next;
        let task = &mut self.tasks[index];
        let Task { subtask, attempt, incarnation, .. } = *task;
        let bytes = encode_request(2, subtask as i32, attempt, incarnation, -1, true, &task.report());
        task.stage = Stage::Asked(request);
        task.outbox.push_back(Message::Request(request, bytes));
    }

    fn end_task(&mut self, index: usize) {
        let task = &mut self.tasks[index];
        task.stage = Stage::Done;
        task.outbox.push_back(Message::Finished);
    }

    fn deliver(&mut self) {
        let senders: Vec<usize> =
            (0..self.tasks.len()).filter(|&index| !self.tasks[index].outbox.is_empty()).collect();
        if senders.is_empty() {
            return;
        }
        let index = senders[self.random.below(senders.len())];
        let lost = !self.healed && self.random.percent(5);
        let task = &mut self.tasks[index];
        let (subtask, attempt) = (task.subtask as i32, task.attempt);
        match task.outbox.pop_front() {
            Some(Message::Event(_)) if lost => {}
            Some(Message::Event(bytes)) => self.tell(Event::WriterEvent { subtask, attempt, bytes }),
            // An ask that is not answered in time is asked again.
            Some(Message::Request(..)) if lost => task.stage = Stage::Reported,
            Some(Message::Request(request, bytes)) => {
                self.tell(Event::Request { request: RequestId(request), bytes });
            }
            Some(Message::Finished) => self.task_finished(index),
            None => {}
        }
    }

    fn task_finished(&mut self, index: usize) {
        let subtask = self.tasks.remove(index).subtask;
        self.finished.insert(subtask);
        while let Some(slower) = self.tasks.iter().position(|task| task.subtask == subtask) {
            let attempt = self.tasks.remove(slower).attempt;
            self.tell(Event::AttemptFailed { subtask: subtask as i32, attempt });
        }
        self.unrecorded = true;
        if self.random.percent(60) {
            self.record();
        } else if self.random.percent(20)
            && let Some(recorded) = &mut self.recorded
        {
            // After some losses Flink takes a task for finished that the bytes do not know.
            recorded.finished.insert(subtask);
        }
    }

    /// Flink's job event: which tasks have finished, with the coordinator's bytes.
    fn record(&mut self) {
        if !self.recovers || !std::mem::take(&mut self.unrecorded) {
            return;
        }
        self.next += 1;
        let future = self.next;
        self.tell(Event::Checkpoint { checkpoint_id: -1, future: FutureId(future) });
        let bytes = self.futures.remove(&future).flatten().expect("batch snapshots are completed at once");
        self.recorded = Some(Recorded { finished: self.finished.clone(), bytes });
    }

    fn fail_task(&mut self, index: usize) {
        let task = self.tasks.remove(index);
        let subtask = task.subtask;
        self.tell(Event::AttemptFailed { subtask: subtask as i32, attempt: task.attempt });
        if !self.tasks.iter().any(|other| other.subtask == subtask) {
            self.tell(Event::SubtaskReset { subtask: subtask as i32, checkpoint_id: -1 });
        }
    }

    /// A task fails, or a task manager with what several tasks have read.
    fn fail_region(&mut self) {
        if self.random.percent(60) {
            if !self.tasks.is_empty() {
                let index = self.random.below(self.tasks.len());
                self.fail_task(index);
            }
            return;
        }
        let chance = self.random.between(10, 100);
        let all = 0..self.attempts.len();
        let affected: Vec<usize> = all.filter(|_| self.random.percent(chance)).collect();
        self.reset(&affected);
    }

    fn reset(&mut self, affected: &[usize]) {
        for &subtask in affected {
            let mut attempts: Vec<i32> = vec![self.attempts[subtask] - 1];
            self.tasks.retain(|task| {
                if task.subtask == subtask {
                    attempts.push(task.attempt);
                }
                task.subtask != subtask
            });
            for attempt in attempts {
                self.tell(Event::AttemptFailed { subtask: subtask as i32, attempt });
            }
        }
        for &subtask in affected {
            self.finished.remove(&subtask);
            // Flink records that, too.
            if let Some(recorded) = &mut self.recorded {
                recorded.finished.remove(&subtask);
            }
            self.tell(Event::SubtaskReset { subtask: subtask as i32, checkpoint_id: -1 });
        }
    }

    /// Everything begins with nothing; the committer's thread and its commit are the same.
    fn fail_over(&mut self) {
        self.note(|| "global failover".to_owned());
        self.failing = false;
        self.tasks.clear();
        self.finished.clear();
        self.recorded = None;
        self.unrecorded = false;
        if let Some(commit) = self.commit.take()
            && self.random.percent(50)
        {
            // It has ended, one way or the other, before the new epoch looks at the table.
            self.land(&commit);
        }
        self.begin(None);
    }

    fn lose_job_manager(&mut self) {
        self.tasks.clear();
        self.orphans.extend(self.commit.take());
        self.attempts.fill(0);
        self.begin(None);
        self.finished.clear();
        self.unrecorded = false;
        let Some(recorded) = self.recorded.clone().filter(|_| self.recovers) else {
            self.note(|| "the job manager is lost, and everything with it".to_owned());
            self.recorded = None;
            return;
        };
        self.note(|| format!("the job manager is lost; {:?} had finished", recorded.finished));
        for _ in 0..self.random.between(1, 2) {
            self.begin(Some(recorded.bytes.clone()));
            if self.random.percent(20) {
                self.commit_or_open();
            }
        }
        self.finished = recorded.finished;
        self.tell(Event::BatchSnapshotsAskedFor);
        let unfinished: Vec<usize> =
            (0..self.attempts.len()).filter(|subtask| !self.finished.contains(subtask)).collect();
        for &subtask in &unfinished {
            self.attempts[subtask] = 1;
        }
        self.reset(&unfinished);
        if self.random.percent(20) {
            let lost: Vec<usize> =
                self.finished.clone().into_iter().filter(|_| self.random.percent(50)).collect();
            self.reset(&lost);
        }
    }

    fn begin(&mut self, state: Option<Bytes>) {
        self.tell(Event::Close);
        assert!(self.futures.values().all(Option::is_some), "a future is left");
        self.core = Coordinator::new(self.settings.clone());
        self.opening = false;
        self.commit = None;
        self.timers.clear();
        self.answers.clear();
        self.tell(Event::Begin {
            restored_checkpoint_id: None,
            state,
            fresh_commit_user: "fresh".to_owned(),
        });
    }

    fn commit_or_open(&mut self) {
        let fails = !self.healed && self.random.percent(15);
        let class = if self.random.percent(70) { FailureClass::Retryable } else { FailureClass::FailJob };
        let failure = Failure { class, message: "disk on fire".to_owned() };
        if self.opening {
            self.opening = false;
            let latest_identifier = self.table.latest_identifier("user-0");
            let opened = Event::CommitterOpened { latest_identifier };
            self.tell(if fails { Event::CommitterFailed(failure) } else { opened });
        } else if let Some(commit) = self.commit.take() {
            let CommitId(id) = commit.commit;
            if !fails || self.random.percent(50) {
                self.land(&commit);
            }
            let snapshot_id = self.table.snapshot_id("user-0");
            let done = Event::Committed { commit: CommitId(id), snapshot_id, committer_state: None };
            self.tell(if fails { Event::CommitFailed { commit: CommitId(id), failure } } else { done });
        }
    }

    fn land(&mut self, commit: &Commit) {
        self.note(|| format!("lands: {:?}", files_of(commit)));
        assert_eq!((commit.commit_user.as_str(), commit.identifier), ("user-0", MAX));
        let before = self.table.snapshots.len();
        self.table.commit(commit);
        if self.table.snapshots.len() > before {
            let deleted = self.table.files().iter().any(|file| self.deleted.contains(file));
            assert!(!deleted, "committed without its files: {:?}", files_of(commit));
        }
        for subtask in 0..self.attempts.len() {
            assert!(self.sets_of(subtask) <= 1, "twice: {:?}", self.table);
        }
    }

    fn land_orphan(&mut self) {
        if let Some(orphan) = self.orphans.pop()
            && self.random.percent(70)
        {
            self.land(&orphan);
        }
    }

    fn fire(&mut self) {
        let timers: Vec<Timer> = self.timers.iter().copied().collect();
        if !timers.is_empty() {
            let timer = timers[self.random.below(timers.len())];
            self.timers.remove(&timer);
            self.tell(Event::TimerFired(timer));
        }
    }

    fn tell(&mut self, event: Event) {
        self.note(|| format!("{event:?}"));
        if let Event::Checkpoint { future, .. } = &event {
            self.futures.insert(future.0, None);
        }
        for command in self.core.step(event) {
            self.note(|| format!("    {command:?}"));
            match command {
                Command::OpenCommitter { .. } => self.opening = true,
                Command::Commit(commit) => {
                    assert!(self.commit.is_none(), "one commit at a time");
                    self.commit = Some(commit);
                }
                Command::CompleteCheckpoint { future, state } => {
                    let earlier = self.futures.insert(future.0, Some(state.into()));
                    assert_eq!(earlier, Some(None), "a future is completed once");
                }
                Command::FailCheckpoint { message, .. } => panic!("Flink records nothing more: {message}"),
                Command::Answer { request, answer, .. } => {
                    let earlier = self.answers.insert(request.0, answer);
                    assert_eq!(earlier, None, "a request is answered once");
                }
                Command::SetTimer { timer, .. } => {
                    self.timers.insert(timer);
                }
                Command::CancelTimer(timer) => {
                    self.timers.remove(&timer);
                }
                Command::FailJob(error) => {
                    self.note(|| error.to_string());
                    self.failing = true;
                }
                Command::DeleteTag { .. } => panic!("there are no savepoints"),
            }
        }
    }
}
