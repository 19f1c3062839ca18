//! Section E: jobs without checkpoints.

use paimon_writer_coordinator::coordinator::command::Answer;
use paimon_writer_coordinator::coordinator::event::{Event, FailureClass};
use paimon_writer_coordinator::settings::Settings;
use paimon_writer_coordinator::snapshot;
use paimon_writer_coordinator::wire::Entry;

use crate::support::{Job, MAX, Table, end_entry, settings};

/// A task reports the end of its input, and asks whether it may finish.
fn finish(job: &mut Job, subtask: i32, attempt: i32, end: &Entry) -> i64 {
    job.report(subtask, attempt, end);
    job.may_finish(subtask, attempt, -1, end)
}

/// The same for attempt 0.
fn end(job: &mut Job, subtask: i32, ended_after: i64, files: &str) -> i64 {
    finish(job, subtask, 0, &end_entry(subtask as u128 + 1, ended_after, files))
}

fn without_checkpoints(parallelism: u32) -> Settings {
    Settings { checkpointing_enabled: false, ..settings(parallelism) }
}

#[test]
fn s70_test_checkpoint_disabled_commits_when_all_subtasks_end_input() {
    let mut job = Job::start(without_checkpoints(2));
    end(&mut job, 0, -1, "a");
    let early = job.may_finish(0, 0, -1, &end_entry(1, -1, "a"));
    assert_eq!(job.answer(early), Some(Answer::Go), "the other writer may need its slot");
    assert_eq!(job.table.snapshots, []);
    job.hold_commits = true;
    end(&mut job, 1, -1, "b");
    let last = job.may_finish(1, 0, -1, &end_entry(2, -1, "b"));
    assert_eq!(job.answer(last), None, "the job must not be FINISHED before the commit");
    job.release_commit();
    assert_eq!(job.answer(last), Some(Answer::Go));
    assert_eq!(job.table.identifiers(), [MAX]);
    assert_eq!(job.table.files(), ["a", "b"]);
}

#[test]
fn s70_a_lost_report_is_sent_again_before_the_writer_may_finish() {
    let mut job = Job::start(without_checkpoints(1));
    let asked = job.may_finish(0, 0, -1, &end_entry(1, -1, "a"));
    assert_eq!(job.answer(asked), Some(Answer::Resend));
    end(&mut job, 0, -1, "a");
    let again = job.may_finish(0, 0, -1, &end_entry(1, -1, "a"));
    assert_eq!(job.answer(again), Some(Answer::Go));
    assert_eq!(job.table.files(), ["a"]);
}

#[test]
fn s70_savepoints_that_never_completed_go_with_the_final_commit() {
    let mut job = Job::start(without_checkpoints(2));
    job.ev(0, 5, "a5");
    job.ev(1, 5, "b5");
    end(&mut job, 0, 5, "a-end");
    end(&mut job, 1, 5, "b-end");
    assert_eq!(job.table.identifiers(), [MAX], "a restart would begin from nothing: all at once");
    assert_eq!(job.table.files(), ["a-end", "a5", "b-end", "b5"]);
}

#[test]
fn s70_a_savepoint_that_completed_is_committed_at_once() {
    let mut job = Job::start(without_checkpoints(1));
    job.ev(0, 5, "a5");
    job.done(5);
    end(&mut job, 0, 5, "end");
    assert_eq!(job.table.identifiers(), [5, MAX]);
}

#[test]
fn s71_a_task_that_runs_again_before_the_commit_replaces_its_report() {
    let mut job = Job::start(without_checkpoints(2));
    end(&mut job, 0, -1, "a-first");
    job.failed(0, 0);
    job.subtask_reset(0, -1);
    job.ready(0, 1);
    end(&mut job, 1, -1, "b");
    assert_eq!(job.table.snapshots, [], "what was reset has not ended");
    finish(&mut job, 0, 1, &end_entry(11, -1, "a-second"));
    assert_eq!(job.table.files(), ["a-second", "b"]);
}

#[test]
fn s72_a_task_that_runs_again_after_the_final_commit_is_ignored() {
    let mut job = Job::start(without_checkpoints(2));
    end(&mut job, 0, -1, "a");
    end(&mut job, 1, -1, "b");
    job.failed(0, 0);
    job.subtask_reset(0, -1);
    job.ready(0, 1);
    let again = end_entry(11, -1, "a-again");
    let lost = job.may_finish(0, 1, -1, &again);
    assert_eq!(job.answer(lost), Some(Answer::Resend), "nobody knows yet what it wrote");
    finish(&mut job, 0, 1, &again);
    let asked = job.may_finish(0, 1, -1, &again);
    assert_eq!(job.answer(asked), Some(Answer::GoUnused), "it removes its new files");
    assert_eq!(job.table.files(), ["a", "b"]);
    job.assert_alive();
}

#[test]
fn h09_files_of_the_final_commit_are_never_called_unused() {
    let mut job = Job::start(without_checkpoints(1));
    end(&mut job, 0, -1, "a");
    // The answer to the first question was lost, so the writer says everything again.
    end(&mut job, 0, -1, "a");
    let asked = job.may_finish(0, 0, -1, &end_entry(1, -1, "a"));
    assert_eq!(job.answer(asked), Some(Answer::Go));
    assert_eq!(job.table.files(), ["a"]);
}

