//! `pwc inspect`: what a checkpoint or savepoint holds of the coordinator and its writers, for people and for machines.
//!
//! ```text
//!   _metadata ─▶ metadata ─▶ handles ─▶ storage ─▶ collect ─▶ report ─▶ text
//!               (operators)  (where)    (files)    (entries)   (what)    or JSON
//! ```
//!
//! It reads files and writes none. Whatever the bytes are, it neither panics nor allocates much more than they take.

mod collect;
mod committables;
mod handles;
mod hints;
mod metadata;
mod reader;
mod report;
mod storage;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{Error, Result};

use reader::corrupt;
use report::Report;

const USAGE: &str = "\
Usage: pwc inspect PATH [--json] [--files]

Shows what a checkpoint or savepoint holds of Paimon Writer Coordinator: what waits for its commit.

  PATH     directory of a checkpoint or savepoint, its _metadata file, or a file of a coordinator's bytes
  --json   for machines
  --files  names every data file

Exit status: 0 if all was read, 1 if something in it could not be, 2 if nothing could.
";

/// What the command says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// 0 if all was read, 1 if something in it could not be, 2 if nothing could or the arguments are wrong.
    pub status: u8,
    /// For the standard output, or with status 2 for the error output.
    pub text: String,
}

struct Arguments {
    path: PathBuf,
    json: bool,
    files: bool,
}

/// Runs the command with its arguments, without the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let arguments = match parse(arguments) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return Outcome { status: 0, text: USAGE.to_owned() },
        Err(error) => return Outcome { status: 2, text: format!("pwc: {error}\n\n{USAGE}") },
    };
    match read(&arguments.path) {
        Ok((bytes, file)) => show(bytes, &file, arguments.json, arguments.files),
        Err(error) => failed(&error),
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
    Outcome { status: 2, text: format!("pwc: {error}\n") }
}

fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> std::result::Result<Option<Arguments>, lexopt::Error> {
    use lexopt::Arg::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_args(arguments);
    let (mut words, mut json, mut files) = (Vec::new(), false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("json") => json = true,
            Long("files") => files = true,
            Long("help") | Short('h') => return Ok(None),
            Value(word) => words.push(word),
            Long(_) | Short(_) => return Err(argument.unexpected()),
        }
    }
    match &words[..] {
        [command, path] if command == "inspect" => Ok(Some(Arguments { path: path.into(), json, files })),
        _ => Err(format!("found {} words, expected inspect and a path", words.len()).into()),
    }
}

fn read(path: &Path) -> Result<(Bytes, PathBuf)> {
    let path = storage::local_path(&path.to_string_lossy())?;
    let file = if path.is_dir() { metadata_in(&path)? } else { path };
    Ok((storage::read_file(&file)?, file))
}

fn report_of(bytes: Bytes, file: &Path, files: bool) -> Result<Report> {
    let name = file.to_string_lossy().into_owned();
    let directory = file.parent().unwrap_or(Path::new(""));
    if bytes.starts_with(&metadata::MAGIC) {
        let length = bytes.len();
        let metadata = metadata::decode(bytes)
            .map_err(|error| corrupt(format!("{name} cannot be read as Flink's metadata: {error}")))?;
        Ok(collect::of_metadata(metadata, length, directory, name, files))
    } else if bytes.starts_with(b"PWCS") {
        collect::of_coordinator(bytes, name, files)
    } else {
        Err(corrupt(format!(
            "found {name}, which begins with {:02x?}; expected the _metadata of a checkpoint or savepoint ({:02x?}) or a coordinator's bytes ({:02x?})",
            bytes.get(..4).unwrap_or(&bytes),
            metadata::MAGIC,
            b"PWCS"
        )))
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
