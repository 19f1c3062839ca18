//! The fuzz targets in bounded time: on the corpus, and on random mutations of it. `scripts/fuzz` runs them for long.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

mod allocations;
mod steps;
#[path = "../support/mod.rs"]
mod support;
mod targets;

/// The kept inputs of a target, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let entries = fs::read_dir(folder).expect("the corpus of the target");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable entry").path()).collect();
    paths.sort();
    let inputs: Vec<_> = paths.iter().map(|path| fs::read(path).expect("readable file")).collect();
    assert!(!inputs.is_empty());
    inputs
}

fn replay(name: &str, target: fn(&[u8])) {
    for input in corpus(name) {
        target(&input);
        (0..input.len()).for_each(|length| target(&input[..length]));
    }
}

#[test]
fn s38_the_snapshot_corpus_and_all_its_beginnings() {
    replay("snapshot", targets::snapshot);
}

#[test]
fn s105_the_message_corpus_and_all_its_beginnings() {
    replay("messages", targets::messages);
}

#[test]
fn s105_the_corpus_of_lives_and_all_their_beginnings() {
    replay("coordinator", targets::coordinator);
}

#[test]
fn s105_the_checkpoints_to_look_into_and_many_of_their_beginnings() {
    for input in corpus("inspect") {
        targets::inspect(&input);
        (0..input.len()).step_by(97).for_each(|length| targets::inspect(&input[..length]));
    }
}

#[test]
fn the_corpus_holds_the_golden_files() {
    for (target, name) in [
        ("snapshot", "snapshot_v1"),
        ("messages", "entry_event"),
        ("messages", "restore_event"),
        ("messages", "confirm_request"),
        ("messages", "may_finish_request"),
    ] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let golden = fs::read_to_string(root.join(format!("golden/{name}.hex"))).expect("a golden file");
        let kept = fs::read(root.join("fuzz/corpus").join(target).join(name)).expect("its copy");
        let hex: String = kept.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, golden.trim(), "{name}");
    }
}

/// A few bytes must not make a job manager ask for gigabytes, even if their checksum is right.
#[test]
fn s38_a_length_that_the_bytes_cannot_hold_allocates_nothing_for_it() {
    let golden = corpus("snapshot").into_iter().find(|input| input.starts_with(b"PWCS")).expect("golden");
    let body = &golden[18..];
    for promised in [1 << 20, (1 << 30) - 1, (1 << 31) - 400, 1 << 31, u64::MAX] {
        for position in 0..body.len() - 8 {
            let mut damaged = body.to_vec();
            damaged[position..position + 8].copy_from_slice(&u64::to_le_bytes(promised));
            targets::snapshot(&damaged);
        }
    }
}

/// An input of the corpus, some bytes of it changed, cut somewhere, and another one's end behind it.
fn mutations_of(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let inputs = corpus(target);
    let choices = (any::<Index>(), any::<Index>(), any::<Index>(), any::<Index>());
    let edits = vec((any::<Index>(), any::<u8>()), 0..6);
    (choices, any::<bool>(), edits, vec(any::<u8>(), 0..40)).prop_map(
        move |((first, second, end, begin), splice, edits, tail)| {
            let mut input = first.get(&inputs).clone();
            if splice {
                input.truncate(end.index(input.len() + 1));
                let other = second.get(&inputs);
                input.extend_from_slice(&other[begin.index(other.len() + 1)..]);
                input.extend_from_slice(&tail);
            }
            for (position, value) in edits {
                if !input.is_empty() {
                    let position = position.index(input.len());
                    input[position] = value;
                }
            }
            input
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn s38_mutations_of_checkpoint_bytes(input in mutations_of("snapshot")) {
        targets::snapshot(&input);
    }

    #[test]
    fn s105_mutations_of_messages(input in mutations_of("messages")) {
        targets::messages(&input);
    }

    #[test]
    fn s105_mutations_of_lives(input in mutations_of("coordinator")) {
        targets::coordinator(&input);
    }

    #[test]
    fn s105_mutations_of_checkpoints_to_look_into(input in mutations_of("inspect")) {
        targets::inspect(&input);
    }

    #[test]
    fn s105_any_life(input in vec(any::<u8>(), 0..400)) {
        targets::coordinator(&input);
    }
}
