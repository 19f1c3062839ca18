//! The checkpoint bytes: pinned, and the same after a round trip.

use bytes::Bytes;
use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::snapshot::{State, StateEntry, decode, encode};
use paimon_writer_coordinator::wire::{Entry, Incarnation};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

/// One of everything. The golden file of a format version is written once, and never again.
fn sample() -> State {
    let entry = Entry {
        checkpoint_id: 5,
        incarnation: Incarnation(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10),
        ended_after: i64::MIN,
        watermark: 1_000,
        idle: false,
        savepoint: true,
        committable_count: 2,
        serializer_version: 3,
        payload: Bytes::from_static(b"payload"),
    };
    let end =
        Entry { checkpoint_id: i64::MAX, ended_after: 4, idle: true, savepoint: false, ..entry.clone() };
    State {
        parallelism: 2,
        commit_users: vec![(0, "first".to_owned()), (1, "second".to_owned())],
        committed_through: 4,
        snapshot_id: 17,
        watermark: 900,
        final_commit_done: false,
        ended: vec![(1, Incarnation(1))],
        committed_end_of_input: vec![Incarnation(2)],
        committer_state: Some(Bytes::from_static(b"listeners")),
        entries: vec![StateEntry { generation: 0, entry }, StateEntry { generation: 1, entry: end }],
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a release with this format version wrote.
fn golden(version: u16) -> String {
    let path = format!("{}/tests/golden/snapshot_v{version}.hex", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")).trim().to_owned()
}

fn current_version() -> u16 {
    let bytes = encode(&sample()).expect("encodes");
    u16::from_le_bytes([bytes[4], bytes[5]])
}

#[test]
fn s38_the_current_version_is_pinned_byte_for_byte() {
    assert_eq!(
        hex(&encode(&sample()).expect("encodes")),
        golden(current_version()),
        "checkpoint bytes are in the savepoints of users: give the new ones a new version and a golden file of their own, keep the reader of the old ones, and write both into the history in src/snapshot.rs"
    );
}

#[test]
fn s38_an_unknown_version_is_named() {
    let mut bytes = encode(&sample()).expect("encodes");
    bytes[4] = 9;
    let error = decode(&bytes).expect_err("refused");
    assert!(error.message.contains("version 9, expected at most 1"), "{error}");
}

#[test]
fn s38_an_entry_without_a_commit_user_is_named() {
    let mut state = sample();
    state.commit_users.remove(0);
    let error = decode(&encode(&state).expect("encodes")).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::CorruptState);
    let found = "found an entry of checkpoint 5 for the commit user of generation 0, expected one of {1}";
    assert!(error.message.contains(found), "{error}");
}

#[test]
fn s38_the_golden_file_of_every_version_decodes() {
    for version in 1..=current_version() {
        let digits: Vec<u8> =
            golden(version).chars().map(|digit| digit.to_digit(16).expect("a hex digit") as u8).collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        assert_eq!(decode(&bytes), Ok(sample()), "version {version}");
    }
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let numbers = (any::<i64>(), any::<u128>(), any::<i64>(), any::<i64>());
    let rest = (any::<bool>(), any::<bool>(), any::<i32>(), any::<i32>(), vec(any::<u8>(), 0..200));
    (numbers, rest).prop_map(|((checkpoint_id, incarnation, ended_after, watermark), rest)| {
        let (idle, savepoint, committable_count, serializer_version, payload) = rest;
        let incarnation = Incarnation(incarnation);
        let payload = payload.into();
        Entry {
            checkpoint_id,
            incarnation,
            ended_after,
            watermark,
            idle,
            savepoint,
            committable_count,
            serializer_version,
            payload,
        }
    })
}

fn any_state() -> impl Strategy<Value = State> {
    let numbers = (1..u32::MAX, any::<i64>(), any::<i64>(), any::<i64>(), any::<bool>());
    let users = vec((any::<u32>(), ".*"), 1..4);
    let ids = || vec(any::<u128>().prop_map(Incarnation), 0..4);
    let ended = vec((any::<u32>(), any::<u128>().prop_map(Incarnation)), 0..4);
    let committer_state = option::of(vec(any::<u8>(), 0..50).prop_map(Bytes::from));
    let entries = vec((any::<Index>(), any_entry()), 0..6);
    (numbers, users, ended, ids(), committer_state, entries).prop_map(
        |(numbers, commit_users, ended, committed_end_of_input, committer_state, entries)| {
            let (parallelism, committed_through, snapshot_id, watermark, final_commit_done) = numbers;
            let stored = |(user, entry): (Index, Entry)| {
                let (generation, _) = commit_users[user.index(commit_users.len())];
                StateEntry { generation, entry }
            };
            let entries = entries.into_iter().map(stored).collect();
            State {
                parallelism,
                commit_users,
                committed_through,
                snapshot_id,
                watermark,
                final_commit_done,
                ended,
                committed_end_of_input,
                committer_state,
                entries,
            }
        },
    )
}

proptest! {
    #[test]
    fn s38_a_round_trip_changes_nothing(state in any_state()) {
        prop_assert_eq!(decode(&encode(&state).expect("encodes")).expect("decodes"), state);
    }

    #[test]
    fn s38_foreign_bytes_are_an_error_and_never_a_panic(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(decode(&bytes).is_err());
    }
}