#[test]
fn h10_a_task_that_runs_again_during_the_final_commit_waits_for_its_outcome() {
    let mut job = Job::start(without_checkpoints(1));
    job.hold_commits = true;
    end(&mut job, 0, -1, "a");
    job.failed(0, 0);
    job.subtask_reset(0, -1);
    job.ready(0, 1);
    let again = end_entry(11, -1, "a-again");
    finish(&mut job, 0, 1, &again);
    let asked = job.may_finish(0, 1, -1, &again);
    assert_eq!(job.answer(asked), None);
    job.release_commit();
    assert_eq!(job.answer(asked), Some(Answer::GoUnused));
    assert_eq!(job.table.files(), ["a"]);
}

#[test]
fn s73_finished_writers_come_back_from_the_batch_snapshot() {
    let mut job = Job::start(without_checkpoints(3));
    end(&mut job, 0, -1, "a");
    end(&mut job, 1, -1, "b-unfinished");
    let bytes = job.cc_bytes(-1);

    let mut job = Job::restore_batch(without_checkpoints(3), job.table, Some(bytes));
    for subtask in [1, 2] {
        job.failed(subtask, 0);
        job.subtask_reset(subtask, -1);
        job.ready(subtask, 1);
    }
    finish(&mut job, 1, 1, &end_entry(12, -1, "b"));
    assert_eq!(job.table.snapshots, []);
    finish(&mut job, 2, 1, &end_entry(13, -1, "c"));
    assert_eq!(job.table.identifiers(), [MAX]);
    assert_eq!(job.table.files(), ["a", "b", "c"]);
}

#[test]
fn s73_a_reset_without_bytes_begins_from_nothing() {
    let mut job = Job::start(without_checkpoints(1));
    end(&mut job, 0, -1, "lost");
    let mut job = Job::restore_batch(without_checkpoints(1), Table::default(), None);
    job.ready(0, 1);
    finish(&mut job, 0, 1, &end_entry(11, -1, "a"));
    assert_eq!(job.table.files(), ["a"]);
}

#[test]
fn s73_the_final_commit_that_a_lost_job_manager_made_is_found() {
    let mut job = Job::start(without_checkpoints(2));
    end(&mut job, 0, -1, "a");
    let bytes = job.cc_bytes(-1);
    end(&mut job, 1, -1, "b");
    assert_eq!(job.table.files(), ["a", "b"]);

    let mut job = Job::restore_batch(without_checkpoints(2), job.table, Some(bytes));
    job.failed(1, 0);
    job.subtask_reset(1, -1);
    job.ready(1, 1);
    let again = end_entry(12, -1, "b-again");
    finish(&mut job, 1, 1, &again);
    let asked = job.may_finish(1, 1, -1, &again);
    assert_eq!(job.answer(asked), Some(Answer::GoUnused));
    assert_eq!(job.table.files(), ["a", "b"]);
    let later = snapshot::decode(&job.cc_bytes(-1)).expect("decodes");
    assert!(later.final_commit_done && later.entries.is_empty());
}

#[test]
fn s73_bytes_of_a_running_commit_commit_it_again_if_it_was_lost() {
    let mut job = Job::start(without_checkpoints(1));
    job.hold_commits = true;
    end(&mut job, 0, -1, "a");
    let bytes = job.cc_bytes(-1);
    let job = Job::restore_batch(without_checkpoints(1), job.table, Some(bytes));
    assert_eq!(job.table.files(), ["a"]);
}

#[test]
fn s73_bytes_of_another_parallelism_are_refused() {
    let mut job = Job::start(without_checkpoints(2));
    let bytes = job.cc_bytes(-1);
    let job = Job::restore_batch(without_checkpoints(3), job.table, Some(bytes));
    let failure = job.failure.expect("refused");
    assert!(failure.message.contains("had 2 subtasks; there are 3 now"), "{failure}");
}

#[test]
fn h14_batch_snapshots_are_completed_at_once_each_for_itself() {
    let mut job = Job::new(without_checkpoints(1), Table::default());
    job.hold_opening = true;
    job.step(Event::Begin {
        restored_checkpoint_id: None,
        state: None,
        fresh_commit_user: "fresh".to_owned(),
    });
    for _ in 0..3 {
        job.cc_bytes(-1);
    }
    job.open();
    job.hold_commits = true;
    job.ready(0, 0);
    end(&mut job, 0, -1, "a");
    let during = snapshot::decode(&job.cc_bytes(-1)).expect("decodes");
    assert_eq!(during.entries.len(), 1, "the commit under way may be lost");
    job.fail_commit(FailureClass::FailJob);
    let failing = snapshot::decode(&job.cc_bytes(-1)).expect("decodes");
    assert_eq!(failing, during, "a job manager that is lost now must know as much");
}

