//! Section E: jobs without checkpoints.

use paimon_writer_coordinator::coordinator::command::Answer;
use paimon_writer_coordinator::settings::Settings;

use crate::support::{Job, MAX, end_entry, settings};

fn without_checkpoints(parallelism: u32) -> Settings {
    Settings { checkpointing_enabled: false, ..settings(parallelism) }
}

#[test]
fn s70_test_checkpoint_disabled_commits_when_all_subtasks_end_input() {
    let mut job = Job::start(without_checkpoints(2));
    job.end(0, -1, "a");
    let early = job.may_finish(0, 0, -1, &end_entry(1, -1, "a"));
    assert_eq!(job.answer(early), Some(Answer::Go), "the other writer may need its slot");
    assert_eq!(job.table.snapshots, []);
    job.hold_commits = true;
    job.end(1, -1, "b");
    let last = job.may_finish(1, 0, -1, &end_entry(2, -1, "b"));
    assert_eq!(job.answer(last), None, "the job must not be FINISHED before the commit");
    job.release_commit();
    assert_eq!(job.answer(last), Some(Answer::Go));
    assert_eq!(job.table.identifiers(), [MAX]);
    assert_eq!(job.table.files(), ["a", "b"]);
}
