//! What is shown when something is damaged, not here, or not ours.

use std::path::Path;
use std::{fs, iter};

use paimon_writer_coordinator::inspect::{Outcome, show};
use paimon_writer_coordinator::snapshot::{State, decode, encode};
use serde_json::Value;

use super::metadata::{Metadata, with_coordinator};
use super::{golden, hex, json};

fn shown(bytes: &[u8], as_json: bool) -> Outcome {
    show(bytes.to_vec().into(), Path::new("/nowhere/chk-9/_metadata"), as_json, false)
}

/// What the golden state holds, changed.
fn state(change: impl FnOnce(&mut State)) -> Vec<u8> {
    let mut state = decode(&hex("snapshot_v1.hex")).expect("golden");
    change(&mut state);
    encode(&state).expect("encodes")
}

fn parallelism() -> i32 {
    decode(&hex("snapshot_v1.hex")).expect("golden").parallelism as i32
}

fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines();
    lines.find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("no {name}: {text}"))
}

/// The properties have no length before them: they must be gone through.
#[test]
fn s105_what_is_behind_the_operators_must_be_whole() {
    for name in
        ["flink-1.20-paimon-1.3/chk-3", "flink-2.0-paimon-2.0/chk-3", "flink-2.0-paimon-2.0/savepoint"]
    {
        let file = golden("inspect").join(name).join("_metadata");
        let whole = fs::read(&file).expect("metadata");
        let properties = whole.windows(4).rposition(|bytes| bytes == [0xac, 0xed, 0, 5]).expect("properties");
        let cut = (properties..whole.len()).map(|length| whole[..length].to_vec());
        let longer = iter::once([&whole[..], b"junk"].concat());
        for bytes in cut.chain(longer) {
            let length = bytes.len();
            let outcome = show(bytes.clone().into(), &file, true, false);
            assert_eq!(outcome.status, 1, "{name} of {length} bytes");
            let report = json(&outcome);
            assert_eq!(report["kind"], Value::Null, "{name} of {length} bytes");
            assert_eq!(report["sinks"][0]["waiting"]["files"], 3);
            let text = show(bytes.into(), &file, false, false).text;
            assert!(text.starts_with("checkpoint or savepoint "), "{text}");
            assert!(line(&text, "NOT READ").contains("behind the operators"), "{text}");
        }
    }
}

#[test]
fn the_kind_is_not_known_before_metadata_had_properties() {
    let bytes = Metadata::new(3).int(0).int(0).bytes;
    let outcome = shown(&bytes, true);
    assert_eq!((outcome.status, json(&outcome)["kind"].clone()), (0, Value::Null));
    assert_eq!(shown(&[&bytes[..], b"junk"].concat(), true).status, 1);
}

/// Nobody may take files that are not known for none.
#[test]
fn files_that_are_not_known_are_not_called_none() {
    let bytes = state(|_| {});
    let text = shown(&bytes, false).text;
    assert!(line(&text, "waiting").contains("with files not known, of "), "{text}");
    assert!(text.contains("SELECT MAX(commit_identifier)"), "{text}");
    let waiting = json(&shown(&bytes, true))["sinks"][0]["waiting"].clone();
    for field in ["files", "rows", "bytes"] {
        assert_eq!(waiting[field], Value::Null);
    }

    let mixed = state(|state| {
        let committable = hex("committable_v2_message_v10.hex");
        let entry = &mut state.entries[0].entry;
        (entry.committable_count, entry.serializer_version) = (1, 2);
        entry.payload = [&(committable.len() as i32).to_be_bytes(), &committable[..]].concat().into();
    });
    let text = shown(&mixed, false).text;
    assert!(line(&text, "waiting").contains("bytes, and what 1 entry holds that cannot be read"), "{text}");
    assert_eq!(json(&shown(&mixed, true))["sinks"][0]["waiting"]["files"], 1);
}

#[test]
fn each_commit_user_with_files_that_wait_has_a_query() {
    let text = shown(&state(|_| {}), false).text;
    for user in ["first", "second"] {
        let query = format!("FROM `TABLE$snapshots` WHERE commit_user = '{user}'");
        assert_eq!(text.matches(&query).count(), 1, "{text}");
    }
    assert!(text.contains("TABLE stands for the table's name"), "{text}");
}

