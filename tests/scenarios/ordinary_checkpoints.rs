//! Section A.

use paimon_writer_coordinator::coordinator::command::{Answer, FutureId, Timer};
use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::snapshot;

use crate::support::{Future, Job, Table, entry, settings};

#[test]
fn s01_a_completed_checkpoint_is_one_snapshot_with_all_files() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a");
    job.ev(1, 1, "b c");
    assert_eq!(job.table.identifiers(), [] as [i64; 0], "nothing before the checkpoint has completed");
    job.done(1);
    assert_eq!(job.table.identifiers(), [1]);
    assert_eq!(job.table.files(), ["a", "b", "c"]);
    assert_eq!(job.table.snapshots[0].commit_user, "user-0");
}

#[test]
fn s02_an_empty_entry_counts_as_reported() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a");
    job.ev(1, 1, "");
    job.done(1);
    assert_eq!(job.table.files(), ["a"]);
}

#[test]
fn s02_all_empty_makes_a_snapshot_only_if_the_table_forces_it() {
    for forces_empty_snapshots in [false, true] {
        let table = Table { forces_empty_snapshots, ..Table::default() };
        let mut job = Job::start_on(settings(1), table);
        job.ev(0, 1, "");
        job.done(1);
        let expected: &[i64] = if forces_empty_snapshots { &[1] } else { &[] };
        assert_eq!(job.table.identifiers(), expected);
        job.ev(0, 2, "a");
        job.done(2);
        assert_eq!(job.table.files(), ["a"]);
    }
}

#[test]
fn s03_a_late_entry_is_waited_for() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a");
    job.done(1);
    assert_eq!(job.table.files(), [] as [&str; 0], "nothing partial");
    job.ev(1, 1, "b");
    assert_eq!(job.table.files(), ["a", "b"]);
    assert!(!job.timers.contains_key(&Timer::LateEntry), "the bound is lifted");
}

#[test]
fn s03_past_the_bound_the_job_fails_and_nothing_partial_is_in_the_table() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a");
    job.done(1);
    assert_eq!(job.timers[&Timer::LateEntry], 2_000);
    job.fire(Timer::LateEntry);
    let failure = job.failure.as_ref().expect("the job fails");
    assert_eq!(failure.kind, ErrorKind::MissingEntry);
    assert!(failure.message.contains("db.t") && failure.message.contains("[1]"), "{failure}");
    assert_eq!(job.table.snapshots, []);
}

#[test]
fn s03_a_lost_entry_also_holds_back_later_checkpoints() {
    let mut job = Job::start(settings(1));
    job.done(1);
    job.ev(0, 2, "b");
    job.done(2);
    assert_eq!(job.table.snapshots, [], "committing 2 first would make Paimon take 1 for committed");
    job.ev(0, 1, "a");
    assert_eq!(job.table.identifiers(), [1, 2]);
}

#[test]
fn h16_the_bound_runs_only_while_the_missing_writer_can_send() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a");
    job.failed(1, 0);
    job.done(1);
    assert!(!job.timers.contains_key(&Timer::LateEntry), "its restart delay does not count");
    job.ready(1, 1);
    assert!(job.timers.contains_key(&Timer::LateEntry));
    job.failed(1, 1);
    assert!(!job.timers.contains_key(&Timer::LateEntry));
}

#[test]
fn s04_earlier_checkpoints_are_committed_first_under_their_own_identifiers() {
    let mut job = Job::start(settings(2));
    for checkpoint_id in [5, 6, 7] {
        job.ev(0, checkpoint_id, &format!("a{checkpoint_id}"));
        job.ev(1, checkpoint_id, &format!("b{checkpoint_id}"));
    }
    job.done(7);
    assert_eq!(job.table.identifiers(), [5, 6, 7]);
    let before = job.table.clone().snapshots;
    for late in [5, 7, 6, 7] {
        job.done(late);
    }
    assert_eq!(job.table.snapshots, before);
    job.assert_alive();
}

#[test]
fn s05_alignment_asks_for_exactly_the_completed_checkpoint() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a1");
    job.ev(0, 2, "a2");
    job.ev(1, 2, "b2");
    job.done(1);
    assert_eq!(job.table.snapshots, [], "subtask 1 has a higher entry, but none for 1");
    job.ev(1, 1, "b1");
    assert_eq!(job.table.identifiers(), [1]);
    job.done(2);
    assert_eq!(job.table.identifiers(), [1, 2]);
}

#[test]
fn s06_an_aborted_entry_is_committed_before_the_next_completed_checkpoint() {
    for abort_is_told in [true, false] {
        let mut job = Job::start(settings(2));
        job.ev(0, 3, "a3");
        job.ev(1, 3, "b3");
        job.done(3);
        job.ev(1, 4, "b4");
        job.failed(0, 0);
        if abort_is_told {
            job.abort(4);
        }
        job.subtask_reset(0, 3);
        job.ready(0, 1);
        job.rev(0, 1, 3, &[], &[]);
        job.report(0, 1, &entry(71, 5, "a5"));
        job.ev(1, 5, "b5");
        job.done(5);
        assert_eq!(job.table.identifiers(), [3, 4, 5]);
        assert_eq!(job.table.files(), ["a3", "a5", "b3", "b4", "b5"]);
    }
}

