//! Section D.

use paimon_writer_coordinator::coordinator::command::{Answer, RequestId, Timer};
use paimon_writer_coordinator::snapshot;
use paimon_writer_coordinator::wire::Entry;

use crate::support::{Job, MAX, end_entry, entry, piece, settings};

#[test]
fn s50_test_subtasks_end_input_across_different_checkpoints() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.done(1);
    job.end(0, 1, "a-end");
    for checkpoint_id in [2, 3] {
        job.ev(1, checkpoint_id, &format!("b{checkpoint_id}"));
        job.done(checkpoint_id);
    }
    assert_eq!(job.table.identifiers(), [1, 2, 3], "an ended writer counts as aligned");
    job.end(1, 3, "b-end");
    assert_eq!(job.table.identifiers(), [1, 2, 3], "not before a checkpoint has completed");
    job.done(4);
    assert_eq!(job.table.identifiers(), [1, 2, 3, MAX]);
    assert_eq!(job.table.files(), ["a-end", "a1", "b-end", "b1", "b2", "b3"]);
}

#[test]
fn h16_a_writer_that_ended_after_a_checkpoint_still_owes_its_entry() {
    let mut job = Job::start(settings(2));
    job.ev(1, 5, "b5");
    // It ended after it had snapshotted 5, so its entry for 5 is on its way.
    job.end(0, 5, "a-end");
    job.done(5);
    assert_eq!(job.table.snapshots, []);
    job.ev(0, 5, "a5");
    assert_eq!(job.table.files(), ["a5", "b5"]);
}

#[test]
fn s51_test_repeated_end_input_event_is_idempotent() {
    let mut job = Job::start(settings(1));
    job.end(0, -1, "end");
    job.end(0, -1, "end");
    job.done(1);
    assert_eq!(job.table.files(), ["end"]);
}

#[test]
fn s51_test_repeated_end_input_replaces_authoritative_entry() {
    let mut job = Job::start(settings(1));
    job.end(0, -1, "end");
    job.end(0, -1, "end more");
    job.done(1);
    assert_eq!(job.table.files(), ["end", "more"]);
}

#[test]
fn s52_test_repeated_end_input_after_final_commit_is_ignored() {
    let mut job = Job::start(settings(1));
    job.end(0, -1, "end");
    job.done(1);
    job.end(0, -1, "end");
    job.done(2);
    job.done(1);
    assert_eq!(job.table.identifiers(), [MAX]);
    assert_eq!(job.table.files(), ["end"]);
    job.assert_alive();
}

#[test]
fn s53_test_partial_failover_replays_end_input_while_coordinator_is_running() {
    let mut job = Job::start(settings(2));
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.done(1);
    job.end(0, 1, "a-end");
    job.failed(0, 0);
    job.subtask_reset(0, 1);
    job.ready(0, 1);
    job.rev(0, 1, 1, &[piece(1, 2, false)], &[entry(1, 1, "a1")]);
    job.report(0, 1, &end_entry(71, 1, "a-end-again"));
    job.end(1, 1, "b-end");
    assert_eq!(job.table.identifiers(), [1], "streaming waits for a completed checkpoint");
    job.done(2);
    assert_eq!(job.table.files(), ["a-end-again", "a1", "b-end", "b1"]);
}

#[test]
fn s54_test_partial_failover_while_all_subtasks_end_input_wait_for_checkpoint_complete() {
    let mut job = Job::start(settings(2));
    job.end(0, 1, "a-end");
    job.ev(1, 2, "b2");
    job.end(1, 2, "b-end");
    // Checkpoint 2 holds the end of subtask 0, and is what it restores.
    job.failed(0, 0);
    job.subtask_reset(0, 2);
    job.ready(0, 1);
    job.rev(0, 1, 2, &[piece(1, 2, true)], &[end_entry(1, 1, "a-end")]);
    assert_eq!(job.table.identifiers(), [2], "2 does not cover the end of subtask 1");
    job.done(3);
    assert_eq!(job.table.identifiers(), [2, MAX]);
    assert_eq!(job.table.files(), ["a-end", "b-end", "b2"]);
}

