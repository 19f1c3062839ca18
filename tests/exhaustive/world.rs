//! A model of Flink around one coordinator: what it may call, in which order, with what loss.
//!
//! The facts it relies on, from Flink's source (section numbers of the project's collection of facts):
//! * An attempt is announced before its first message, and sends nothing after its failure was told (1.1).
//! * A region failover tells the failure first; then, after a while in which everything else goes on, the pending
//!   checkpoints are aborted and the subtask is reset to the newest completed checkpoint (1.1). Savepoints are no
//!   candidates. Aborts may be told late or never.
//! * A global failover makes a new coordinator from the bytes of the newest completed checkpoint (1.1); a commit of the old
//!   one may have landed, be lost, or land afterwards.
//! * `notifyCheckpointComplete` may come late, also after a reset to that very checkpoint, twice, or never; savepoints get
//!   none, unless they stop the job (1.1, 2.1).
//! * The coordinator's part of a checkpoint comes before every writer's (2); a part that is held back holds the barriers
//!   and the next trigger. A checkpoint is triggered only while every task runs or has finished.
//! * Barriers overtake nothing: a writer handles checkpoints in their order. It acknowledges only after the coordinator has
//!   confirmed its entry. A completed checkpoint subsumes the earlier ones, but no savepoint (2.1).
//! * An ended task goes on taking part until a checkpoint triggered after its end has completed, and then asks (4.1).
//! * Of a subtask that had finished at the trigger a checkpoint keeps nothing; once all had, not even the coordinator's
//!   bytes, and restored writers say nothing (4.2).
//! * Operator state is handed out as it was, and split evenly when the parallelism changes (6).

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use paimon_writer_coordinator::coordinator::event::Event;
use paimon_writer_coordinator::settings::Settings;

use crate::machine::{Effect, Machine};
use crate::rows::Row;
use crate::support::{self, Table};
use crate::told::{Attempt, Told};

pub mod action;
mod checkpoints;
mod failover;
pub mod oracle;
mod perform;
pub mod task;

use action::{Limits, Scope};
use checkpoints::Checkpoint;
use task::{Stage, Task};

/// What the committer is doing with the commit that was handed over last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Committer {
    Idle,
    Busy,
    /// It failed, and waits to be asked again.
    Failed,
}

/// Everything but coordinator and table.
#[derive(Debug, Clone, Hash)]
pub struct Job {
    pub tasks: Vec<Task>,
    pub checkpoints: Vec<Checkpoint>,
    pub next_checkpoint: i64,
    pub next_attempt: i32,
    pub committer: Committer,
    /// The commit user for whom the committer is being opened.
    pub opening: Option<String>,
    pub spent: Limits,
    /// How often a user went back to an old checkpoint.
    pub branch: u8,
    /// Counts coordinators; their fresh commit users are named by it.
    pub begun: u8,
    /// Rows that a completed checkpoint covers.
    pub durable: BTreeSet<Row>,
}

/// One state of the small world.
pub struct World {
    pub scope: &'static Scope,
    pub machine: Machine,
    pub table: Table,
    /// A commit of a coordinator that is gone, which may still land.
    pub ghost: Option<paimon_writer_coordinator::coordinator::command::Commit>,
    pub job: Job,
}

impl World {
    /// A job that starts without state.
    pub fn start(scope: &'static Scope) -> Self {
        let mut world = Self {
            scope,
            machine: Machine::new(settings(scope, scope.parallelism)),
            table: Table { forces_empty_snapshots: scope.forces_empty_snapshots, ..Table::default() },
            ghost: None,
            job: Job {
                tasks: tasks_of(scope),
                checkpoints: Vec::new(),
                next_checkpoint: 1,
                next_attempt: 1,
                committer: Committer::Idle,
                opening: None,
                spent: Limits::default(),
                branch: 0,
                begun: 0,
                durable: BTreeSet::new(),
            },
        };
        world.begin(None);
        for subtask in 0..scope.parallelism {
            world.recover(subtask);
        }
        for &action in scope.prefix {
            world.perform(action);
        }
        world.job.spent = Limits::default();
        world
    }

    pub fn fork(&self) -> Self {
        Self {
            scope: self.scope,
            machine: self.machine.fork(),
            table: self.table.clone(),
            ghost: self.ghost.clone(),
            job: self.job.clone(),
        }
    }

    /// Names the state: worlds with the same name have the same future.
    pub fn name(&self) -> u64 {
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        self.job.hash(&mut hasher);
        for snapshot in &self.table.snapshots {
            (&snapshot.commit_user, snapshot.identifier, snapshot.watermark, &snapshot.files)
                .hash(&mut hasher);
        }
        format!("{:?}", self.ghost).hash(&mut hasher);
        self.machine.hash_state(&mut hasher);
        hasher.finish()
    }

    pub fn parallelism(&self) -> usize {
        self.job.tasks.len()
    }

    /// All tasks have finished, and nothing else keeps the job alive.
    pub fn is_finished(&self) -> bool {
        !self.scope.outlives_writers && self.job.tasks.iter().all(|task| task.stage == Stage::Finished)
    }

    fn attempt(&self, subtask: usize) -> Attempt {
        Attempt { subtask, attempt: self.job.tasks[subtask].attempt }
    }

    /// Begins a coordinator: fresh, or from a checkpoint.
    fn begin(&mut self, restored: Option<(i64, Option<bytes::Bytes>)>) {
        self.job.begun += 1;
        let fresh_user = format!("fresh-{}", self.job.begun);
        let (restored, state) = match restored {
            Some((checkpoint, state)) => (Some(checkpoint), state),
            None => (None, None),
        };
        let remembered = state.as_ref().map(|bytes| crate::told::Remembered::decode(bytes));
        let told = Told::Begin { restored, remembered, fresh_user: fresh_user.clone() };
        let event = Event::Begin { restored_checkpoint_id: restored, state, fresh_commit_user: fresh_user };
        self.tell(told, event);
    }

    fn tell(&mut self, told: Told, event: Event) {
        let effects = self.machine.tell(told, event);
        self.follow(effects);
    }

    /// Lets what was said have its effect.
    fn follow(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Open { user } => {
                    self.job.opening = Some(user);
                    if !self.scope.opens_slowly {
                        self.open();
                    }
                }
                Effect::Commit => self.handed_over(),
                Effect::Completed { checkpoint, bytes } => self.part_completed(checkpoint, Some(bytes)),
                Effect::Declined { checkpoint } => self.part_completed(checkpoint, None),
                Effect::Answered { request, answer, committed_through } => {
                    self.answered(request, answer, committed_through);
                }
            }
        }
    }

    /// The table answers the opening of the committer.
    fn open(&mut self) {
        let user = self.job.opening.take().expect("the committer is being opened");
        let latest = self.table.latest_identifier(&user);
        self.tell(Told::Opened { latest }, Event::CommitterOpened { latest_identifier: latest });
    }
}

fn tasks_of(scope: &Scope) -> Vec<Task> {
    let lanes = scope.parallelism.max(scope.other_parallelism);
    (0..scope.parallelism).map(|subtask| Task::new(subtask, scope.parallelism, lanes)).collect()
}

/// Limits that a short sequence can reach.
pub fn settings(scope: &Scope, parallelism: usize) -> Settings {
    Settings {
        max_due_commits: scope.max_due_commits,
        commit_retries: 1,
        ..support::settings(parallelism as u32)
    }
}
