//! `pwc inspect` on checkpoints that real jobs left, on hand-made ones with every kind of state handle, and as its
//! documentation shows it.

mod command;
mod damage;
mod metadata;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use paimon_writer_coordinator::inspect::{Outcome, run, show};
use serde_json::Value;

use metadata::{Metadata, checkpoint};

const PAIRS: [&str; 4] =
    ["flink-1.20-paimon-1.3", "flink-2.0-paimon-1.4", "flink-2.0-paimon-2.0", "flink-2.1-paimon-1.3"];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn hex(name: &str) -> Vec<u8> {
    let digits = fs::read_to_string(golden(name)).expect("a golden file");
    let pairs = digits.trim().as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("digits");
    pairs.map(byte).collect()
}

/// The binary, in a folder of the golden checkpoints.
fn pwc(folder: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pwc"));
    let output =
        command.args(arguments).current_dir(golden("inspect").join(folder)).output().expect("pwc runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().expect("an exit status"), String::from_utf8(text).expect("UTF-8"))
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.text).unwrap_or_else(|error| panic!("{error}: {}", outcome.text))
}

fn inspected(path: &Path) -> Value {
    json(&run(["inspect".into(), path.into(), "--json".into(), "--files".into()]))
}

fn amount(found: &Value) -> [i64; 4] {
    ["entries", "writers", "files", "rows"].map(|field| found[field].as_i64().expect("a number"))
}

/// The jar's test compares with the same texts. A job of three writers whose commits hang left each of them.
#[test]
fn the_checkpoints_of_all_pairs_are_shown() {
    for pair in PAIRS {
        let (status, text) = pwc(pair, &["inspect", "chk-3", "--files"]);
        assert_eq!(status, 0, "{text}");
        let expected = fs::read_to_string(golden("inspect").join(pair).join("chk-3.txt")).expect("a text");
        assert_eq!(text, expected, "{pair}");

        let report = inspected(&golden("inspect").join(pair).join("chk-3"));
        let sink = &report["sinks"][0];
        assert_eq!(amount(&sink["waiting"]), [6, 3, 3, 100], "{pair}");
        assert_eq!(amount(&sink["units"][0]["amount"]), [3, 3, 2, 70], "{pair}");
        assert_eq!(amount(&sink["units"][1]["amount"]), [3, 3, 1, 30], "{pair}");
        assert_eq!(report["other_operators"].as_array().map(Vec::len), Some(5), "{pair}");
    }
}

/// Savepoints name their files relatively, merged files are in folders beside the checkpoint's.
#[test]
fn a_copied_checkpoint_is_read_wherever_its_files_were() {
    let savepoint = inspected(&golden("inspect/flink-2.0-paimon-2.0/savepoint"));
    assert_eq!(savepoint["kind"], "savepoint");
    assert_eq!(amount(&savepoint["sinks"][0]["waiting"]), [9, 3, 3, 100]);
    assert_eq!(savepoint["sinks"][0]["units"][2]["savepoint"], true);
    let merged = inspected(&golden("inspect/merged/chk-3"));
    assert_eq!(amount(&merged["sinks"][0]["waiting"]), [6, 3, 3, 100]);
}

/// What the coordinator holds is shown even when the writers' files are elsewhere.
#[test]
fn files_that_are_not_here_are_named() {
    let bytes = fs::read(golden("inspect/flink-2.0-paimon-2.0/chk-3/_metadata")).expect("metadata");
    let outcome = show(bytes.into(), Path::new("/nowhere/chk-3/_metadata"), true, false);
    assert_eq!(outcome.status, 1);
    let report = json(&outcome);
    let problem = report["problems"][0].as_str().expect("a sentence");
    assert!(problem.contains("the state of writer") && problem.contains("cannot be read"), "{problem}");
    assert_eq!(amount(&report["sinks"][0]["waiting"]), [3, 3, 2, 70]);
    assert_eq!(report["sinks"][0]["writers"][0]["status"], "unreadable");
}

/// Every command in a block of the documentation, with its output. The jar's are run by the jar's test.
#[test]
fn the_documentation_shows_what_the_command_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/inspect.md");
    let text = fs::read_to_string(path).expect("the documentation");
    let mut run = 0;
    for block in text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n")) {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        if let Some(arguments) = command.strip_prefix("$ pwc ") {
            let arguments: Vec<&str> = arguments.split(' ').collect();
            assert_eq!(pwc("flink-2.0-paimon-2.0", &arguments).1, expected, "{command}");
            run += 1;
        }
    }
    assert_eq!(run, 2);
}

#[test]
fn a_coordinators_bytes_are_read_alone() {
    let outcome = show(hex("snapshot_v1.hex").into(), Path::new("state"), true, false);
    assert_eq!(outcome.status, 1, "its payloads are no committables: {}", outcome.text);
    let report = json(&outcome);
    let sink = &report["sinks"][0];
    assert_eq!(report["kind"], "coordinator");
    assert_eq!(sink["coordinator"]["committed_through"], 4);
    assert_eq!(sink["coordinator"]["commit_users"][1]["commit_user"], "second");
    assert_eq!(sink["coordinator"]["ended"][0]["subtask"], 1);
    assert_eq!(sink["waiting"]["unreadable_entries"], 2);
    assert_eq!(sink["units"][0]["commit_user"], "first");
    assert_eq!(sink["units"][1]["end_of_input"], true);
    assert_eq!(sink["units"][1]["entries"][0]["payload_length"], 7);
}