#[test]
fn h02_a_reset_keeps_an_end_of_input_that_its_checkpoint_holds() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    job.end(0, 6, "a-end");
    job.end(1, 6, "b-end");
    job.failed(1, 0);
    // The reset overtakes done(7): 7 covers both ends, so the final commit is due.
    job.subtask_reset(1, 7);
    assert_eq!(job.waiting_commits.len(), 1);
    job.ready(1, 1);
    job.rev(1, 1, 7, &[], &[]);
    job.done(7);
    job.release_all_commits();
    assert_eq!(job.table.files(), ["a-end", "b-end"]);
}

#[test]
fn s55_test_global_restore_retains_partial_end_input() {
    let mut old = Job::start(settings(2));
    old.end(0, 0, "a-end");
    let bytes = old.cc_bytes(1);
    old.ev(1, 1, "b1");
    let mut job = Job::restore(settings(2), old.table, 1, Some(bytes));
    job.rev(0, 0, 1, &[piece(1, 2, true)], &[end_entry(1, 0, "a-end")]);
    job.rev(1, 0, 1, &[piece(2, 2, false)], &[entry(2, 1, "b1")]);
    assert_eq!(job.table.identifiers(), [1]);
    job.report(0, 0, &end_entry(71, 1, ""));
    job.report(1, 0, &entry(72, 2, "b2"));
    job.done(2);
    assert_eq!(job.table.identifiers(), [1, 2]);
    job.report(1, 0, &end_entry(72, 2, "b-end"));
    job.done(3);
    assert_eq!(job.table.identifiers(), [1, 2, MAX]);
    assert_eq!(job.table.files(), ["a-end", "b-end", "b1", "b2"]);
}

#[test]
fn s56_test_global_restore_commits_when_all_subtasks_reached_end_input() {
    let mut old = Job::start(settings(2));
    old.end(0, 0, "a-end");
    old.end(1, 0, "b-end");
    let bytes = old.cc_bytes(1);
    let mut job = Job::restore(settings(2), old.table, 1, Some(bytes));
    job.rev(0, 0, 1, &[piece(1, 2, true)], &[end_entry(1, 0, "a-end")]);
    job.rev(1, 0, 1, &[piece(2, 2, true)], &[end_entry(2, 0, "b-end")]);
    assert_eq!(job.table.identifiers(), [MAX]);
    assert_eq!(job.table.files(), ["a-end", "b-end"]);
    // Their inputs end again, with nothing new.
    job.report(0, 0, &end_entry(71, 1, ""));
    job.report(1, 0, &end_entry(72, 1, ""));
    job.done(2);
    assert_eq!(job.table.identifiers(), [MAX]);
}

#[test]
fn s57_test_checkpoint_abort_preserves_early_end_input() {
    let mut job = Job::start(settings(2));
    job.end(0, -1, "a-end");
    job.ev(1, 1, "b1");
    job.abort(1);
    job.ev(1, 2, "b2");
    job.done(2);
    assert_eq!(job.table.identifiers(), [1, 2]);
    job.end(1, 2, "b-end");
    job.done(3);
    assert_eq!(job.table.files(), ["a-end", "b-end", "b1", "b2"]);
}

#[test]
fn s58_h18_a_finished_writers_end_of_input_lives_in_the_coordinators_state_alone() {
    let mut old = Job::start(settings(2));
    old.end(0, 0, "a-end");
    old.ev(1, 1, "b1");
    old.done(1);
    // Subtask 0 is FINISHED; Flink keeps no operator state for it at 2.
    let bytes = old.cc_bytes(2);
    old.ev(1, 2, "b2");
    let mut job = Job::restore(settings(2), old.table, 2, Some(bytes));
    job.rev(0, 0, 2, &[], &[]);
    job.rev(1, 0, 2, &[piece(2, 2, false)], &[entry(2, 2, "b2")]);
    assert_eq!(job.table.identifiers(), [1, 2]);
    job.report(0, 0, &end_entry(71, 2, "a-more"));
    // h18: a second failover leaves the sealed entry alone.
    job.failed(0, 0);
    job.subtask_reset(0, 2);
    job.ready(0, 1);
    job.rev(0, 1, 2, &[], &[]);
    job.report(0, 1, &end_entry(73, 2, "a-again"));
    job.report(1, 0, &end_entry(72, 2, "b-end"));
    job.done(3);
    assert_eq!(job.table.files(), ["a-again", "a-end", "b-end", "b1", "b2"]);
}