#[test]
fn s74_a_recomputation_after_the_final_commit_writes_nothing() {
    let mut job = Job::start(without_checkpoints(2));
    end(&mut job, 0, -1, "a");
    end(&mut job, 1, -1, "b");

    let mut job = Job::start_on(without_checkpoints(2), job.table);
    for subtask in [0, 1] {
        let again = end_entry(20 + subtask as u128, -1, "again");
        finish(&mut job, subtask, 0, &again);
        let asked = job.may_finish(subtask, 0, -1, &again);
        assert_eq!(job.answer(asked), Some(Answer::GoUnused));
    }
    assert_eq!(job.table.files(), ["a", "b"]);
    assert_eq!(job.table.identifiers(), [MAX]);
}

#[test]
fn s76_of_two_attempts_at_once_the_first_complete_end_of_input_wins() {
    let mut job = Job::start(without_checkpoints(1));
    job.hold_commits = true;
    job.ready(0, 1);
    let second = end_entry(11, -1, "second");
    finish(&mut job, 0, 1, &second);
    let first = end_entry(1, -1, "first");
    finish(&mut job, 0, 0, &first);
    let asked = [(0, &first), (1, &second)].map(|(attempt, end)| job.may_finish(0, attempt, -1, end));
    job.release_commit();
    assert_eq!(asked.map(|request| job.answer(request)), [Some(Answer::GoUnused), Some(Answer::Go)]);
    assert_eq!(job.table.files(), ["second"]);
}

#[test]
fn s76_the_attempt_that_is_cancelled_leaves_the_other_alone() {
    let mut job = Job::start(without_checkpoints(2));
    job.ready(0, 1);
    finish(&mut job, 0, 1, &end_entry(11, -1, "a"));
    job.failed(0, 0);
    end(&mut job, 1, -1, "b");
    let asked = job.may_finish(0, 1, -1, &end_entry(11, -1, "a"));
    assert_eq!(job.answer(asked), Some(Answer::Go));
    assert_eq!(job.table.files(), ["a", "b"]);
}

#[test]
fn s73_what_a_task_wrote_that_had_to_run_again_during_the_commit_does_not_come_back() {
    let mut job = Job::start(without_checkpoints(2));
    job.hold_commits = true;
    end(&mut job, 0, -1, "a");
    end(&mut job, 1, -1, "b-frozen");
    job.failed(1, 0);
    job.subtask_reset(1, -1);
    job.ready(1, 1);
    let bytes = job.cc_bytes(-1);
    // Its second run ends while the commit is under way; Flink records that somebody else has finished.
    finish(&mut job, 1, 1, &end_entry(12, -1, "b-dismissed"));
    let later = job.cc_bytes(-1);

    for bytes in [bytes, later] {
        let mut job = Job::restore_batch(without_checkpoints(2), Table::default(), Some(bytes));
        assert_eq!(job.table.snapshots, [], "one of the two has to run again");
        job.failed(1, 0);
        job.subtask_reset(1, -1);
        job.ready(1, 1);
        finish(&mut job, 1, 1, &end_entry(22, -1, "b"));
        assert_eq!(job.table.files(), ["a", "b"]);
    }
}

#[test]
fn s70_a_drain_that_is_given_up_commits_nothing() {
    let mut job = Job::start(without_checkpoints(2));
    for subtask in [0, 1] {
        job.report(subtask, 0, &end_entry(subtask as u128 + 1, -1, "drained"));
    }
    for subtask in [0, 1] {
        job.failed(subtask, 0);
        job.subtask_reset(subtask, -1);
        job.ready(subtask, 1);
    }
    assert_eq!(job.table.snapshots, [], "no task was about to finish");
    finish(&mut job, 0, 1, &end_entry(11, -1, "a"));
    let last = finish(&mut job, 1, 1, &end_entry(12, -1, "b"));
    assert_eq!(job.answer(last), Some(Answer::Go));
    assert_eq!(job.table.files(), ["a", "b"]);
}

#[test]
fn s73_a_finished_writer_whose_rows_nobody_has_makes_the_job_begin_anew() {
    for bytes_hold_another in [false, true] {
        let mut job = Job::start(without_checkpoints(3));
        if bytes_hold_another {
            end(&mut job, 1, -1, "b");
        }
        let bytes = bytes_hold_another.then(|| job.cc_bytes(-1));
        let mut job = Job::restore_batch(without_checkpoints(3), Table::default(), bytes);
        // Flink takes subtask 0 for finished, and runs the others again.
        job.step(Event::BatchSnapshotsAskedFor);
        let again: &[i32] = if bytes_hold_another { &[2] } else { &[1, 2] };
        for &subtask in again {
            job.failed(subtask, 0);
            job.subtask_reset(subtask, -1);
        }
        job.assert_alive();
        job.ready(2, 1);
        let failure = job.failure.expect("the job fails over");
        assert!(failure.message.contains("subtasks [0] had finished"), "{failure}");
        assert!(failure.kind.recoverable());
    }
}

#[test]
fn s73_a_question_about_batch_snapshots_in_a_running_job_changes_nothing() {
    let mut job = Job::start(without_checkpoints(3));
    job.step(Event::BatchSnapshotsAskedFor);
    job.subtask_reset(1, -1);
    job.ready(1, 1);
    job.assert_alive();
}
