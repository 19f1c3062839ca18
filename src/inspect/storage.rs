//! Where the bytes behind a state handle are on this machine.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

use crate::error::{Error, Result};

use super::handles::StreamHandle;
use super::reader::{Reader, corrupt};

/// Folders beside those of the checkpoints in which a job keeps files of several checkpoints.
const SHARED_FOLDERS: [&str; 2] = ["shared", "taskowned"];

/// No byte array of the JVM is longer, so neither is a file that Flink reads at once.
const FILE_LENGTH_MAX: u64 = i32::MAX as u64;

/// A local path that a user, or Flink, may also write as a URI.
///
/// # Errors
/// If the path is in another file system; says how to get at it.
pub(super) fn local_path(path: &str) -> Result<PathBuf> {
    let Some((scheme, rest)) = path.split_once(":/") else {
        return Ok(PathBuf::from(path));
    };
    if scheme == "file" {
        // file:/a and file:///a are the same; a host name is not in use.
        return Ok(PathBuf::from(format!("/{}", rest.trim_start_matches('/'))));
    }
    let directory = if path.ends_with("/_metadata") { path.trim_end_matches("/_metadata") } else { path };
    let copy = match scheme {
        "hdfs" | "viewfs" | "webhdfs" => format!("hdfs dfs -get {directory} ."),
        "s3" | "s3a" | "s3n" | "s3p" => {
            let key = directory.split_once("://").map_or(rest, |(_, key)| key);
            let name = key.trim_end_matches('/').rsplit('/').next().unwrap_or("checkpoint");
            format!("aws s3 cp --recursive s3://{key} {name}")
        }
        _ => format!("the client of {scheme}"),
    };
    Err(corrupt(format!(
        "found {path}, which is not on a local disk; copy the checkpoint's directory here first ({copy}), and inspect the copy"
    )))
}

/// Reads a whole file.
pub(super) fn read_file(path: &Path) -> Result<Bytes> {
    let (file, length) = open(path)?;
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(bytes.into())
}

/// A pipe or a device would be waited for, or have no end.
fn open(path: &Path) -> Result<(File, u64)> {
    let found = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !found.is_file() || found.len() > FILE_LENGTH_MAX {
        return Err(corrupt(format!(
            "found {} of {} bytes, expected a file of at most {FILE_LENGTH_MAX}",
            path.display(),
            found.len()
        )));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    Ok((file, found.len()))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    corrupt(format!("{} cannot be read: {error}", path.display()))
}

/// The state behind a handle: in memory, or a part of a file.
pub(super) enum State {
    /// In the metadata.
    Inline(Bytes),
    /// So many bytes of a file from `start` on.
    File {
        /// The open file.
        file: File,
        /// Its name, for messages.
        path: PathBuf,
        /// Where the state begins.
        start: u64,
        /// How long it is.
        length: u64,
    },
}

impl State {
    /// Looks for what a handle names, in the metadata's directory and where Flink had it.
    pub(super) fn open(directory: &Path, handle: &StreamHandle) -> Result<Self> {
        match handle {
            StreamHandle::Inline(bytes) => Ok(Self::Inline(bytes.clone())),
            StreamHandle::Empty => Ok(Self::Inline(Bytes::new())),
            StreamHandle::Relative { path, length } => {
                let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
                if !Path::new(path).components().all(is_plain) {
                    return Err(corrupt(format!(
                        "found the relative path {path:?}, expected one below the savepoint"
                    )));
                }
                open_part(directory.join(path), 0, *length)
            }
            StreamHandle::File { path, length } => open_part(find(directory, path)?, 0, *length),
            StreamHandle::Segment { path, start, length } => {
                open_part(find(directory, path)?, *start, *length)
            }
        }
    }

    /// How many bytes it has.
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// Its first bytes, fewer if there are fewer.
    pub(super) fn beginning(&mut self, length: u64) -> Result<Bytes> {
        let length = length.min(self.length());
        self.part(0, length)
    }

    /// The element at this offset, a byte string with its i32 length before it.
    pub(super) fn element(&mut self, offset: i64) -> Result<Bytes> {
        let offset = u64::try_from(offset).map_err(|_| corrupt(format!("found the offset {offset}")))?;
        let length = Reader::new(self.part(offset, 4)?).i32()?;
        let length = u64::try_from(length)
            .map_err(|_| corrupt(format!("found an element of {length} bytes at offset {offset}")))?;
        self.part(offset + 4, length)
    }

    fn part(&mut self, offset: u64, part: u64) -> Result<Bytes> {
        let whole = self.length();
        if offset.checked_add(part).is_none_or(|end| end > whole) {
            return Err(corrupt(format!(
                "found a part of {part} bytes at offset {offset} of a state of {whole} bytes"
            )));
        }
        match self {
            Self::Inline(bytes) => Ok(bytes.slice(offset as usize..(offset + part) as usize)),
            Self::File { file, path, start, .. } => {
                let mut bytes = vec![0; part as usize];
                file.seek(SeekFrom::Start(*start + offset))
                    .and_then(|_| file.read_exact(&mut bytes))
                    .map_err(|error| unreadable(path, &error))?;
                Ok(bytes.into())
            }
        }
    }
}

/// The length that is promised is compared with the file's before anything is read.
fn open_part(path: PathBuf, start: i64, length: i64) -> Result<State> {
    let (file, found) = open(&path)?;
    match u64::try_from(start).ok().zip(u64::try_from(length).ok()) {
        Some((start, length)) if start.checked_add(length).is_some_and(|end| end <= found) => {
            Ok(State::File { file, path, start, length })
        }
        Some(_) | None => Err(corrupt(format!(
            "found {} of {found} bytes, expected {length} bytes from {start} on",
            path.display()
        ))),
    }
}

/// A file keeps its name when its directory is copied, so a copy is found wherever it is.
fn find(directory: &Path, handle: &str) -> Result<PathBuf> {
    let name = handle.rsplit('/').next().unwrap_or(handle);
    let is_name = |name: &str| !name.is_empty() && name != "." && name != "..";
    let mut places = Vec::new();
    if is_name(name) {
        places.push(directory.join(name));
        let job = directory.join("..");
        for folder in SHARED_FOLDERS {
            // With merged files there is one more folder below, for each task or task manager.
            if let Some((_, below)) = handle.rsplit_once(&format!("/{folder}/"))
                && below.split('/').all(is_name)
            {
                places.push(job.join(folder).join(below));
            }
            places.push(job.join(folder).join(name));
        }
    }
    let original = local_path(handle);
    if let Ok(path) = &original {
        places.insert(0, path.clone());
    }
    if let Some(place) = places.iter().find(|place| place.is_file()) {
        return Ok(place.clone());
    }
    Err(original.err().unwrap_or_else(|| {
        corrupt(format!(
            "found no file {handle}, nor one of its name in {} or in the folders shared and taskowned beside it; copy the job's whole checkpoint directory and inspect the copy",
            directory.display()
        ))
    }))
}