#[test]
fn h06_s63_sealed_entries_never_count_as_the_end_of_a_new_attempt() {
    let mut old = Job::start(settings(2));
    old.end(0, 0, "a-end");
    let bytes = old.cc_bytes(1);
    old.ev(1, 1, "b1");
    // Rescaled to one writer that gets the states of an ended and a running one.
    let mut job = Job::restore(settings(1), old.table, 1, Some(bytes));
    let pieces = [piece(1, 2, true), piece(2, 2, false)];
    job.rev(0, 0, 1, &pieces, &[end_entry(1, 0, "a-end"), entry(2, 1, "b1")]);
    assert_eq!(job.table.identifiers(), [1]);
    job.done(2);
    assert_eq!(job.table.identifiers(), [1], "it has not ended, and owes its entry for 2");
    job.report(0, 0, &entry(71, 2, "c2"));
    job.report(0, 0, &end_entry(71, 2, "c-end"));
    job.done(3);
    assert_eq!(job.table.identifiers(), [1, 2, MAX]);
    assert_eq!(job.table.files(), ["a-end", "b1", "c-end", "c2"]);
}

#[test]
fn s61_all_ended_and_covered_means_wait_until_the_final_commit_is_durable() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    let [a, b] = [end_entry(1, 0, "a-end"), end_entry(2, 0, "b-end")];
    job.report(0, 0, &a);
    job.report(1, 0, &b);
    // The ask comes before done(1) does, and counts as it.
    let first = job.may_finish(0, 0, 1, &a);
    assert_eq!(job.answer(first), None);
    job.fire(Timer::HeldRequest(RequestId(first)));
    assert_eq!(job.answer(first), Some(Answer::Wait));
    let [first, second] = [job.may_finish(0, 0, 1, &a), job.may_finish(1, 0, 1, &b)];
    job.release_commit();
    assert_eq!(job.table.files(), ["a-end", "b-end"]);
    assert_eq!([job.answer(first), job.answer(second)], [Some(Answer::Go); 2]);
    let late = job.may_finish(1, 0, 1, &b);
    assert_eq!(job.answer(late), Some(Answer::Go));
}

#[test]
fn s61_writers_that_run_one_after_another_do_not_wait_for_each_other() {
    let mut job = Job::start(settings(2));
    let end = end_entry(1, 0, "a-end");
    job.report(0, 0, &end);
    let ask = job.may_finish(0, 0, 1, &end);
    assert_eq!(job.answer(ask), Some(Answer::Go));
}

#[test]
fn h01_an_end_that_the_checkpoint_does_not_cover_lets_the_others_go() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    let [a, b] = [end_entry(1, 5, "a-end"), end_entry(2, 6, "b-end")];
    job.report(0, 0, &a);
    job.ev(1, 6, "b6");
    job.report(1, 0, &b);
    let ask = job.may_finish(0, 0, 6, &a);
    assert_eq!(job.answer(ask), Some(Answer::Go), "7, which b needs, must not need a's mailbox");
    let ask = job.may_finish(1, 0, 7, &b);
    assert_eq!(job.answer(ask), None);
    job.release_all_commits();
    assert_eq!(job.answer(ask), Some(Answer::Go));
    assert_eq!(job.table.identifiers(), [6, MAX]);
}

