//! Section B.

use paimon_writer_coordinator::coordinator::command::{Answer, Timer};

use crate::support::{Job, MAX, end_entry, entry, piece, settings};

#[test]
fn s20_test_partial_failover_without_restoring() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "lost");
    job.failed(0, 0);
    job.subtask_reset(0, -1);
    job.ready(0, 1);
    job.report(0, 1, &entry(71, 2, "a2"));
    job.ev(1, 1, "b1");
    job.ev(1, 2, "b2");
    job.done(2);
    assert_eq!(job.table.files(), ["a2", "b1", "b2"]);
    assert_eq!(job.table.identifiers(), [1, 2]);
}

#[test]
fn s20_test_partial_failover_with_restoring() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.done(1);
    job.ev(0, 2, "lost");
    job.failed(0, 0);
    job.subtask_reset(0, 1);
    job.ready(0, 1);
    job.rev(0, 1, 1, &[piece(1, 2, false)], &[entry(1, 1, "a1")]);
    job.report(0, 1, &entry(71, 3, "a3"));
    job.ev(1, 2, "b2");
    job.ev(1, 3, "b3");
    job.done(3);
    job.release_all_commits();
    assert_eq!(job.table.files(), ["a1", "a3", "b1", "b2", "b3"]);
    assert_eq!(job.table.identifiers(), [1, 2, 3]);
    job.cc_bytes(4);
}

#[test]
fn s21_a_failure_between_the_last_acknowledgement_and_done_drops_nothing() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.failed(0, 0);
    job.done(1);
    assert_eq!(job.table.files(), ["a1", "b1"]);
}

#[test]
fn s22_events_of_an_attempt_that_is_over_are_dropped_and_counted() {
    let mut job = Job::start(settings(1));
    job.failed(0, 0);
    job.report(0, 0, &entry(1, 1, "after failed"));
    job.subtask_reset(0, -1);
    job.report(0, 0, &entry(1, 1, "after reset"));
    job.ready(0, 1);
    job.report(0, 1, &entry(71, 1, "new"));
    job.report(0, 0, &entry(1, 1, "after ready"));
    job.done(1);
    assert_eq!(job.table.files(), ["new"]);
    assert_eq!(job.coordinator.status().stale_events, 3);
    job.assert_alive();
}

#[test]
fn s23_a_repeated_report_replaces_the_earlier() {
    let mut job = Job::start(settings(1));
    job.ev(0, 1, "first");
    job.ev(0, 1, "second");
    job.done(1);
    assert_eq!(job.table.files(), ["second"]);
    job.ev(0, 1, "second");
    job.ev(0, 2, "next");
    job.done(2);
    assert_eq!(job.table.files(), ["next", "second"], "a repetition after the commit adds nothing");
    job.assert_alive();
}

#[test]
fn s25_a_restore_event_while_running_brings_what_is_durable_and_uncommitted() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.done(1);
    job.release_commit();
    job.ev(0, 2, "a2");
    job.ev(1, 2, "b2");
    job.failed(0, 0);
    // Checkpoint 2 had completed, but its notification is still under way.
    job.subtask_reset(0, 2);
    job.ready(0, 1);
    job.rev(0, 1, 2, &[piece(1, 2, false)], &[entry(1, 1, "a1"), entry(1, 2, "a2")]);
    job.release_all_commits();
    assert_eq!(job.table.identifiers(), [1, 2]);
    assert_eq!(job.table.files(), ["a1", "a2", "b1", "b2"]);
    job.cc_bytes(3);
}

#[test]
fn s26_a_reset_while_restoring_awaits_that_writer_anew() {
    let bytes = Job::start(settings(2)).cc_bytes(3);
    let mut job = Job::restore(settings(2), Default::default(), 3, Some(bytes));
    job.rev(0, 0, 3, &[piece(1, 2, false)], &[entry(1, 3, "a")]);
    job.failed(0, 0);
    job.subtask_reset(0, 3);
    job.rev(1, 0, 3, &[piece(2, 2, false)], &[entry(2, 3, "b")]);
    assert_eq!(job.table.snapshots, [], "still restoring");
    job.ready(0, 1);
    job.rev(0, 1, 3, &[piece(1, 2, false)], &[entry(1, 3, "a")]);
    assert_eq!(job.table.files(), ["a", "b"]);
}

#[test]
fn s27_a_replay_during_a_slow_commit_adds_nothing() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.done(1);
    job.failed(0, 0);
    job.subtask_reset(0, 1);
    job.ready(0, 1);
    job.rev(0, 1, 1, &[piece(1, 1, false)], &[entry(1, 1, "a1")]);
    job.release_all_commits();
    job.report(0, 1, &entry(71, 2, "a2"));
    job.done(2);
    assert_eq!(job.table.identifiers(), [1, 2]);
    assert_eq!(job.table.files(), ["a1", "a2"]);
}

