//! What kind of world it is. Each world leaves out most of what could go wrong, so that rare things meet each other.

use crate::random::Random;

/// Drawn once for each world.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) parallelism: usize,
    /// The adaptive scheduler makes a new coordinator at each failure and never resets a subtask alone.
    pub(crate) adaptive: bool,
    /// All writers are one failover region, as after a shuffle.
    pub(crate) joined_region: bool,
    /// Another branch keeps the job alive when all writers have finished.
    pub(crate) other_branch: bool,
    pub(crate) bounded: bool,
    /// Writers acknowledge before they are confirmed, so `done(n)` may come before an entry for n does (s03).
    pub(crate) acknowledges_early: bool,
    pub(crate) concurrent_checkpoints: usize,
    pub(crate) chunk_size: usize,
    pub(crate) max_due_commits: u32,
    pub(crate) commit_retries: u32,
    pub(crate) forces_empty_snapshots: bool,
    pub(crate) restart_tolerates_expiry: bool,
    /// Rows of each source split; those of unbounded splits only bound how long a world takes.
    pub(crate) split_lengths: Vec<u32>,
    pub(crate) chaos_steps: usize,
    pub(crate) lives: usize,
    pub(crate) weights: Weights,
}

/// How often each thing is tried, relative to the others; 0 for never.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    pub(crate) emit: usize,
    pub(crate) end_input: usize,
    pub(crate) task: usize,
    pub(crate) deliver: usize,
    pub(crate) notice: usize,
    pub(crate) commit: usize,
    pub(crate) checkpoint: usize,
    pub(crate) savepoint: usize,
    pub(crate) stop: usize,
    pub(crate) restart: usize,
    pub(crate) timer: usize,
    pub(crate) expire: usize,
    pub(crate) fail_task: usize,
    pub(crate) zombie: usize,
    pub(crate) crash: usize,
    pub(crate) global_failure: usize,
    pub(crate) resubmit: usize,
    pub(crate) orphan: usize,
    // Percentages from here on: what goes wrong when something is done.
    pub(crate) lose_message: usize,
    pub(crate) lose_reply: usize,
    pub(crate) stale_event: usize,
    pub(crate) repeat_event: usize,
    pub(crate) commit_failure: usize,
    pub(crate) repeat_notice: usize,
    pub(crate) lose_notice: usize,
    pub(crate) inconsistent_store: usize,
}

impl Plan {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let bounded = random.percent(60);
        let longest = random.between(1, 7);
        let splits = random.between(1, 5);
        Self {
            parallelism: random.between(1, 4).min(random.between(1, 4)),
            adaptive: random.percent(20),
            joined_region: random.percent(25),
            other_branch: random.percent(35),
            bounded,
            acknowledges_early: random.percent(12),
            concurrent_checkpoints: random.between(1, 3),
            chunk_size: if random.percent(15) { 50 } else { 1 << 20 },
            max_due_commits: random.between(1, 3) as u32,
            commit_retries: random.below(3) as u32,
            forces_empty_snapshots: random.percent(30),
            restart_tolerates_expiry: random.percent(50),
            split_lengths: (0..splits)
                .map(|_| if bounded { random.between(0, longest) as u32 } else { 12 })
                .collect(),
            chaos_steps: random.between(20, 400),
            lives: random.between(1, 3),
            weights: Weights::draw(random),
        }
    }
}

impl Plan {
    /// Where little may be lost, it is lost more often, and noticed later.
    pub(crate) fn loss_factor(&self) -> usize {
        if self.acknowledges_early { 5 } else { 1 }
    }
}

impl Weights {
    fn draw(random: &mut Random) -> Self {
        let mut fault = |weight: usize| if random.percent(50) { random.between(1, weight) } else { 0 };
        let [fail_task, zombie, crash, global_failure] = [fault(10), fault(6), fault(6), fault(3)];
        let [resubmit, savepoint, stop, expire] = [fault(3), fault(8), fault(4), fault(4)];
        let [lose_message, lose_reply, stale_event, repeat_event] =
            [fault(8), fault(10), fault(80), fault(10)];
        let [commit_failure, repeat_notice, lose_notice] = [fault(60), fault(20), fault(30)];
        let inconsistent_store = fault(25);
        Self {
            emit: random.between(10, 100),
            end_input: random.between(4, 40),
            task: random.between(100, 300),
            deliver: random.between(80, 300),
            notice: random.between(15, 150),
            commit: random.between(10, 150),
            checkpoint: random.between(10, 80),
            savepoint,
            stop,
            restart: random.between(10, 100),
            timer: random.between(1, 30),
            expire,
            fail_task,
            zombie,
            crash,
            global_failure,
            resubmit,
            orphan: random.between(2, 20),
            lose_message,
            lose_reply,
            stale_event,
            repeat_event,
            commit_failure,
            repeat_notice,
            lose_notice,
            inconsistent_store,
        }
    }

    /// The same world once nothing goes wrong any more.
    pub(crate) fn healed(&self) -> Self {
        Self {
            emit: 20,
            end_input: 20,
            task: 60,
            deliver: 60,
            notice: 40,
            commit: 40,
            checkpoint: 10,
            restart: 40,
            orphan: 20,
            // Only tries again what failed before; see `fire_timer`.
            timer: 20,
            savepoint: 0,
            stop: 0,
            expire: 0,
            fail_task: 0,
            zombie: 0,
            crash: 0,
            global_failure: 0,
            resubmit: 0,
            lose_message: 0,
            lose_reply: 0,
            stale_event: 0,
            repeat_event: 0,
            commit_failure: 0,
            repeat_notice: 0,
            lose_notice: 0,
            inconsistent_store: 0,
        }
    }
}
