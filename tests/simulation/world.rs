//! Everything there is, and how the coordinator is called: its commands are executed here and checked on the way.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::Coordinator;
use paimon_writer_coordinator::coordinator::command::{Answer, Command, Timer};
use paimon_writer_coordinator::coordinator::event::Event;
use paimon_writer_coordinator::error::Error;
use paimon_writer_coordinator::settings::Settings;

use crate::checkpoints::{Completed, Notice, Pending};
use crate::committer::{Committer, Orphan, Work};
use crate::failover::Restart;
use crate::plan::{Plan, Weights};
use crate::random::Random;
use crate::rules::History;
use crate::support::{self, Table};
use crate::truth::Truth;
use crate::writer::Task;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All sources were exhausted.
    Exhausted,
    /// A stop with savepoint succeeded.
    Stopped,
    /// It ended FAILED: Flink does so when a task fails after the savepoint of a stop had completed.
    Failed,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) plan: Plan,
    pub(crate) weights: Weights,
    tracing: bool,
    pub(crate) healed: bool,
    pub(crate) outcome: Option<Outcome>,

    pub(crate) table: Table,
    pub(crate) truth: Truth,
    /// How far the sources have got, for each split.
    pub(crate) offsets: Vec<u32>,

    pub(crate) core: Coordinator,
    pub(crate) settings: Settings,
    pub(crate) epoch: i64,
    pub(crate) timers: BTreeMap<Timer, u64>,
    /// Checkpoint futures that the coordinator holds, by name.
    pub(crate) futures: BTreeMap<i64, i64>,
    /// Requests that the coordinator holds, and the incarnation that asks.
    pub(crate) requests: BTreeMap<i64, u128>,
    pub(crate) committer: Committer,
    pub(crate) orphans: Vec<Orphan>,
    pub(crate) job_failure: Option<Error>,
    pub(crate) history: History,

    pub(crate) notices: VecDeque<Notice>,
    pub(crate) pending: BTreeMap<i64, Pending>,
    pub(crate) completed: Vec<Completed>,
    /// Savepoints that may be restored: nothing has gone back behind them since.
    pub(crate) savepoints: Vec<Completed>,
    /// Stored, although it was reported as aborted.
    pub(crate) hidden: Option<Completed>,
    /// The newest checkpoint that commits may rely on, -1 for none.
    pub(crate) covering_id: i64,
    pub(crate) stopped: Option<Completed>,
    /// Restored once already, with ends that wait: see [`crate`].
    pub(crate) spent: Option<i64>,
    pub(crate) branch_done: bool,

    pub(crate) parallelism: usize,
    pub(crate) tasks: Vec<Task>,
    pub(crate) zombies: Vec<Task>,
    pub(crate) attempts: Vec<i32>,
    pub(crate) vertex_finished: bool,
    pub(crate) restarts: Vec<Restart>,

    pub(crate) next_checkpoint: i64,
    pub(crate) next_future: i64,
    pub(crate) next_request: i64,
    pub(crate) next_incarnation: u128,
    pub(crate) jobs: u32,
}

