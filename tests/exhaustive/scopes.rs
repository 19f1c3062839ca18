//! The corners of the small world that are explored completely. Each is as long as its share of a minute allows.

use crate::explore::explore;
use crate::world::action::Action::{
    self, Barrier, Complete, Crash, Done, End, Fail, Land, Open, Recover, Reset, Trigger, TriggerSavepoint,
};
use crate::world::action::{Fate, Limits, Scope};

/// Checkpoint 1 of one writer is in the table.
const ONE_OF_ONE: &[Action] = &[Trigger, Barrier(0), Done(1), Land];
/// The same of two.
const ONE_OF_TWO: &[Action] = &[Trigger, Barrier(0), Barrier(1), Done(1), Land];

macro_rules! scopes {
    ($($test:ident: $name:literal { $($field:ident: $value:expr),* $(,)? } limits { $($limit:ident: $times:expr),* $(,)? })*) => {
        $(
            #[test]
            fn $test() {
                static SCOPE: Scope = Scope {
                    name: $name,
                    limits: Limits { $($limit: $times,)* ..Limits::NONE },
                    $($field: $value,)*
                    ..Scope::PLAIN
                };
                explore(&SCOPE);
            }
        )*
    };
}

scopes! {
    one_writer: "one writer, everything that fails" {
        length: 9, inputs_end: true,
    } limits { checkpoints: 3, failures: 1, crashes: 1, commit_failures: 1, aborts: 1 }

    one_writer_goes_back: "one writer, savepoints and going back" {
        length: 9, prefix: ONE_OF_ONE, inputs_end: true,
    } limits { checkpoints: 2, savepoints: 1, going_back: 1, crashes: 1 }

    savepoints_are_aborted: "one writer, savepoints that are aborted and failing commits" {
        length: 11, prefix: &[Trigger, Barrier(0), Complete(1), Done(1), Land], completes_slowly: true,
    } limits { checkpoints: 1, savepoints: 1, aborts: 1, commit_failures: 1, failures: 1 }

    stop_with_savepoint: "two writers, stop with savepoint" {
        parallelism: 2, length: 9, prefix: ONE_OF_TWO, inputs_end: true,
    } limits { checkpoints: 1, stops: 1, failures: 1, commit_failures: 1, held_too_long: 1 }

    concurrent_checkpoints: "two writers, concurrent checkpoints" {
        parallelism: 2, length: 9, concurrent_checkpoints: 3, max_due_commits: 2,
    } limits { checkpoints: 3, aborts: 1, failures: 1, repeats: 1 }

    region_failover: "two writers, region failover" {
        parallelism: 2, length: 12, prefix: ONE_OF_TWO,
    } limits { checkpoints: 2, failures: 2, aborts: 1 }

    ends_and_region_failover: "two writers, end of input, region failover" {
        parallelism: 2, length: 10, inputs_end: true, restarts_finished: true,
    } limits { checkpoints: 2, failures: 1 }

    ends_and_global_restore: "two writers, end of input, global restore" {
        parallelism: 2, length: 11, inputs_end: true,
    } limits { checkpoints: 2, crashes: 2 }

    both_failovers_after_an_end: "two writers, one of which has ended, both failovers" {
        parallelism: 2, length: 9, inputs_end: true, restarts_finished: true,
        prefix: &[End(0), Trigger, Barrier(0), Barrier(1)],
    } limits { checkpoints: 1, failures: 1, crashes: 1 }

    outlives_one_writer: "one writer in a job that goes on after it" {
        length: 11, inputs_end: true, outlives_writers: true, restarts_finished: true,
    } limits { checkpoints: 3, crashes: 1, failures: 1 }

    savepoint_and_region_failover: "two writers, going back to a savepoint that a failover took apart" {
        parallelism: 2, length: 8,
        prefix: &[
            Trigger, Barrier(0), Barrier(1), Done(1), Land,
            TriggerSavepoint, Barrier(0), Barrier(1), Fail(1), Reset(1), Recover(1),
        ],
    } limits { checkpoints: 1, going_back: 1, crashes: 1 }

    slow_recovery: "two writers, slow recovery" {
        parallelism: 2, length: 11, prefix: &[Open, Trigger, Barrier(0), Barrier(1), Crash(Fate::Lost)],
        inputs_end: true, opens_slowly: true, recovers_slowly: true,
    } limits { checkpoints: 1, failures: 1, crashes: 1 }

    scale_in: "from two writers to one and back" {
        parallelism: 2, other_parallelism: 1, length: 10, inputs_end: true,
    } limits { checkpoints: 2, rescales: 2 }

    scale_out: "from one writer to two" {
        other_parallelism: 2, length: 10, inputs_end: true,
    } limits { checkpoints: 2, rescales: 1, failures: 1 }

    slow_reports: "two writers, slow, lost and repeated reports" {
        parallelism: 2, length: 10, concurrent_checkpoints: 2, reports_slowly: true, inputs_end: true,
    } limits { checkpoints: 2, failures: 1, repeats: 1 }

    empty_entries: "two writers, empty entries" {
        parallelism: 2, length: 10, sparse: true, forces_empty_snapshots: true, inputs_end: true,
    } limits { checkpoints: 3, failures: 1 }

    held_too_long: "one writer, what is held too long, ends that nobody heard of" {
        length: 11, inputs_end: true, max_due_commits: 0,
    } limits { checkpoints: 3, held_too_long: 2, unheard: 1, failures: 1, aborts: 1 }

    three_writers: "three writers, region failover" {
        parallelism: 3, other_parallelism: 3, length: 12,
    } limits { checkpoints: 2, failures: 1 }

    three_writers_end: "three writers, end of input, global restore" {
        parallelism: 3, other_parallelism: 3, length: 10, inputs_end: true,
    } limits { checkpoints: 1, crashes: 1 }
}
