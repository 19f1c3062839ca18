//! Section G.

use paimon_writer_coordinator::coordinator::command::Timer;
use paimon_writer_coordinator::coordinator::event::FailureClass;
use paimon_writer_coordinator::error::ErrorKind;

use crate::support::{Job, settings};

fn job_with_a_commit_under_way() -> Job {
    let mut job = Job::start(settings(1));
    job.hold_commits = true;
    job.ev(0, 1, "a1");
    job.done(1);
    job
}

#[test]
fn s90_an_io_error_is_tried_again_in_place_with_the_same_entries() {
    let mut job = job_with_a_commit_under_way();
    let first = job.waiting_commits[0].clone();
    job.fail_commit(FailureClass::Retryable);
    assert_eq!(job.timers[&Timer::Retry], 100);
    job.fire(Timer::Retry);
    assert_eq!(job.waiting_commits[0].attempt, 2);
    assert_eq!(job.waiting_commits[0].entries, first.entries);
    job.fail_commit(FailureClass::Retryable);
    assert_eq!(job.timers[&Timer::Retry], 150, "doubled, at most the longest pause");
    job.fire(Timer::Retry);
    job.release_commit();
    assert_eq!(job.table.files(), ["a1"]);
    job.assert_alive();
}

#[test]
fn s91_when_it_keeps_failing_the_job_fails_once_and_says_why() {
    let mut job = job_with_a_commit_under_way();
    for _ in 0..2 {
        job.fail_commit(FailureClass::Retryable);
        job.fire(Timer::Retry);
    }
    job.fail_commit(FailureClass::Retryable);
    let failure = job.failure.clone().expect("the job fails");
    assert!(failure.kind.recoverable());
    for part in ["db.t", "checkpoint 1", "3 attempts", "disk on fire"] {
        assert!(failure.message.contains(part), "{failure}");
    }
    job.done(2);
    assert_eq!(job.job_failures, 1);
}

#[test]
fn s37_a_commit_that_can_never_succeed_ends_the_job() {
    let mut job = job_with_a_commit_under_way();
    job.fail_commit(FailureClass::Final);
    assert_eq!(job.failure.map(|failure| failure.kind), Some(ErrorKind::CommitImpossible));
    assert!(!ErrorKind::CommitImpossible.recoverable());
}

#[test]
fn s94_an_error_on_the_commit_thread_fails_the_job_and_later_calls_are_answered() {
    let mut job = job_with_a_commit_under_way();
    job.fail_commit(FailureClass::FailJob);
    assert_eq!(job.job_failures, 1);
    let future = job.cc(2);
    assert!(matches!(job.futures[&future], crate::support::Future::Failed(_)));
}

#[test]
fn s44_a_reset_between_two_tries_ends_them() {
    let mut job = job_with_a_commit_under_way();
    job.fail_commit(FailureClass::Retryable);
    job.step(paimon_writer_coordinator::coordinator::event::Event::Close);
    assert!(job.timers.is_empty());
    assert_eq!(job.waiting_commits.len(), 0);
}