impl World {
    pub(crate) fn new(seed: u64, tracing: bool) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::draw(&mut random);
        let splits = plan.split_lengths.len();
        let settings = Settings {
            max_due_commits: plan.max_due_commits,
            commit_retries: plan.commit_retries,
            ..support::settings(plan.parallelism as u32)
        };
        let mut world = Self {
            random,
            weights: plan.weights.clone(),
            tracing,
            healed: false,
            outcome: None,
            table: Table { forces_empty_snapshots: plan.forces_empty_snapshots, ..Table::default() },
            truth: Truth::new(splits),
            offsets: vec![0; splits],
            core: Coordinator::new(settings.clone()),
            settings,
            epoch: 0,
            timers: BTreeMap::new(),
            futures: BTreeMap::new(),
            requests: BTreeMap::new(),
            committer: Committer::default(),
            orphans: Vec::new(),
            job_failure: None,
            history: History::default(),
            notices: VecDeque::new(),
            pending: BTreeMap::new(),
            completed: Vec::new(),
            savepoints: Vec::new(),
            hidden: None,
            covering_id: -1,
            stopped: None,
            spent: None,
            branch_done: !plan.other_branch,
            parallelism: plan.parallelism,
            tasks: Vec::new(),
            zombies: Vec::new(),
            attempts: Vec::new(),
            vertex_finished: false,
            restarts: Vec::new(),
            next_checkpoint: 1,
            next_future: 0,
            next_request: 0,
            next_incarnation: 0,
            jobs: 1,
            plan,
        };
        world.note(|world| format!("{:?}", world.plan));
        world.begin_epoch(None);
        world.deploy_all(None);
        world
    }

    pub(crate) fn note(&self, line: impl FnOnce(&Self) -> String) {
        if self.tracing {
            println!("{}", line(self));
        }
    }

    /// A new core, as after a start or a reset.
    pub(crate) fn begin_epoch(&mut self, restored: Option<&Completed>) {
        self.epoch += 1;
        self.timers.clear();
        self.futures.clear();
        self.requests.clear();
        self.history = History::default();
        self.job_failure = None;
        self.settings.parallelism = self.parallelism as u32;
        self.core = Coordinator::new(self.settings.clone());
        let fresh_commit_user = format!("fresh-{}-{}", self.jobs, self.epoch);
        self.step_core(Event::Begin {
            restored_checkpoint_id: restored.map(|restored| restored.checkpoint_id),
            state: restored.and_then(|restored| restored.coordinator.clone()),
            fresh_commit_user,
        });
    }

    pub(crate) fn step_core(&mut self, event: Event) {
        self.note(|_| format!("  core <- {}", brief(&event)));
        let commands = self.core.step(event);
        for command in commands {
            self.execute(command);
        }
        if self.job_failure.is_some() {
            assert!(self.futures.is_empty(), "a failed coordinator holds futures: {:?}", self.futures);
            assert!(self.requests.is_empty(), "a failed coordinator holds requests: {:?}", self.requests);
        }
    }

    fn execute(&mut self, command: Command) {
        if !matches!(command, Command::SetTimer { .. } | Command::CancelTimer(_)) {
            self.note(|_| format!("  core -> {}", brief(&command)));
        }
        match command {
            Command::OpenCommitter { commit_user, .. } => {
                self.committer.queue.push_back((self.epoch, Work::Open { commit_user }));
            }
            Command::Commit(commit) => {
                self.check_commit(&commit);
                self.committer.queue.push_back((self.epoch, Work::Commit(commit)));
            }
            Command::DeleteTag { commit_user, identifier } => {
                let restorable = self.savepoints.iter().any(|it| it.checkpoint_id == identifier);
                assert!(!restorable, "the tag of savepoint {identifier} is deleted, which was not aborted");
                self.table.delete_tag(&commit_user, identifier);
            }
            Command::CompleteCheckpoint { future, state } => {
                let checkpoint_id = self.futures.remove(&future.0).expect("a future is completed once");
                self.check_state(&state);
                self.coordinator_answered(checkpoint_id, Some(state.into()));
            }
            Command::FailCheckpoint { future, .. } => {
                let checkpoint_id = self.futures.remove(&future.0).expect("a future is completed once");
                self.coordinator_answered(checkpoint_id, None);
            }
            Command::Answer { request, answer, committed_through } => {
                let asker = self.requests.remove(&request.0).expect("a request is answered once");
                self.reply(asker, request.0, answer, committed_through);
            }
            Command::SetTimer { timer, after_millis } => {
                self.timers.insert(timer, after_millis);
            }
            Command::CancelTimer(timer) => {
                self.timers.remove(&timer);
            }
            Command::FailJob(error) => {
                self.check_failure(&error);
                self.job_failure = Some(error);
            }
        }
    }

    fn reply(&mut self, asker: u128, request: i64, answer: Answer, committed_through: i64) {
        let lost = self.random.percent(self.weights.lose_reply);
        let asks = |task: &&Task| task.incarnation == asker;
        let Some(task) = self.tasks.iter().chain(&self.zombies).find(asks) else {
            return;
        };
        self.check_answer(task, answer, committed_through);
        let mut everyone = self.tasks.iter_mut().chain(&mut self.zombies);
        let Some(task) = everyone.find(|task| task.incarnation == asker) else {
            return;
        };
        if !lost {
            task.replies.push_back((request, answer, committed_through));
        } else if let Some(asked) = task.asked.as_mut().filter(|asked| asked.request == request) {
            asked.lost = true;
        }
    }

    pub(crate) fn latest(&self) -> Option<Completed> {
        self.completed.last().cloned()
    }
}

/// A line of a trace, without the bytes.
fn brief(what: &impl std::fmt::Debug) -> String {
    let mut line = format!("{what:?}");
    for marker in ["state: Some(b", "bytes: b", "state: ["] {
        if let Some(start) = line.find(marker) {
            line.truncate(start + marker.len());
            line.push('…');
        }
    }
    line
}

/// The checkpoint bytes of a coordinator's answer.
pub(crate) type StateBytes = Option<Bytes>;
