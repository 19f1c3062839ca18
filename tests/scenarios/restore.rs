//! Section C.

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::command::Timer;
use paimon_writer_coordinator::coordinator::event::{Event, FailureClass};
use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::snapshot;
use paimon_writer_coordinator::wire::Entry;

use crate::support::{Future, Job, Table, end_entry, entry, piece, settings};

/// A job of two writers up to a completed checkpoint 2 whose commit has not begun, and the bytes of that checkpoint.
fn job_that_dies_before_the_commit_of_2() -> (Table, Bytes) {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.done(1);
    let bytes = job.cc_bytes(2);
    job.ev(0, 2, "a2");
    job.ev(1, 2, "b2");
    (job.table, bytes)
}

fn restore_both(job: &mut Job, checkpoint_id: i64) {
    job.rev(0, 0, checkpoint_id, &[piece(1, 2, false)], &[entry(1, 1, "a1"), entry(1, 2, "a2")]);
    job.rev(1, 0, checkpoint_id, &[piece(2, 2, false)], &[entry(2, 2, "b2")]);
}

#[test]
fn s30_restoring_waits_for_every_writer_then_commits_in_order_and_skips_what_is_done() {
    let mut dead = Job::start(settings(2));
    dead.hold_commits = true;
    for checkpoint_id in [1, 2] {
        dead.ev(0, checkpoint_id, &format!("a{checkpoint_id}"));
        dead.ev(1, checkpoint_id, &format!("b{checkpoint_id}"));
    }
    dead.done(1);
    let bytes = dead.cc_bytes(3);
    // The commit of 1 lands, and nobody learns of it.
    let commit = dead.waiting_commits.pop_front().expect("under way");
    dead.table.commit(&commit);
    let mut job = Job::restore(settings(2), dead.table, 3, Some(bytes));
    job.rev(0, 0, 3, &[piece(1, 2, false)], &[entry(1, 1, "a1"), entry(1, 2, "a2"), entry(1, 3, "a3")]);
    assert_eq!(job.table.identifiers(), [1], "still restoring");
    job.rev(1, 0, 3, &[piece(2, 2, false)], &[entry(2, 3, "b3")]);
    assert_eq!(job.table.identifiers(), [1, 2, 3]);
    assert_eq!(job.table.files(), ["a1", "a2", "a3", "b1", "b2", "b3"]);
    job.cc_bytes(4);
}

#[test]
fn s31_a_completed_checkpoint_is_committed_during_recovery_before_new_data() {
    let (table, bytes) = job_that_dies_before_the_commit_of_2();
    let mut job = Job::restore(settings(2), table, 2, Some(bytes));
    restore_both(&mut job, 2);
    assert_eq!(job.table.identifiers(), [1, 2]);
    job.report(0, 0, &entry(71, 3, "a3"));
    job.report(1, 0, &entry(72, 3, "b3"));
    job.done(3);
    assert_eq!(job.table.identifiers(), [1, 2, 3]);
    assert_eq!(job.table.files(), ["a1", "a2", "a3", "b1", "b2", "b3"]);
    assert!(job.table.snapshots.iter().all(|snapshot| snapshot.commit_user == "user-0"));
}

#[test]
fn s32_entries_of_a_checkpoint_that_did_not_complete_are_gone_with_the_old_coordinator() {
    let (table, bytes) = job_that_dies_before_the_commit_of_2();
    // Entries of 3 had been reported to the coordinator that died; neither the bytes nor the writers hold them.
    let mut job = Job::restore(settings(2), table, 2, Some(bytes));
    restore_both(&mut job, 2);
    job.report(0, 0, &entry(71, 3, "a3-again"));
    job.report(1, 0, &entry(72, 3, "b3-again"));
    job.done(3);
    assert_eq!(job.table.files(), ["a1", "a2", "a3-again", "b1", "b2", "b3-again"]);
}

#[test]
fn s33_a_global_restore_decides_alone() {
    let (table, bytes) = job_that_dies_before_the_commit_of_2();
    let mut old = Job::start_on(settings(2), table);
    old.ev(0, 3, "local");
    old.failed(0, 0);
    old.subtask_reset(0, 2);
    old.step(Event::Close);
    let mut job = Job::restore(settings(2), old.table, 2, Some(bytes));
    restore_both(&mut job, 2);
    assert_eq!(job.table.files(), ["a1", "a2", "b1", "b2"]);
}

#[test]
fn s42_a_closed_epoch_changes_nothing_any_more() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.done(1);
    job.step(Event::Close);
    job.ev(0, 2, "late");
    job.done(2);
    job.release_commit();
    assert_eq!(job.table.identifiers(), [1], "what was under way landed, nothing else begins");
    assert_eq!(job.waiting_commits.len(), 0);
    let future = job.cc(3);
    assert!(matches!(job.futures[&future], Future::Failed(_)));
}

