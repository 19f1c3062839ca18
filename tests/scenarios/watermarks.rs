//! Section F.

use paimon_writer_coordinator::wire::Entry;

use crate::support::{Job, entry, settings};

fn at(subtask: u128, checkpoint_id: i64, watermark: i64, idle: bool) -> Entry {
    Entry { watermark, idle, ..entry(subtask + 1, checkpoint_id, &format!("f{subtask}-{checkpoint_id}")) }
}

fn watermarks(rounds: &[&[(i64, bool)]]) -> Vec<i64> {
    let mut job = Job::start(settings(rounds[0].len() as u32));
    for (round, readings) in rounds.iter().enumerate() {
        let checkpoint_id = round as i64 + 1;
        for (subtask, &(watermark, idle)) in readings.iter().enumerate() {
            job.report(subtask as i32, 0, &at(subtask as u128, checkpoint_id, watermark, idle));
        }
        job.done(checkpoint_id);
    }
    job.table.snapshots.iter().map(|snapshot| snapshot.watermark).collect()
}

#[test]
fn s80_the_minimum_at_the_barrier_of_each_checkpoint() {
    let mut job = Job::start(settings(2));
    job.report(0, 0, &at(0, 1, 10, false));
    job.report(1, 0, &at(1, 1, 20, false));
    job.report(0, 0, &at(0, 2, 30, false));
    job.report(1, 0, &at(1, 2, 40, false));
    job.done(2);
    let watermarks: Vec<i64> = job.table.snapshots.iter().map(|snapshot| snapshot.watermark).collect();
    assert_eq!(watermarks, [10, 30], "not the values at completion");
}

#[test]
fn s80_a_writer_without_a_watermark_holds_it_back() {
    assert_eq!(watermarks(&[&[(10, false), (i64::MIN, false)]]), [i64::MIN]);
}

#[test]
fn s80_never_backwards() {
    assert_eq!(watermarks(&[&[(10, false)], &[(5, false)], &[(11, false)]]), [10, 10, 11]);
}

#[test]
fn s81_idle_writers_are_left_out_until_they_catch_up() {
    let rounds: [&[(i64, bool)]; 4] = [
        &[(10, false), (5, true)],
        &[(20, false), (7, false)],
        &[(30, false), (20, false)],
        &[(40, false), (25, false)],
    ];
    assert_eq!(watermarks(&rounds), [10, 20, 20, 25]);
}

#[test]
fn s81_all_idle_gives_the_highest_seen_once() {
    let rounds: [&[(i64, bool)]; 3] =
        [&[(10, false), (20, false)], &[(10, true), (20, true)], &[(10, true), (99, true)]];
    assert_eq!(watermarks(&rounds), [10, 20, 20]);
}

#[test]
fn s06_entries_of_an_aborted_checkpoint_never_raise_the_watermark() {
    let mut job = Job::start(settings(2));
    job.report(1, 0, &at(1, 4, 400, false));
    job.abort(4);
    job.report(0, 0, &at(0, 5, 10, false));
    job.report(1, 0, &at(1, 5, 500, false));
    job.done(5);
    let watermarks: Vec<i64> = job.table.snapshots.iter().map(|snapshot| snapshot.watermark).collect();
    assert_eq!(watermarks, [i64::MIN, 10]);
}