#[test]
fn writers_that_cannot_be_read_make_what_waits_incomplete() {
    for name in ["chk-3", "savepoint"] {
        let file = golden("inspect/flink-2.0-paimon-2.0").join(name).join("_metadata");
        let bytes = fs::read(file).expect("metadata");
        let text = shown(&bytes, false).text;
        assert!(line(&text, "waiting").contains("at least "), "{text}");
        assert!(
            line(&text, "writers").ends_with("; their states hold an unknown number of entries"),
            "{text}"
        );
        assert!(text.contains("hint          the state of writers 0 to 2 could not be read"), "{text}");
        let advice = "copy the whole directory, with its data files, and inspect the copy";
        assert!(line(&text, "NOT READ").ends_with(advice), "{text}");
        assert_eq!(json(&shown(&bytes, true))["sinks"][0]["waiting_complete"], false);
    }
}

/// A number of four bytes must not become as many writers.
#[test]
fn s105_missing_writers_are_a_range() {
    let bytes = with_coordinator("a : t", i32::MAX, &state(|_| {}));
    let outcome = shown(&bytes, true);
    assert!(outcome.text.len() < 20_000, "{} bytes", outcome.text.len());
    let report = json(&outcome);
    let sink = &report["sinks"][0];
    assert_eq!(sink["missing_writers"].to_string(), "[[0,2147483646]]");
    assert_eq!(sink["writers"].as_array().map(Vec::len), Some(0));
    let text = shown(&bytes, false).text;
    assert!(text.contains("writers       2147483647 missing (0 to 2147483646)"), "{text}");
    let expected = format!("the operator's parallelism is {}, but {} in its", i32::MAX, parallelism());
    assert!(text.lines().any(|line| line.starts_with("NOT READ") && line.contains(&expected)), "{text}");

    let same = shown(&with_coordinator("a : t", parallelism(), &state(|_| {})), false).text;
    assert!(!same.contains("the operator's parallelism is"), "{same}");
}

#[test]
fn names_move_no_cursor_and_end_no_quotation() {
    let state = state(|state| {
        let (_, user) = state.commit_users.last_mut().expect("a user");
        *user = "o\u{1b}[1m'".to_owned();
    });
    let text = shown(&with_coordinator("a\nb : \u{202e}t`u", parallelism(), &state), false).text;
    let harmless = |letter: char| letter == '\n' || !letter.is_control() && letter != '\u{202e}';
    assert!(text.chars().all(harmless), "{text:?}");
    assert!(text.contains("sink a\\nb : \\u{202e}t`u\n"), "{text}");
    assert!(text.contains("`\\u{202e}t``u$snapshots` WHERE commit_user = 'o\\u{1b}[1m'''"), "{text}");
}

#[test]
fn a_checkpoint_without_a_sink_says_so() {
    let bytes = with_coordinator("Source", 1, b"another coordinator's");
    let outcome = shown(&bytes, false);
    assert_eq!(outcome.status, 0, "{}", outcome.text);
    assert!(line(&outcome.text, "hint: no operator has state").contains("Paimon's own committer"));
    assert_eq!(json(&shown(&bytes, true))["hints"].as_array().map(Vec::len), Some(1));
}

/// The sum counts entries without files, so their checkpoints are named with the others.
#[test]
fn all_that_is_counted_is_named() {
    let savepoint = golden("inspect/flink-2.0-paimon-2.0/savepoint/_metadata");
    let bytes = fs::read(&savepoint).expect("metadata");
    let text = show(bytes.into(), &savepoint, false, false).text;
    assert!(line(&text, "waiting").starts_with("  waiting       9 entries"), "{text}");
    assert!(line(&text, "waiting").ends_with(", of the checkpoints 2 to 4"), "{text}");
    let text = shown(&state(|_| {}), false).text;
    assert!(line(&text, "waiting").ends_with(" and the end of input"), "{text}");
}
