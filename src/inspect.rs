//! `pwc inspect`: what a checkpoint or savepoint holds of the coordinator and its writers, for people and for machines.
//!
//! ```text
//!   _metadata ─▶ metadata ─▶ handles ─▶ storage ─▶ collect ─▶ report ─▶ text
//!               (operators)  (where)    (files)    (entries)   (what)    or JSON
//! ```
//!
//! It reads files and writes none. Whatever the bytes are, it neither panics nor allocates for what they only promise. What
//! it shows can be many times as long as they are: each unit lists the subtasks that have reported and those that have not.

mod collect;
mod committables;
mod handles;
mod hints;
mod metadata;
mod properties;
mod reader;
mod report;
mod storage;
mod text;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{Error, Result};

use reader::corrupt;
use report::Report;

const USAGE: &str = "\
Usage: pwc inspect PATH [--json] [--files]
       pwc --help | --version

Shows what a checkpoint or savepoint holds of Paimon Writer Coordinator: what waits for its commit.

  PATH     directory of a checkpoint or savepoint, its _metadata file, or a file of a coordinator's bytes
  --json   for machines
  --files  names every data file

Exit status: 0 if all was read, 1 if something in it could not be, 2 if nothing could or could be written, or if the
arguments are wrong. With 2 a message is on the error output and nothing on the other, with --json too.
";

/// What the command says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// 0 if all was read, 1 if something in it could not be, 2 if nothing could or the arguments are wrong.
    pub status: u8,
    /// For the standard output, or with status 2 for the error output.
    pub text: String,
}

enum Arguments {
    Inspect { path: OsString, json: bool, files: bool },
    Help,
    Version,
}

/// Runs the command with its arguments, without the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    match parse(arguments) {
        Ok(Arguments::Inspect { path, json, files }) => match read(&path) {
            Ok((bytes, file)) => show(bytes, &file, json, files),
            Err(error) => failed(&error),
        },
        Ok(Arguments::Help) => Outcome { status: 0, text: USAGE.to_owned() },
        Ok(Arguments::Version) => {
            Outcome { status: 0, text: concat!("pwc ", env!("CARGO_PKG_VERSION"), "\n").to_owned() }
        }
        Err(error) => {
            Outcome { status: 2, text: format!("pwc: {}\n\n{USAGE}", text::escaped(&error.to_string())) }
        }
    }
}

/// Shows what these bytes are that are in `file`; it looks for other files beside it.
pub fn show(bytes: Bytes, file: &Path, json: bool, files: bool) -> Outcome {
    match report_of(bytes, file, files) {
        Ok(report) => Outcome {
            status: u8::from(!report.problems.is_empty()),
            text: if json { report.to_json() } else { text::render(&report) },
        },
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> Outcome {
    Outcome { status: 2, text: format!("pwc: {}\n", text::escaped(&error.to_string())) }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> std::result::Result<Arguments, lexopt::Error> {
    use lexopt::Arg::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_args(arguments);
    let (mut words, mut json, mut files) = (Vec::new(), false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("json") => json = true,
            Long("files") => files = true,
            Long("help") | Short('h') => return Ok(Arguments::Help),
            Long("version") | Short('V') => return Ok(Arguments::Version),
            Value(word) => words.push(word),
            Long(_) | Short(_) => return Err(argument.unexpected()),
        }
    }
    match &words[..] {
        [] => Err("expected inspect and a path".into()),
        [command, ..] if command != "inspect" => {
            Err(format!("found the command {}, expected inspect", command.to_string_lossy()).into())
        }
        [_] => Err("expected a path after inspect".into()),
        [_, path] if path.is_empty() => Err("found an empty path".into()),
        [_, path] => Ok(Arguments::Inspect { path: path.clone(), json, files }),
        [_, paths @ ..] => Err(format!("found {} paths, expected one", paths.len()).into()),
    }
}

fn read(path: &OsStr) -> Result<(Bytes, PathBuf)> {
    let path = storage::local_path(path)?;
    let file = if path.is_dir() { metadata_in(&path)? } else { path };
    // A large file of something else is not read for nothing.
    is_metadata(&storage::beginning(&file, 4)?, &file)?;
    Ok((storage::read_file(&file)?, file))
}

fn report_of(bytes: Bytes, file: &Path, files: bool) -> Result<Report> {
    let name = file.to_string_lossy().into_owned();
    let directory = file.parent().unwrap_or(Path::new(""));
    if is_metadata(&bytes, file)? {
        let length = bytes.len();
        let metadata = metadata::decode(bytes)
            .map_err(|error| corrupt(format!("{name} cannot be read as Flink's metadata: {error}")))?;
        Ok(collect::of_metadata(metadata, length, directory, name, files))
    } else {
        collect::of_coordinator(bytes, name, files)
    }
}

/// Flink's metadata, or a coordinator's bytes?
fn is_metadata(bytes: &[u8], file: &Path) -> Result<bool> {
    match bytes {
        _ if bytes.starts_with(&metadata::MAGIC) => Ok(true),
        _ if bytes.starts_with(b"PWCS") => Ok(false),
        _ => Err(corrupt(format!(
            "found {}, which begins with {:02x?}; expected the _metadata of a checkpoint or savepoint ({:02x?}) or a coordinator's bytes ({:02x?})",
            file.display(),
            bytes.get(..4).unwrap_or(bytes),
            metadata::MAGIC,
            b"PWCS"
        ))),
    }
}

/// The `_metadata` of a checkpoint's directory. That of a job has several checkpoints in it.
fn metadata_in(directory: &Path) -> Result<PathBuf> {
    let file = directory.join("_metadata");
    if file.is_file() {
        return Ok(file);
    }
    let mut inside: Vec<String> = std::fs::read_dir(directory)
        .map_err(|error| corrupt(format!("{} cannot be read: {error}", directory.display())))?
        .filter_map(|entry| entry.ok().filter(|entry| entry.path().join("_metadata").is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    // chk-9 before chk-10.
    inside.sort_by_key(|name| (name.len(), name.clone()));
    Err(corrupt(if inside.is_empty() {
        format!(
            "found no _metadata in {}; a checkpoint that has not completed has none, so name one that has, such as the newest chk-<number> of the job",
            directory.display()
        )
    } else {
        format!(
            "found no _metadata in {}; it holds the checkpoints {}, so name one of them",
            directory.display(),
            inside.join(", ")
        )
    }))
}