#[test]
fn h03_s35_under_a_newer_table_restored_entries_are_filtered_and_live_ones_are_not() {
    let mut first = Job::start(settings(1));
    first.ev(0, 1, "a1");
    first.done(1);
    let savepoint = first.cc_bytes(2);
    first.ev(0, 2, "a2");
    for checkpoint_id in 3..=9 {
        first.ev(0, checkpoint_id, &format!("a{checkpoint_id}"));
        first.done(checkpoint_id);
    }
    let mut job = Job::restore(settings(1), first.table, 2, Some(savepoint));
    job.rev(0, 0, 2, &[piece(1, 1, false)], &[entry(1, 2, "a2")]);
    let before = job.table.snapshots.len();
    assert_eq!(job.table.identifiers(), (1..=9).collect::<Vec<i64>>(), "a2 is not committed again");
    job.report(0, 0, &entry(71, 3, "b3"));
    let bytes = job.cc_bytes(4);
    job.done(3);
    assert_eq!(job.table.snapshots[before].identifier, 3);
    assert_eq!(job.table.snapshots[before].commit_user, "fresh-2");
    // The fresh user is in every later snapshot, so the next recovery filters under it.
    let mut again = Job::restore(settings(1), job.table.clone(), 4, Some(bytes));
    again.rev(0, 0, 4, &[piece(71, 1, false)], &[entry(71, 3, "b3"), entry(71, 4, "b4")]);
    assert_eq!(again.table.files().iter().filter(|file| *file == "b3").count(), 1);
    assert_eq!(again.table.snapshots.last().map(|last| last.commit_user.as_str()), Some("fresh-2"));
    assert_eq!(again.table.identifiers().last(), Some(&4));
}

#[test]
fn h03_after_a_drain_live_commits_go_on_under_a_fresh_user() {
    let mut drained = Job::start(settings(1));
    drained.end(0, -1, "last");
    let savepoint = drained.cc_bytes(1);
    drained.done(1);
    assert_eq!(drained.table.identifiers(), [i64::MAX]);
    let mut job = Job::restore(settings(1), drained.table, 1, Some(savepoint));
    job.rev(0, 0, 1, &[piece(1, 1, true)], &[end_entry(1, -1, "last")]);
    assert_eq!(job.table.files(), ["last"], "s56: found, and not committed again");
    job.report(0, 0, &entry(71, 2, "more"));
    job.done(2);
    job.report(0, 0, &end_entry(71, 2, "end"));
    job.done(3);
    assert_eq!(job.table.files(), ["end", "last", "more"]);
    job.assert_alive();
}

#[test]
fn h27_without_the_users_snapshots_nothing_is_committed_unfiltered() {
    let (_, bytes) = job_that_dies_before_the_commit_of_2();
    let mut job = Job::restore(settings(2), Table::default(), 2, Some(bytes));
    restore_both(&mut job, 2);
    let failure = job.failure.clone().expect("the job fails");
    assert_eq!(failure.kind, ErrorKind::SnapshotsExpired);
    assert!(!failure.kind.recoverable());
    assert_eq!(job.table.snapshots, []);
}

#[test]
fn s60_restored_as_finished_it_runs_at_once_and_waits_for_nobody() {
    let mut job = Job::restore(settings(2), Table::default(), 7, None);
    job.cc_bytes(8);
    job.done(8);
    job.assert_alive();
    assert_eq!(job.table.snapshots, []);
}

#[test]
fn s38_bytes_that_cannot_be_used_are_refused_and_never_become_an_empty_state() {
    let (_, whole) = job_that_dies_before_the_commit_of_2();
    let mut cases: Vec<(String, Vec<u8>)> = vec![
        ("empty".to_owned(), Vec::new()),
        ("of another operator".to_owned(), b"some other operator's state".to_vec()),
    ];
    for length in 1..whole.len() {
        cases.push((format!("cut to {length}"), whole[..length].to_vec()));
    }
    for byte in 0..whole.len() {
        let mut flipped = whole.to_vec();
        flipped[byte] ^= 1 << (byte % 8);
        cases.push((format!("bit flipped in byte {byte}"), flipped));
    }
    for (case, bytes) in cases {
        let error = snapshot::decode(&bytes).expect_err(&case);
        assert_eq!(error.kind, ErrorKind::CorruptState, "{case}");
        assert!(error.message.contains("found") && error.message.contains("expected"), "{case}: {error}");
    }
    let mut job = Job::restore(settings(2), Table::default(), 2, Some(Bytes::new()));
    assert_eq!(job.failure.as_ref().map(|failure| failure.kind), Some(ErrorKind::CorruptState));
    restore_both(&mut job, 2);
    assert_eq!(job.table.snapshots, []);
}

fn savepoint(writer: u128, checkpoint_id: i64, files: &str) -> Entry {
    Entry { savepoint: true, ..entry(writer, checkpoint_id, files) }
}

#[test]
fn s40_the_snapshot_of_a_savepoint_is_tagged_and_no_other() {
    let mut job = Job::start(settings(1));
    job.ev(0, 1, "a1");
    job.done(1);
    job.report(0, 0, &savepoint(1, 2, "a2"));
    job.ev(0, 3, "a3");
    job.done(3);
    assert_eq!(job.table.identifiers(), [1, 2, 3]);
    assert_eq!(job.table.tagged(), [2]);
}