#[test]
fn s29_a_reset_that_overtakes_done_keeps_what_it_restores() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    job.ev(0, 7, "a7");
    job.ev(1, 7, "b7");
    job.failed(0, 0);
    job.subtask_reset(0, 7);
    job.ready(0, 1);
    job.rev(0, 1, 7, &[piece(1, 2, false)], &[entry(1, 7, "a7")]);
    job.done(7);
    job.release_all_commits();
    job.done(7);
    assert_eq!(job.table.identifiers(), [7]);
    assert_eq!(job.table.files(), ["a7", "b7"]);
}

#[test]
fn h10_what_a_commit_holds_is_frozen() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.done(1);
    job.ev(0, 1, "changed");
    job.failed(0, 0);
    job.subtask_reset(0, 1);
    job.release_all_commits();
    assert_eq!(job.table.files(), ["a1"]);
}

#[test]
fn h25_requests_of_an_attempt_that_is_over_are_rejected() {
    let mut job = Job::start(settings(1));
    let unreported = entry(1, 1, "a1");
    let held = job.confirm(0, 0, &unreported);
    assert_eq!(job.answer(held), None, "an early request waits for the entry");
    job.failed(0, 0);
    assert_eq!(job.answer(held), Some(Answer::Rejected));
    job.ready(0, 1);
    let zombie = job.confirm(0, 0, &unreported);
    assert_eq!(job.answer(zombie), Some(Answer::Rejected));
}

#[test]
fn h25_a_request_means_one_report_and_is_told_to_resend_in_time() {
    use paimon_writer_coordinator::coordinator::command::{RequestId, Timer};
    let mut job = Job::start(settings(1));
    job.report(0, 0, &entry(1, 1, "a1"));
    let other = job.confirm(0, 0, &entry(1, 1, "another"));
    assert_eq!(job.answer(other), None);
    job.fire(Timer::HeldRequest(RequestId(other)));
    assert_eq!(job.answer(other), Some(Answer::Resend));
    let early = job.confirm(0, 0, &entry(1, 2, "a2"));
    job.report(0, 0, &entry(1, 2, "a2"));
    assert_eq!(job.answer(early), Some(Answer::Held));
    assert!(job.timers.is_empty());
}

#[test]
fn h05_after_rescaling_a_key_is_one_entry_whoever_brings_it() {
    let mut old = Job::start(settings(3));
    old.hold_commits = true;
    for subtask in 0..3 {
        old.ev(subtask, 4, &format!("old{subtask}"));
    }
    old.done(4);
    let bytes = old.cc_bytes(5);
    let mut job = Job::restore(settings(2), Default::default(), 5, Some(bytes));
    let entries = |writers: &[u128]| {
        let both = |&writer: &u128| {
            [entry(writer, 4, &format!("old{}", writer - 1)), entry(writer, 5, &format!("new{}", writer - 1))]
        };
        writers.iter().flat_map(both).collect::<Vec<_>>()
    };
    job.rev(0, 0, 5, &[piece(1, 3, false), piece(3, 3, false)], &entries(&[1, 3]));
    job.rev(1, 0, 5, &[piece(2, 3, false)], &entries(&[2]));
    assert_eq!(job.table.identifiers(), [4, 5], "s34: one snapshot per identifier");
    assert_eq!(job.table.files(), ["new0", "new1", "new2", "old0", "old1", "old2"]);
    let end = end_entry(71, 5, "");
    job.report(0, 0, &end);
    job.assert_alive();
}

#[test]
fn s59_a_task_that_had_finished_before_the_checkpoint_it_is_restored_from_owes_no_entry() {
    let mut job = Job::start(settings(2));
    job.end(0, -1, "a-end");
    job.ev(1, 1, "b1");
    job.done(1);
    job.ev(1, 2, "b2");
    // Checkpoint 2 holds no state of the finished task; its done has not come yet.
    job.failed(0, 0);
    job.subtask_reset(0, 2);
    job.ready(0, 1);
    job.rev(0, 1, 2, &[], &[]);
    assert!(!job.timers.contains_key(&Timer::LateEntry));
    assert_eq!(job.table.files(), ["b1", "b2"]);
    job.report(0, 1, &end_entry(71, 2, ""));
    job.end(1, 2, "b-end");
    job.done(3);
    assert_eq!(job.table.files(), ["a-end", "b-end", "b1", "b2"]);
    job.assert_alive();
}

#[test]
fn s27_a_writer_restored_while_the_final_commit_is_under_way_owes_no_entry() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.end(0, -1, "end");
    job.done(1);
    job.failed(0, 0);
    job.subtask_reset(0, 2);
    job.ready(0, 1);
    job.rev(0, 1, 2, &[piece(1, 1, true)], &[end_entry(1, -1, "end")]);
    job.release_all_commits();
    assert!(!job.timers.contains_key(&Timer::LateEntry), "nothing is missing for checkpoint 2");
    assert_eq!(job.table.identifiers(), [MAX]);
    job.assert_alive();
}
