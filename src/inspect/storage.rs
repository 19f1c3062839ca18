//! Where the bytes behind a state handle are on this machine.

use std::ffi::OsStr;
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

/// The metadata of a job with thousands of subtasks has some tens of megabytes.
const METADATA_LENGTH_MAX: u64 = 1 << 30;

/// A local path that a user, or Flink, may also write as a URI.
///
/// # Errors
/// If the path is in another file system; says how to get at it.
pub(super) fn local_path(path: &OsStr) -> Result<PathBuf> {
    let uri = path.to_str().and_then(|text| text.split_once(":/")).filter(|_| !Path::new(path).exists());
    let Some((scheme, rest)) = uri else {
        return Ok(PathBuf::from(path));
    };
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" {
        let rest = rest.strip_prefix("/localhost/").unwrap_or(rest);
        // file:/a and file:///a are the same; a host name is not in use. Flink does not encode, others do.
        let path = format!("/{}", rest.trim_start_matches('/'));
        let is_there = Path::new(&path).exists();
        return Ok(if is_there { PathBuf::from(path) } else { percent_decoded(&path) });
    }
    let path = path.to_string_lossy();
    let directory = path.trim_end_matches('/').trim_end_matches("/_metadata").trim_end_matches('/');
    let below = rest.trim_start_matches('/');
    let key = directory.split_once(":/").map_or(below, |(_, key)| key.trim_start_matches('/'));
    let name = key.rsplit('/').next().unwrap_or("checkpoint");
    let copy = match scheme.as_str() {
        "hdfs" | "viewfs" | "webhdfs" => format!("hdfs dfs -get {directory} ."),
        "s3" | "s3a" | "s3n" | "s3p" => format!("aws s3 cp --recursive s3://{key} {name}"),
        "gs" => format!("gsutil cp -r gs://{key} ."),
        "oss" => format!("ossutil cp -r oss://{key} {name}"),
        _ => "with your storage's own client".to_owned(),
    };
    Err(corrupt(format!(
        "found {path}, which is not on a local disk; copy the checkpoint's directory here first ({copy}), and inspect the copy"
    )))
}

fn percent_decoded(path: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits =
            behind.get(..2).filter(|digits| first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first bytes of a file, fewer if it has fewer.
pub(super) fn beginning(path: &Path, length: usize) -> Result<Bytes> {
    let (file, found) = open(path)?;
    if found == 0 {
        return Err(corrupt(format!("{} is empty", path.display())));
    }
    read_part(file, length, path)
}

/// Reads a whole file.
pub(super) fn read_file(path: &Path) -> Result<Bytes> {
    let (file, length) = open(path)?;
    if length > METADATA_LENGTH_MAX {
        return Err(too_long(path, length, METADATA_LENGTH_MAX));
    }
    read_part(file, length as usize, path)
}

/// What does not fit into memory is an error and does not end the process, which is a JVM for the jar.
fn read_part(file: impl Read, length: usize, path: &Path) -> Result<Bytes> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|error| corrupt(format!("{length} bytes of {} cannot be read: {error}", path.display())))?;
    file.take(length as u64).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(bytes.into())
}

/// A pipe or a device would be waited for, or have no end.
fn open(path: &Path) -> Result<(File, u64)> {
    let found = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if found.is_dir() || !found.is_file() {
        let what = if found.is_dir() { "a directory" } else { "a pipe or device" };
        return Err(corrupt(format!("{} is {what}, expected a file", path.display())));
    }
    if found.len() > FILE_LENGTH_MAX {
        return Err(too_long(path, found.len(), FILE_LENGTH_MAX));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    Ok((file, found.len()))
}

fn too_long(path: &Path, found: u64, most: u64) -> Error {
    corrupt(format!("found {} of {found} bytes, expected a file of at most {most}", path.display()))
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
                let file = directory.join(path);
                if !file.is_file() {
                    return Err(not_here(path, directory));
                }
                open_part(file, 0, *length)
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
                file.seek(SeekFrom::Start(*start + offset)).map_err(|error| unreadable(path, &error))?;
                let bytes = read_part(file, part as usize, path)?;
                if (bytes.len() as u64) < part {
                    return Err(corrupt(format!("{} became shorter", path.display())));
                }
                Ok(bytes)
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
    if let Ok(path) = local_path(OsStr::new(handle)) {
        places.insert(0, path);
    }
    if let Some(place) = places.iter().find(|place| place.is_file()) {
        return Ok(place.clone());
    }
    Err(not_here(handle, directory))
}

fn not_here(handle: &str, directory: &Path) -> Error {
    corrupt(format!(
        "found no file {handle}, nor one of its name in {} or in the folders shared and taskowned beside it; copy the whole directory, with its data files, and inspect the copy",
        directory.display()
    ))
}