#[test]
fn what_is_no_state_is_refused_with_what_was_found() {
    let outcome = show(Bytes::from_static(b"PAR1"), Path::new("x"), false, false);
    assert_eq!(outcome.status, 2);
    assert!(outcome.text.contains("found x, which begins with [50, 41, 52, 31]"), "{}", outcome.text);
    let mut metadata = Metadata::new(7).bytes;
    let outcome = show(metadata.clone().into(), Path::new("x"), false, false);
    assert!(
        outcome.text.contains("found version 7 of Flink's metadata, expected 3 to 6"),
        "{}",
        outcome.text
    );
    metadata.truncate(3);
    assert_eq!(show(metadata.into(), Path::new("x"), false, false).status, 2);
    for (path, expected) in [
        ("hdfs://ns/c/chk-7/_metadata", "hdfs dfs -get hdfs://ns/c/chk-7 ."),
        ("s3a://bucket/c/chk-7", "aws s3 cp --recursive s3://bucket/c/chk-7 chk-7"),
        ("oss://bucket/c/chk-7", "ossutil cp -r oss://bucket/c/chk-7 chk-7"),
        ("/nowhere/chk-7", "cannot be read"),
    ] {
        let outcome = run(["inspect".into(), path.into()]);
        assert_eq!(outcome.status, 2);
        assert!(outcome.text.contains(expected), "{}", outcome.text);
    }
}

#[test]
fn every_kind_of_state_handle_is_passed_over() {
    for version in 3..=6 {
        let outcome = show(checkpoint(version, 0).bytes.into(), Path::new("x"), true, false);
        let report = json(&outcome);
        assert_eq!(report["sinks"].as_array().map(Vec::len), Some(2), "{}", outcome.text);
        for sink in report["sinks"].as_array().into_iter().flatten() {
            assert_eq!(sink["operator"]["id"], "0000000000000001fffffffffffffffe");
            let named = (version >= 5).then_some("Coordinated Writer : t");
            assert_eq!(sink["operator"]["name"].as_str(), named);
            let status = |index: usize| sink["writers"][index]["status"].as_str();
            let expected = [Some("ended"), Some("unreadable"), Some("finished"), None];
            assert_eq!([0, 1, 2, 3].map(status), expected, "{}", outcome.text);
            assert_eq!(sink["units"][0]["checkpoint_id"], 7);
            assert_eq!(sink["units"][0]["reported"].to_string(), "[0]");
        }
    }
}

#[test]
fn compressed_state_is_named() {
    let outcome = show(checkpoint(6, 1).bytes.into(), Path::new("x"), false, false);
    assert!(outcome.text.contains("execution.checkpointing.snapshot-compression"), "{}", outcome.text);
    assert_eq!(outcome.status, 1);
}

#[test]
fn s105_metadata_that_ends_anywhere_is_an_error_with_a_place() {
    let whole = checkpoint(6, 0).bytes;
    for length in 4..whole.len() {
        let outcome = show(Bytes::copy_from_slice(&whole[..length]), Path::new("x"), false, true);
        assert_eq!(outcome.status, 2, "{length}: {}", outcome.text);
    }
}

#[test]
fn the_files_of_each_version_of_paimon_are_named() {
    for (version, name, file) in [
        (2, "committable_v2_message_v10.hex", "data-be0c5195-3544-43a8-8509-d696897a1f98-0.parquet"),
        (3, "committable_v3_message_v11.hex", "data-5796716a-787b-41ad-a243-9ea62a4fc506-0.parquet"),
        (3, "committable_v3_message_v12.hex", "data-a53af889-6264-45ed-840d-57a1107654b0-0.parquet"),
    ] {
        let committable = hex(name);
        let shown = |committable: &[u8]| {
            let outcome = show(coordinator_with(version, committable).into(), Path::new("x"), true, true);
            json(&outcome)["sinks"][0]["units"][0]["entries"][0].clone()
        };
        let entry = shown(&committable);
        assert_eq!(entry["data_files"][0]["name"], file);
        assert_eq!((&entry["files"], &entry["rows"]), (&1.into(), &1.into()));
        assert!(entry["bytes"].as_i64().is_some_and(|bytes| bytes > 100), "{entry}");

        let mut newer = committable;
        *newer.last_mut().expect("bytes") = 13;
        let entry = shown(&newer);
        let unreadable = entry["unreadable"].as_str().expect("a sentence");
        assert!(unreadable.contains("a commit message of version 13, expected 10 to 12"), "{unreadable}");
        assert_eq!(entry["files"], Value::Null);
    }
}

fn coordinator_with(serializer_version: i32, committable: &[u8]) -> Vec<u8> {
    use paimon_writer_coordinator::snapshot::{StateEntry, decode, encode};
    let mut state = decode(&hex("snapshot_v1.hex")).expect("golden");
    let StateEntry { generation, mut entry } = state.entries.remove(0);
    entry.committable_count = 1;
    entry.serializer_version = serializer_version;
    entry.payload = [&(committable.len() as i32).to_be_bytes(), committable].concat().into();
    state.entries = vec![StateEntry { generation, entry }];
    encode(&state).expect("encodes")
}
