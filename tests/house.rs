//! The house's rules: what a room may not know, and how large it may get.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(below: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(below)];
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("readable folder");
            folders.extend(entries.map(|entry| entry.expect("readable entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("readable file");
            found.push((path, text));
        }
    }
    found
}

fn assert_absent(rooms: &[&str], words: &[&str]) {
    for (path, text) in rooms.iter().flat_map(|room| sources(room)) {
        for word in words {
            assert!(!text.contains(word), "{} must not know `{word}`", path.display());
        }
    }
}

#[test]
fn the_core_has_no_thread_no_clock_no_io_and_no_jvm() {
    let rooms = ["src/coordinator.rs", "src/coordinator", "src/wire.rs", "src/snapshot.rs", "src/error.rs"];
    assert!(sources("src/coordinator").len() > 5);
    assert_absent(
        &rooms,
        &["std::thread", "std::time", "std::fs", "std::net", "tokio", "jni", "rand", "HashMap"],
    );
}

#[test]
fn the_loop_does_not_know_the_jvm() {
    assert_absent(&["src/runtime.rs", "src/runtime"], &["jni::", "std::thread", "unsafe"]);
}

#[test]
fn the_inspection_writes_no_file_and_knows_no_jvm() {
    assert!(sources("src/inspect").len() > 5);
    assert_absent(
        &["src/inspect.rs", "src/inspect"],
        &["jni", "tokio", "std::thread", "fs::write", "File::create", "OpenOptions", "remove_", "rename("],
    );
}

#[test]
fn only_the_boundary_is_unsafe_and_keeps_nothing_in_a_static() {
    let boundary = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jni");
    for (path, text) in sources("src") {
        let is_boundary = path.starts_with(&boundary) || path == boundary.with_extension("rs");
        assert!(is_boundary || !text.contains("unsafe {"), "{}", path.display());
        assert!(!text.contains("\nstatic ") && !text.contains("\npub static "), "{}", path.display());
    }
}

#[test]
fn files_stay_readable() {
    for (path, text) in sources("src") {
        let lines = text.lines().count();
        assert!(lines <= 400, "{} has {lines} lines; split it", path.display());
    }
}

#[test]
fn every_deliberate_mistake_can_still_be_made() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(root.join("tests/mutants/core.txt")).expect("the list of scripts/mutants");
    let mistakes: Vec<&str> = list.split("\n\n").filter(|text| !text.starts_with('#')).collect();
    assert!(mistakes.len() >= 8);
    for mistake in mistakes {
        let lines = |prefix: &str| -> Vec<&str> {
            mistake.lines().filter_map(|line| line.strip_prefix(prefix)).collect()
        };
        let [file] = lines("  ")[..] else { panic!("not one file: {mistake}") };
        let source = fs::read_to_string(root.join(file)).expect("a source of the core");
        assert_eq!(source.matches(&lines("- ").join("\n")).count(), 1, "{file} has changed: {mistake}");
    }
}