#[test]
fn h01_wait_becomes_go_when_an_end_is_undone() {
    let mut job = Job::start(settings(2));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.ev(1, 1, "b1");
    job.done(1);
    let [a, b] = [end_entry(1, 1, "a-end"), end_entry(2, 1, "b-end")];
    job.report(0, 0, &a);
    job.report(1, 0, &b);
    let ask = job.may_finish(0, 0, 2, &a);
    assert_eq!(job.answer(ask), None, "the commit of 1 is under way, the final one is due");
    job.failed(1, 0);
    job.subtask_reset(1, 1);
    assert_eq!(job.answer(ask), Some(Answer::Go));
}

#[test]
fn h07_a_lost_end_of_input_is_sent_again_before_its_writer_may_finish() {
    let mut job = Job::start(settings(1));
    let end = end_entry(1, 0, "end");
    let ask = job.may_finish(0, 0, 1, &end);
    assert_eq!(job.answer(ask), Some(Answer::Resend));
    job.report(0, 0, &end_entry(1, 0, "something else"));
    let ask = job.may_finish(0, 0, 1, &end);
    assert_eq!(job.answer(ask), Some(Answer::Resend), "another report is not the asker's");
    assert_eq!(job.table.snapshots, []);
    job.report(0, 0, &end);
    let ask = job.may_finish(0, 0, 1, &end);
    assert_eq!(job.answer(ask), Some(Answer::Go));
    assert_eq!(job.table.files(), ["end"]);
}

#[test]
fn h11_without_drain_a_writer_waits_for_its_last_completed_checkpoint() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.ev(0, 4, "a4");
    let ask = job.may_close(0, 0, 4);
    assert_eq!(job.answer(ask), None, "asking counts as done(4), and the commit is under way");
    job.release_commit();
    assert_eq!(job.answer(ask), Some(Answer::Go));
    assert_eq!(job.table.files(), ["a4"]);
}

#[test]
fn s56_a_writer_that_fails_while_the_final_commit_is_recovered_has_not_ended_again() {
    let mut old = Job::start(settings(1));
    old.end(0, -1, "last");
    let bytes = old.cc_bytes(1);
    let restored = [end_entry(1, -1, "last")];
    for commit_is_under_way in [true, false] {
        let mut job = Job::restore(settings(1), old.table.clone(), 1, Some(bytes.clone()));
        job.hold_commits = true;
        job.rev(0, 0, 1, &[piece(1, 1, true)], &restored);
        if !commit_is_under_way {
            job.release_all_commits();
        }
        job.failed(0, 0);
        job.subtask_reset(0, 1);
        job.ready(0, 1);
        job.rev(0, 1, 1, &[piece(1, 1, true)], &restored);
        job.release_all_commits();
        job.cc_bytes(2);
        job.report(0, 1, &entry(71, 2, "more"));
        job.done(2);
        assert_eq!(job.table.files(), ["last", "more"]);
    }
}

#[test]
fn s61_h20_a_savepoint_after_the_end_of_input_does_not_hold_up_the_final_commit() {
    let mut job = Job::start(settings(1));
    let end = end_entry(1, 6, "end");
    job.report(0, 0, &end);
    job.cc_bytes(7);
    job.cc_bytes(8);
    job.report(0, 0, &Entry { savepoint: true, ..entry(1, 8, "") });
    // The task was told that 7 has completed; savepoint 8 completes without anyone being told.
    let ask = job.may_finish(0, 0, 7, &end);
    assert_eq!(job.answer(ask), Some(Answer::Go));
    assert_eq!(job.table.files(), ["end"]);
    job.cc_bytes(9);
    job.assert_alive();
}

#[test]
fn s33_test_writer_failover_then_global_restore_uses_checkpointed_end_input() {
    let mut old = Job::start(settings(2));
    old.end(0, 0, "a-end");
    old.end(1, 0, "b-end");
    let bytes = old.cc_bytes(1);
    // A region failover has begun, and the global one overtakes it.
    old.failed(0, 0);
    old.subtask_reset(0, -1);
    let mut job = Job::restore(settings(2), old.table, 1, Some(bytes));
    job.rev(0, 0, 1, &[piece(1, 2, true)], &[end_entry(1, 0, "a-end")]);
    assert_eq!(job.table.snapshots, [], "one writer is still to come");
    job.rev(1, 0, 1, &[piece(2, 2, true)], &[end_entry(2, 0, "b-end")]);
    assert_eq!(job.table.identifiers(), [MAX]);
    assert_eq!(job.table.files(), ["a-end", "b-end"]);
}