#[test]
fn s07_a_savepoint_that_is_never_notified_goes_with_the_next_checkpoint() {
    let mut job = Job::start(settings(1));
    job.ev(0, 5, "savepoint");
    job.ev(0, 6, "checkpoint");
    job.done(6);
    assert_eq!(job.table.identifiers(), [5, 6]);
}

#[test]
fn s08_a_checkpoint_does_not_wait_for_a_commit_and_holds_its_entries() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.ev(0, 1, "a");
    job.done(1);
    job.ev(0, 2, "b");
    let bytes = job.cc_bytes(3);
    let state = snapshot::decode(&bytes).expect("readable");
    let ids: Vec<i64> = state.entries.iter().map(|stored| stored.entry.checkpoint_id).collect();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn s09_too_many_due_commits_hold_the_next_checkpoint_until_they_drain() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    for checkpoint_id in 1..=4 {
        job.ev(0, checkpoint_id, &format!("f{checkpoint_id}"));
        job.done(checkpoint_id);
    }
    let future = job.cc(5);
    assert_eq!(job.futures[&future], Future::Held);
    job.release_commit();
    assert!(matches!(job.futures[&future], Future::Completed(_)), "3 due commits are within the limit");
    job.release_all_commits();
    assert_eq!(job.table.identifiers(), [1, 2, 3, 4]);
}

#[test]
fn s09_entries_that_only_a_later_checkpoint_makes_due_hold_nothing() {
    let mut job = Job::start(settings(1));
    for checkpoint_id in 1..=20 {
        job.ev(0, checkpoint_id, &format!("f{checkpoint_id}"));
        job.abort(checkpoint_id);
    }
    job.cc_bytes(21);
    job.ev(0, 21, "f21");
    job.done(21);
    assert_eq!(job.table.identifiers(), (1..=21).collect::<Vec<i64>>());
}

#[test]
fn h13_a_held_checkpoint_is_declined_in_time_and_released_by_its_abort() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    for checkpoint_id in 1..=4 {
        job.ev(0, checkpoint_id, &format!("f{checkpoint_id}"));
        job.done(checkpoint_id);
    }
    let declined = job.cc(5);
    let timer = Timer::HeldCheckpoint(FutureId(declined));
    assert_eq!(job.timers[&timer], 1_000);
    job.fire(timer);
    assert!(matches!(&job.futures[&declined], Future::Failed(why) if why.contains("db.t")));
    let aborted = job.cc(6);
    let other = job.cc(7);
    job.abort(6);
    assert!(matches!(job.futures[&aborted], Future::Failed(_)));
    assert_eq!(job.futures[&other], Future::Held);
    job.assert_alive();
}

#[test]
fn s10_a_checkpoint_that_cannot_be_taken_is_declined_once_with_a_reason() {
    let mut restoring = Job::restore(settings(2), Table::default(), 3, Some(state_of_two_writers()));
    restoring.rev(0, 0, 3, &[], &[]);
    let future = restoring.cc(4);
    assert!(matches!(&restoring.futures[&future], Future::Failed(why) if why.contains("{1}")));
    restoring.rev(1, 0, 3, &[], &[]);
    restoring.cc_bytes(5);

    let mut closed = Job::start(settings(1));
    closed.step(paimon_writer_coordinator::coordinator::event::Event::Close);
    let future = closed.cc(1);
    assert!(matches!(&closed.futures[&future], Future::Failed(why) if why.contains("closed")));
}

#[test]
fn s10_a_failed_coordinator_declines_checkpoints_with_what_failed() {
    let mut job = Job::start(settings(1));
    job.step(paimon_writer_coordinator::coordinator::event::Event::WriterEvent {
        subtask: 0,
        attempt: 0,
        bytes: bytes::Bytes::from_static(b"garbage"),
    });
    let future = job.cc(1);
    assert!(matches!(&job.futures[&future], Future::Failed(why) if why.contains("not one of ours")));
    assert_eq!(job.job_failures, 1);
}

#[test]
fn h17_entries_are_confirmed_while_restoring() {
    let mut job = Job::restore(settings(2), Table::default(), 3, Some(state_of_two_writers()));
    let end = crate::support::end_entry(71, 3, "end");
    job.rev(0, 0, 3, &[], &[]);
    job.report(0, 0, &end);
    let request = job.confirm(0, 0, &end);
    assert_eq!(job.answer(request), Some(Answer::Held));
}

fn state_of_two_writers() -> bytes::Bytes {
    Job::start(settings(2)).cc_bytes(3)
}

#[test]
fn s13_a_checkpoint_is_held_while_the_final_commit_is_due_but_not_durable() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.end(0, -1, "last");
    job.cc_bytes(1);
    job.done(1);
    let future = job.cc(2);
    assert_eq!(job.futures[&future], Future::Held);
    job.release_commit();
    assert!(matches!(job.futures[&future], Future::Completed(_)));
    assert_eq!(job.table.files(), ["last"]);
}

#[test]
fn h04_a_writer_learns_what_is_durable_and_never_from_a_completed_checkpoint() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    let fifth = entry(1, 5, "e5");
    job.report(0, 0, &fifth);
    job.done(5);
    let request = job.confirm(0, 0, &fifth);
    assert_eq!(job.answers[&request], (Answer::Held, i64::MIN), "completed, but not in the table");
    job.release_commit();
    let request = job.confirm(0, 0, &fifth);
    assert_eq!(job.answers[&request], (Answer::Held, 5));
}
