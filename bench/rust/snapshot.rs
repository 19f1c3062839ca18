//! The checkpoint bytes of a state of 100 MB: how fast they are written and read, beside how fast memory is copied.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput};
use paimon_writer_coordinator::snapshot::{State, StateEntry, decode, encode};
use paimon_writer_coordinator::wire::{Entry, Incarnation};

const ENTRIES: u128 = 1_000;
const PAYLOAD_BYTES: usize = 100_000;

fn state() -> State {
    let entry = |incarnation: u128| Entry {
        checkpoint_id: 5,
        incarnation: Incarnation(incarnation),
        ended_after: i64::MIN,
        watermark: i64::MIN,
        idle: false,
        savepoint: false,
        committable_count: 1,
        serializer_version: 3,
        payload: Bytes::from(vec![incarnation as u8; PAYLOAD_BYTES]),
    };
    State {
        parallelism: ENTRIES as u32,
        commit_users: vec![(0, "user".to_owned())],
        committed_through: i64::MIN,
        snapshot_id: -1,
        watermark: i64::MIN,
        final_commit_done: false,
        ended: Vec::new(),
        committed_end_of_input: Vec::new(),
        committer_state: None,
        entries: (0..ENTRIES).map(|writer| StateEntry { generation: 0, entry: entry(writer) }).collect(),
    }
}

fn snapshot(criterion: &mut Criterion) {
    let state = state();
    let bytes = encode(&state).expect("encodes");
    assert_eq!(decode(&bytes).as_ref(), Ok(&state));
    let mut group = criterion.benchmark_group("snapshot");
    group.sample_size(10).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("copy", |bencher| bencher.iter(|| black_box(bytes.as_slice()).to_vec()));
    group.bench_function("encode", |bencher| bencher.iter(|| encode(black_box(&state))));
    group.bench_function("decode", |bencher| bencher.iter(|| decode(black_box(&bytes))));
    group.finish();
}

fn main() {
    snapshot(&mut Criterion::default().configure_from_args());
}
