//! What arrives: chunks, and bytes that are not ours.

use bytes::Bytes;
use paimon_writer_coordinator::coordinator::command::Answer;
use paimon_writer_coordinator::coordinator::event::Event;
use paimon_writer_coordinator::error::ErrorKind;

use crate::support::{Job, chunks, encode_entry, entry, settings};

fn send(job: &mut Job, subtask: i32, bytes: &Bytes) {
    job.step(Event::WriterEvent { subtask, attempt: 0, bytes: bytes.clone() });
}

#[test]
fn s11_chunks_of_two_writers_are_joined_in_any_order_of_subtasks() {
    let mut job = Job::start(settings(2));
    let [first, second] = [1u128, 2].map(|writer| {
        let body = encode_entry(&entry(writer, 1, &"f".repeat(100)));
        chunks(1, writer, 0, 1, &body, 10)
    });
    assert!(first.len() > 10);
    for (a, b) in first.iter().zip(&second) {
        send(&mut job, 1, b);
        send(&mut job, 0, a);
    }
    job.done(1);
    assert_eq!(job.table.files(), ["f".repeat(100), "f".repeat(100)]);
}

#[test]
fn s11_an_entry_counts_only_when_whole() {
    let mut job = Job::start(settings(1));
    let report = entry(1, 1, "a-file");
    let parts = chunks(1, 1, 0, 1, &encode_entry(&report), 20);
    for part in &parts[..parts.len() - 1] {
        send(&mut job, 0, part);
    }
    job.done(1);
    let request = job.confirm(0, 0, &report);
    assert_eq!(job.answer(request), None);
    assert_eq!(job.table.snapshots, []);
    send(&mut job, 0, &parts[parts.len() - 1]);
    assert_eq!(job.answer(request), Some(Answer::Held));
    assert_eq!(job.table.files(), ["a-file"]);
}

#[test]
fn h25_half_an_old_chunk_set_never_completes_a_new_one() {
    let mut job = Job::start(settings(1));
    let old = chunks(1, 1, 0, 1, &encode_entry(&entry(1, 1, "old-old-old")), 40);
    let new = chunks(1, 1, 0, 1, &encode_entry(&entry(1, 1, "new-new-new")), 40);
    send(&mut job, 0, &old[0]);
    send(&mut job, 0, &new[1]);
    new.iter().for_each(|part| send(&mut job, 0, part));
    job.done(1);
    assert_eq!(job.table.files(), ["new-new-new"]);
}

#[test]
fn h25_a_lost_chunk_is_repaired_by_sending_everything_again() {
    let mut job = Job::start(settings(1));
    let parts = chunks(1, 1, 0, 1, &encode_entry(&entry(1, 1, "a-file")), 20);
    send(&mut job, 0, &parts[0]);
    parts[2..].iter().for_each(|part| send(&mut job, 0, part));
    job.done(1);
    assert_eq!(job.table.snapshots, []);
    parts.iter().for_each(|part| send(&mut job, 0, part));
    assert_eq!(job.table.files(), ["a-file"]);
}

#[test]
fn s105_bytes_that_are_not_ours_fail_the_job_with_what_was_found() {
    let whole = chunks(1, 1, 0, 1, &encode_entry(&entry(1, 1, "a")), 1 << 20).remove(0);
    let mut flipped = whole.to_vec();
    *flipped.last_mut().expect("not empty") ^= 1;
    let mut negative = whole.to_vec();
    negative[26] = 0x80;
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("text", b"hello, coordinator".to_vec()),
        ("truncated", whole[..whole.len() - 3].to_vec()),
        ("flipped", flipped),
        ("negative checkpoint", negative),
    ];
    for (case, bytes) in cases {
        let mut job = Job::start(settings(1));
        send(&mut job, 0, &bytes.into());
        let failure = job.failure.unwrap_or_else(|| panic!("{case}: the job fails"));
        assert_eq!(failure.kind, ErrorKind::ForeignMessage, "{case}: {failure}");
        assert!(failure.message.contains("subtask 0"), "{case}: {failure}");
    }
}

#[test]
fn s105_a_subtask_out_of_range_fails_the_job() {
    for subtask in [-1, 2, i32::MAX] {
        let mut job = Job::start(settings(2));
        job.ready(subtask, 0);
        let failure = job.failure.expect("the job fails");
        assert!(failure.message.contains(&subtask.to_string()), "{failure}");
    }
}

#[test]
fn s105_a_request_that_is_not_ours_is_rejected_and_fails_the_job() {
    let mut job = Job::start(settings(1));
    let request = paimon_writer_coordinator::coordinator::command::RequestId(9);
    job.step(Event::Request { request, bytes: Bytes::from_static(b"?") });
    assert_eq!(job.answer(9), Some(Answer::Rejected));
    assert_eq!(job.job_failures, 1);
}