#[test]
fn s33_test_writer_failover_then_global_restore_retains_partial_checkpointed_end_input() {
    let mut old = Job::start(settings(2));
    old.end(0, 0, "a-end");
    let bytes = old.cc_bytes(1);
    old.ev(1, 1, "b1");
    old.failed(0, 0);
    old.subtask_reset(0, -1);
    let mut job = Job::restore(settings(2), old.table, 1, Some(bytes));
    job.rev(0, 0, 1, &[piece(1, 2, true)], &[end_entry(1, 0, "a-end")]);
    job.rev(1, 0, 1, &[piece(2, 2, false)], &[entry(2, 1, "b1")]);
    assert_eq!(job.table.identifiers(), [1], "the end of one writer waits for the other's");
    job.report(0, 0, &end_entry(71, 1, ""));
    job.report(1, 0, &end_entry(72, 1, "b-end"));
    job.done(2);
    assert_eq!(job.table.identifiers(), [1, MAX]);
    assert_eq!(job.table.files(), ["a-end", "b-end", "b1"]);
}

#[test]
fn h03_files_after_the_final_commit_are_never_taken_for_committed() {
    for late in [entry(71, 4, "more"), end_entry(71, 3, "more")] {
        let mut job = Job::start(settings(1));
        job.end(0, -1, "end");
        job.done(3);
        assert_eq!(job.table.identifiers(), [MAX]);
        let bytes = job.cc_bytes(4);
        // The drain was given up, and the restored source goes on.
        job.failed(0, 0);
        job.subtask_reset(0, 3);
        job.ready(0, 1);
        let restored = [end_entry(1, -1, "end")];
        job.rev(0, 1, 3, &[piece(1, 1, true)], &restored);
        job.report(0, 1, &end_entry(70, 3, ""));
        job.assert_alive();
        job.report(0, 1, &late);
        assert_eq!(job.job_failures, 1);
        let mut again = Job::restore(settings(1), job.table, 4, Some(bytes));
        again.rev(0, 0, 4, &[piece(70, 1, true)], &[restored[0].clone(), end_entry(70, 3, "")]);
        again.report(0, 0, &end_entry(72, 4, "more"));
        again.done(5);
        assert_eq!(again.table.files(), ["end", "more"]);
    }
}

#[test]
fn s03_a_lost_entry_holds_back_the_final_commit_too() {
    let mut job = Job::start(settings(1));
    job.done(5);
    job.end(0, 5, "end");
    job.done(6);
    assert_eq!(job.table.snapshots, [], "after the final commit, Paimon would take 5 for committed");
    job.ev(0, 5, "a5");
    assert_eq!(job.table.files(), ["a5", "end"]);
    assert_eq!(job.table.identifiers(), [5, MAX]);
}

#[test]
fn h10_an_end_that_comes_while_the_final_commit_is_under_way_is_held_until_its_outcome() {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.end(0, -1, "end");
    job.done(1);
    job.failed(0, 0);
    job.subtask_reset(0, 1);
    job.ready(0, 1);
    job.rev(0, 1, 1, &[piece(1, 1, true)], &[end_entry(1, -1, "end")]);
    let again = end_entry(71, 1, "");
    job.report(0, 1, &again);
    let ask = job.may_finish(0, 1, 2, &again);
    assert_eq!(job.answer(ask), None, "it has come, and need not be sent again");
    job.release_all_commits();
    assert_eq!(job.answer(ask), Some(Answer::Go));
    let bytes = job.cc_bytes(3);
    assert!(snapshot::decode(&bytes).expect("readable").entries.is_empty());
    assert_eq!(job.table.identifiers(), [MAX]);
}
