//! What an event and a checkpoint cost the machine, by the number of writers and of checkpoints that wait.

use std::time::Duration;

use bytes::Bytes;
use criterion::{BatchSize, Bencher, BenchmarkId, Criterion, Throughput};
use paimon_writer_coordinator::coordinator::command::FutureId;
use paimon_writer_coordinator::coordinator::event::Event;

#[path = "../../tests/support/mod.rs"]
mod support;

use support::{Job, chunks, encode_entry, entry, settings};

const WRITERS: [u32; 4] = [10, 100, 1_000, 10_000];
const CHECKPOINTS: [i64; 4] = [1, 10, 100, 1_000];
const FEW_WRITERS: u32 = 10;

/// About what one file takes.
const PAYLOAD_BYTES: usize = 400;

/// One event of each writer.
fn events(writers: u32, checkpoint_id: i64) -> Vec<Event> {
    let payload = "f".repeat(PAYLOAD_BYTES);
    let event = |subtask: u32| {
        let incarnation = u128::from(subtask) + 1;
        let body: Bytes = encode_entry(&entry(incarnation, checkpoint_id, &payload));
        let bytes = chunks(1, incarnation, 0, checkpoint_id, &body, 1 << 20).remove(0);
        Event::WriterEvent { subtask: subtask as i32, attempt: 0, bytes }
    };
    (0..writers).map(event).collect()
}

/// A job in which these checkpoints wait for their completion.
fn job(writers: u32, checkpoints: i64) -> Job {
    let mut job = Job::start(settings(writers));
    for checkpoint_id in 1..=checkpoints {
        events(writers, checkpoint_id).into_iter().for_each(|event| job.step(event));
    }
    job
}

/// The events of one more checkpoint, each writer one.
fn bench_events(bencher: &mut Bencher, checkpoint_id: i64, writers: u32, job: impl Fn() -> Job) {
    let events = events(writers, checkpoint_id);
    let setup = || (job(), events.clone());
    let report = |(mut job, events): (Job, Vec<Event>)| {
        for event in events {
            job.coordinator.step(event);
        }
        job
    };
    bencher.iter_batched(setup, report, BatchSize::PerIteration);
}

fn by_writers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event-by-writers");
    for writers in WRITERS {
        group.sample_size(10).throughput(Throughput::Elements(writers.into()));
        group.bench_function(BenchmarkId::from_parameter(writers), |bencher| {
            bench_events(bencher, 2, writers, || job(writers, 1));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("event-during-commit-by-writers");
    for writers in WRITERS {
        group.sample_size(10).throughput(Throughput::Elements(writers.into()));
        group.bench_function(BenchmarkId::from_parameter(writers), |bencher| {
            bench_events(bencher, 2, writers, || {
                let mut job = job(writers, 1);
                job.hold_commits = true;
                job.step(Event::CheckpointComplete { checkpoint_id: 1 });
                assert_eq!(job.waiting_commits.len(), 1);
                job
            });
        });
    }
    group.finish();
}

fn by_checkpoints(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event-by-checkpoints");
    for checkpoints in CHECKPOINTS {
        group.sample_size(10).throughput(Throughput::Elements(FEW_WRITERS.into()));
        group.bench_function(BenchmarkId::from_parameter(checkpoints), |bencher| {
            bench_events(bencher, checkpoints + 1, FEW_WRITERS, || job(FEW_WRITERS, checkpoints));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("checkpoint-by-entries");
    for (writers, checkpoints) in
        CHECKPOINTS.map(|count| (FEW_WRITERS, count)).into_iter().chain([(10_000, 1)])
    {
        let entries = u64::from(writers) * checkpoints as u64;
        let mut job = job(writers, checkpoints);
        group.sample_size(10).throughput(Throughput::Elements(entries));
        group.bench_function(BenchmarkId::new(writers.to_string(), checkpoints), |bencher| {
            let mut future = 0;
            bencher.iter(|| {
                future += 1;
                let future = FutureId(future);
                job.coordinator.step(Event::Checkpoint { checkpoint_id: checkpoints + 1, future })
            });
        });
    }
    group.finish();
}

fn main() {
    // Making a job takes longer than what is measured in it.
    let short = Criterion::default().warm_up_time(Duration::from_millis(50));
    let mut criterion = short.measurement_time(Duration::from_millis(100)).configure_from_args();
    by_writers(&mut criterion);
    by_checkpoints(&mut criterion);
}
