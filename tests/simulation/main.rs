//! The coordinator in seeded worlds: tasks, a job manager, a file system and a table, each of which may die or dawdle.
//!
//! A world is drawn from a seed and runs in steps, each one chosen by weight among what may happen next; there is no
//! clock. After a while nothing goes wrong any more, and the job must come to its end. Time, randomness and ids are
//! arguments, so a seed is a world. A failure prints its seed and how to replay it; with `PWC_SIMULATION_SEED` set the
//! steps are printed. `PWC_SIMULATION_WORLDS` says how many worlds to run.
//!
//! What is asserted, at each step where it can change:
//! * no row (a source row, not a file) is in the table twice, and no file is;
//! * nothing is committed before a checkpoint that covers its rows has completed;
//! * identifiers of one commit user ascend, users come one after another, one commit is in flight at a time;
//! * a writer is told that a checkpoint is durable only when it is;
//! * the checkpoint bytes hold no key twice, and nothing that was reported as committed;
//! * futures and requests are answered once, and all of them when the coordinator fails or is closed;
//! * a closed coordinator commits nothing; the job is failed for known reasons only;
//! * when all writers have finished, every row is in the table; the same for a stop with savepoint, up to it;
//! * a healed world finishes.
//!
//! Facts of Flink that the world relies on, by the section of `FACTS.md`, part 2:
//! * 1.1: the order of `failed`, abort, `subtaskReset` and `ready`; `done(n)` may come after `subtaskReset(s, n)` and
//!   after a reset to n; `ready` precedes every event of its attempt; late calls reach a closed coordinator. Requests
//!   have no liveness check. Events of attempts that are over are delivered all the same now and then (s22).
//! * 2: the coordinator's part is taken before any barrier; checkpoints are triggered one after another, up to three are
//!   under way, a later one subsumes the earlier.
//! * 2.1: one task's messages stay in order; a message may be lost, which fails its task later (the ask times out); a plain
//!   savepoint is not notified; a checkpoint may be stored although it was reported as aborted.
//! * 4.1: an ended task waits for the first checkpoint triggered after its end, and then closes.
//! * 4.2: no state is kept for finished subtasks; once all writers have finished, restoring passes no bytes, and tasks
//!   deployed as finished send nothing.
//! * 4.6: stop with savepoint with and without drain; when a task fails after it, the job fails for good.
//! * 6: the adaptive scheduler makes a new coordinator at each failure, perhaps with another parallelism, and calls neither
//!   `failed` nor `subtaskReset`.
//! * 8: a region is one subtask, or all of them after a shuffle; a region restarts from the newest checkpoint.
//! * 11: a declined or expired checkpoint is aborted.
//!
//! Going back behind what is committed is Flink's own hole (4.6), and so is an older savepoint: what comes after the restored
//! point is written again. There only rows before that point must stay single, and rows written again must all arrive. What
//! a dead process still commits of the abandoned time lands before the job goes on, and a savepoint cannot be restored
//! any more once a failover went behind it: no coordinator could tell. Nor is one restored twice in which writers had ended:
//! what they wrote last is committed by the first job that ends, under a commit user that the savepoint does not know.
mod batch;
mod checkpoints;
mod committer;
mod failover;
mod messages;
mod plan;
mod questions;
mod random;
mod rules;
mod run;
mod steps;
#[path = "../support/mod.rs"]
mod support;
mod truth;
mod world;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use batch::BatchWorld;
use world::World;

const WORLDS: u64 = 200_000;
const SEED: &str = "PWC_SIMULATION_SEED";
const COUNT: &str = "PWC_SIMULATION_WORLDS";

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn run_streaming(seed: u64, tracing: bool) {
    World::new(seed, tracing).run();
}

fn run_batch(seed: u64, tracing: bool) {
    BatchWorld::new(seed, tracing).run();
}

/// Runs one world; an error is what it failed with.
fn run_world(run: fn(u64, bool), seed: u64, tracing: bool) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| run(seed, tracing))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
    })
}

/// Runs worlds on all processors; returns the seed of one that failed, and how.
fn run_worlds(run: fn(u64, bool), first: u64, worlds: u64, tracing: bool) -> Option<(u64, String)> {
    let end = first.saturating_add(worlds);
    let next = AtomicU64::new(first);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return None;
            }
            if let Err(message) = run_world(run, seed, tracing) {
                next.store(end, Ordering::Relaxed);
                return Some((seed, message));
            }
        }
    };
    let processors = if tracing { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("it catches panics")).min()
    })
}

#[test]
fn every_row_is_in_the_table_once_whatever_dies_in_whatever_order() {
    run_all(run_streaming, "every_row");
}

#[test]
fn s73_every_row_of_a_batch_job_is_in_the_table_once() {
    run_all(run_batch, "s73");
}

fn run_all(run: fn(u64, bool), name: &str) {
    let seed = from_environment(SEED);
    let worlds = from_environment(COUNT).unwrap_or(if seed.is_some() { 1 } else { WORLDS });
    // The failure is told below, with its seed; the backtraces of the threads, which have no names, would only hide it.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name().is_some() {
                hook(info);
            }
        }));
    });
    let failure = run_worlds(run, seed.unwrap_or(1), worlds, seed.is_some() && worlds == 1);
    if let Some((failed, message)) = failure {
        panic!(
            "world {failed}: {message}\nreplay it: {SEED}={failed} {COUNT}=1 cargo test --test simulation {name} -- --nocapture"
        );
    }
}