#[test]
fn s40_the_tag_survives_a_failover_in_between() {
    let mut old = Job::start(settings(1));
    old.report(0, 0, &savepoint(1, 2, "a2"));
    let bytes = old.cc_bytes(3);
    let mut job = Job::restore(settings(1), old.table, 3, Some(bytes));
    let entries = [savepoint(1, 2, "a2"), entry(1, 3, "a3")];
    job.rev(0, 0, 3, &[piece(1, 1, false)], &entries);
    assert_eq!(job.table.identifiers(), [2, 3]);
    assert_eq!(job.table.tagged(), [2]);
}

#[test]
fn s40_an_aborted_savepoint_is_data_without_a_tag() {
    let mut job = Job::start(settings(1));
    job.report(0, 0, &savepoint(1, 2, "a2"));
    job.abort(2);
    let bytes = job.cc_bytes(3);
    job.ev(0, 3, "a3");
    job.done(3);
    assert_eq!(job.table.identifiers(), [2, 3]);
    assert_eq!(job.table.tagged(), [] as [i64; 0]);
    // The writer was never told of the abort, and replays its entry as it was.
    let mut restored = Job::restore(settings(1), Table::default(), 3, Some(bytes));
    let entries = [savepoint(1, 2, "a2"), entry(1, 3, "a3")];
    restored.rev(0, 0, 3, &[piece(1, 1, false)], &entries);
    assert_eq!(restored.table.identifiers(), [2, 3]);
    assert_eq!(restored.table.tagged(), [] as [i64; 0]);
}

#[test]
fn s40_an_abort_after_the_commit_takes_the_tag_away() {
    let mut job = Job::start(settings(1));
    job.report(0, 0, &savepoint(1, 2, "a2"));
    job.ev(0, 3, "a3");
    job.done(3);
    job.abort(2);
    assert_eq!(job.table.tagged(), [] as [i64; 0]);
    job.hold_commits = true;
    job.report(0, 0, &savepoint(1, 4, "a4"));
    job.ev(0, 5, "a5");
    job.done(5);
    job.abort(4);
    job.release_all_commits();
    assert_eq!(job.table.identifiers(), [2, 3, 4, 5]);
}

#[test]
fn s40_an_abort_between_two_tries_of_the_commit_leaves_no_tag() {
    for was_done in [false, true] {
        let mut job = Job::start(settings(1));
        job.hold_commits = true;
        job.report(0, 0, &savepoint(1, 2, "a2"));
        job.ev(0, 3, "a3");
        job.done(3);
        if was_done {
            let commit = job.waiting_commits[0].clone();
            job.table.commit(&commit);
        }
        job.fail_commit(FailureClass::Retryable);
        job.abort(2);
        job.fire(Timer::Retry);
        job.release_all_commits();
        assert_eq!(job.table.identifiers(), [2, 3]);
        assert_eq!(job.table.tagged(), [] as [i64; 0]);
    }
}

#[test]
fn s40_what_a_region_failover_leaves_of_a_savepoint_is_not_tagged() {
    let mut job = Job::start(settings(2));
    job.report(0, 0, &savepoint(1, 2, "a2"));
    job.report(1, 0, &savepoint(2, 2, "b2"));
    job.failed(1, 0);
    job.subtask_reset(1, -1);
    job.ready(1, 1);
    job.ev(0, 3, "a3");
    job.report(1, 1, &entry(72, 3, "b3"));
    job.done(3);
    assert_eq!(job.table.identifiers(), [2, 3]);
    assert_eq!(job.table.files(), ["a2", "a3", "b3"]);
    assert_eq!(job.table.tagged(), [] as [i64; 0]);
}

#[test]
fn h03_a_start_from_nothing_behind_a_committed_savepoint_loses_nothing_live() {
    let mut first = Job::start(settings(1));
    first.report(0, 0, &savepoint(1, 1, "a1"));
    first.end(0, 1, "a-end");
    first.done(1);
    first.done(2);
    assert_eq!(first.table.identifiers(), [1, i64::MAX]);
    // No checkpoint has completed, so Flink starts the job from the beginning, under the commit user of its graph.
    let mut job = Job::start_on(settings(1), first.table);
    job.ev(0, 3, "b3");
    job.done(3);
    job.end(0, 3, "b-end");
    job.done(4);
    assert_eq!(job.table.files(), ["a-end", "a1", "b-end", "b3"]);
    assert_eq!(job.table.snapshots[2].commit_user, "fresh");
}

#[test]
fn s36_without_state_the_snapshots_of_other_users_filter_nothing() {
    let mut other = Job::start(paimon_writer_coordinator::settings::Settings {
        commit_user: "somebody else".to_owned(),
        ..settings(1)
    });
    for checkpoint_id in 1..=5 {
        other.ev(0, checkpoint_id, &format!("other{checkpoint_id}"));
        other.done(checkpoint_id);
    }
    let mut job = Job::start_on(settings(1), other.table);
    job.ev(0, 1, "a1");
    job.done(1);
    let last = job.table.snapshots.last().expect("a snapshot");
    assert_eq!((last.identifier, last.commit_user.as_str(), last.files.len()), (1, "user-0", 1));
}
