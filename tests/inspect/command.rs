//! Arguments, paths and the output of the command.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{golden, pwc};

/// A fresh folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn copy_of_a_checkpoint(to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for file in fs::read_dir(golden("inspect/flink-2.0-paimon-2.0/chk-3")).expect("a folder") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("copies");
    }
}

#[test]
fn a_directory_of_checkpoints_is_answered_with_their_names() {
    let (status, text) = pwc("flink-2.0-paimon-2.0", &["inspect", "."]);
    assert_eq!(status, 2);
    assert!(text.contains("it holds the checkpoints chk-3, savepoint, so name one of them"), "{text}");
    let (_, text) = pwc("flink-2.0-paimon-2.0", &["inspect", ".."]);
    assert!(text.contains("a checkpoint that has not completed has none"), "{text}");
}

#[test]
fn wrong_arguments_are_answered_with_what_is_wrong_and_the_usage() {
    for (arguments, expected) in [
        (&["inspect"][..], "expected a path after inspect"),
        (&["look", "x"], "found the command look, expected inspect"),
        (&["inspect", "x", "y"], "found 2 paths, expected one"),
        (&["inspect", ""], "found an empty path"),
        (&["inspect", "x", "--yaml"], "--yaml"),
        (&["\u{1b}[2J"], "found the command \\u{1b}[2J, expected inspect"),
        (&[], "expected inspect and a path"),
    ] {
        let (status, text) = pwc("flink-2.0-paimon-2.0", arguments);
        assert!(status == 2 && text.contains(expected), "{text}");
        assert!(text.contains("Usage: pwc inspect PATH"), "{text}");
    }
    let (status, text) = pwc("flink-2.0-paimon-2.0", &["--help"]);
    assert!(status == 0 && text.starts_with("Usage: pwc inspect PATH"), "{text}");
    for option in ["--version", "-V"] {
        let version = concat!("pwc ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
        assert_eq!(pwc("flink-2.0-paimon-2.0", &[option]), (0, version));
    }
}

#[test]
fn local_paths_are_found_however_they_are_written() {
    let folder = folder("paths");
    copy_of_a_checkpoint(&folder.join("a b"));
    copy_of_a_checkpoint(&folder.join("s3:/chk-3"));
    copy_of_a_checkpoint(&folder.join("50%25"));
    let absolute = folder.display();
    for path in [
        format!("file:{absolute}/a%20b"),
        format!("file://{absolute}/a b/_metadata"),
        format!("FILE://localhost{absolute}/a%20b"),
        format!("file:{absolute}/50%25"),
        "s3:/chk-3".to_owned(),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pwc"));
        let output = command.args(["inspect", &path]).current_dir(&folder).output().expect("pwc runs");
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let path = folder("no-text").join(OsStr::from_bytes(b"chk-\xff"));
    copy_of_a_checkpoint(&path);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pwc"));
    let output = command.arg("inspect").arg(&path).output().expect("pwc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn advice_names_a_command_where_there_is_one() {
    for (path, expected) in [
        ("HDFS://ns/c/chk-7", "(hdfs dfs -get HDFS://ns/c/chk-7 .)"),
        ("gs://bucket/c/chk-7/", "(gsutil cp -r gs://bucket/c/chk-7 .)"),
        ("abfs://c@host/chk-7/_metadata", "(with your storage's own client)"),
    ] {
        let (status, text) = pwc("flink-2.0-paimon-2.0", &["inspect", path]);
        assert!(status == 2 && text.contains(expected), "{text}");
    }
}

/// None of them is read as a whole before it is known what it is.
#[cfg(unix)]
#[test]
fn what_is_no_metadata_is_refused_before_it_is_read() {
    let folder = folder("refused");
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    File::create(folder.join("empty")).expect("a file");
    let large = |name: &str, begin: &[u8], length: u64| {
        fs::write(folder.join(name), begin).expect("a file");
        let file = File::options().write(true).open(folder.join(name)).expect("a file");
        file.set_len(length).expect("a sparse file");
    };
    large("other", b"PAR1", (1 << 31) - 1);
    large("metadata", &[0x49, 0x60, 0x67, 0x2d], (1 << 30) + 1);
    for (name, expected) in [
        ("pipe", "pipe is a pipe or device, expected a file"),
        ("empty", "empty is empty"),
        ("other", "which begins with [50, 41, 52, 31]"),
        ("metadata", "of 1073741825 bytes, expected a file of at most 1073741824"),
    ] {
        let path = folder.join(name);
        let (status, text) = pwc("flink-2.0-paimon-2.0", &["inspect", &path.to_string_lossy()]);
        assert!(status == 2 && text.contains(expected), "{text}");
    }
    fs::remove_dir_all(&folder).expect("removes");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_unless_its_reader_has_gone() {
    let run = |out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pwc"));
        command.args(["inspect", "chk-3"]).current_dir(golden("inspect/flink-2.0-paimon-2.0"));
        let child = command.stdout(out).stderr(Stdio::piped()).spawn().expect("pwc runs");
        let output = child.wait_with_output().expect("pwc ends");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let full = File::options().write(true).open("/dev/full").expect("a device");
    let (status, text) = run(full.into());
    assert!(status == Some(2) && text.starts_with("pwc: the output cannot be written: "), "{text}");

    // The output of a process that has ended is a pipe nobody reads, once this end of it is closed.
    let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().expect("true runs");
    let pipe = reader.stdin.take().expect("a pipe");
    assert!(reader.wait().expect("true ends").success());
    assert_eq!(run(pipe.into()), (Some(0), String::new()));
}
