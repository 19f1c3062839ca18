//! The files in an entry's payload, as the serializers of Paimon 1.3, 1.4 and 2.0 write them.
//!
//! ```text
//! payload      committables, each with its i32 length before it
//! committable  i64 checkpoint id | in version 2: u8 kind (0 files) | message | i32 version of the message
//! message      i32 length, partition | i32 bucket | u8, and if it is 1: i32 buckets | ten lists: files that are new,
//!              deleted, of a changelog, then two of index files; and the same of a compaction: before, after, ...
//! list         i32 count, rows with their i32 length before them
//! file row     Paimon's BinaryRow of `DataFileMeta`, little-endian: 8 bytes of header, then 20 fields of 8 bytes, of which
//!              the first three are name, bytes and rows
//! ```
//!
//! Versions of the message: 10 (Paimon 1.3), 11 (1.4) and 12 (2.0) have the same files and differ in index files.

use bytes::Bytes;
use serde::Serialize;

use crate::error::Result;
use crate::wire::Entry;

use super::reader::{Reader, corrupt};

const ROW_HEADER: usize = 8;
const ROW_FIXED: usize = ROW_HEADER + 20 * 8;
const MESSAGE_VERSIONS: std::ops::RangeInclusive<i32> = 10..=12;
const LISTS: usize = 10;
/// New files, and those of a compaction.
const LISTS_OF_ADDED_FILES: [usize; 2] = [0, 6];

/// A data file that a commit would add to the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DataFile {
    pub(super) name: String,
    pub(super) rows: i64,
    pub(super) bytes: i64,
}

/// The files that an entry adds.
pub(super) fn files(entry: &Entry) -> Result<Vec<DataFile>> {
    let mut files = Vec::new();
    if entry.committable_count == 0 {
        return Ok(files);
    }
    if !(2..=3).contains(&entry.serializer_version) {
        return Err(corrupt(format!(
            "found committables of serializer version {}, expected 2 (Paimon 1.3) or 3 (Paimon 1.4 and 2.0)",
            entry.serializer_version
        )));
    }
    let mut read = Reader::new(entry.payload.clone());
    for _ in 0..entry.committable_count {
        committable(read.block()?, entry.serializer_version, &mut files)?;
    }
    if read.remaining() > 0 {
        return Err(read.error(format!("{} bytes after the last committable", read.remaining())));
    }
    Ok(files)
}

fn committable(bytes: Bytes, serializer_version: i32, files: &mut Vec<DataFile>) -> Result<()> {
    let mut read = Reader::new(bytes);
    read.i64()?;
    if serializer_version == 2 {
        let kind = read.u8()?;
        if kind != 0 {
            return Err(read.error(format!("a committable of kind {kind}, expected 0 for files")));
        }
    }
    let message_length = read.remaining().saturating_sub(4);
    let message = read.take(message_length)?;
    let version = read.i32()?;
    if !MESSAGE_VERSIONS.contains(&version) {
        return Err(corrupt(format!(
            "found a commit message of version {version}, expected {} to {} (Paimon 1.3 to 2.0)",
            MESSAGE_VERSIONS.start(),
            MESSAGE_VERSIONS.end()
        )));
    }
    read_message(message, files)
}

fn read_message(bytes: Bytes, files: &mut Vec<DataFile>) -> Result<()> {
    let mut read = Reader::new(bytes);
    read.block()?;
    read.i32()?;
    if read.u8()? != 0 {
        read.i32()?;
    }
    for list in 0..LISTS {
        for _ in 0..read.count(4)? {
            let row = read.block()?;
            if LISTS_OF_ADDED_FILES.contains(&list) {
                files.push(data_file(&row).ok_or_else(|| read.error("a row that is no data file's"))?);
            }
        }
    }
    if read.remaining() > 0 {
        return Err(read.error(format!("{} bytes after a commit message", read.remaining())));
    }
    Ok(())
}

fn data_file(row: &[u8]) -> Option<DataFile> {
    let field = |index: usize| -> Option<[u8; 8]> {
        let at = ROW_HEADER + 8 * index;
        row.get(at..at + 8)?.try_into().ok()
    };
    if row.len() < ROW_FIXED {
        return None;
    }
    let name = field(0)?;
    // Seven bytes at most are in the field itself, with their number and a mark in its last byte.
    let text = if name[7] & 0x80 != 0 {
        name.get(..usize::from(name[7] & 0x7f))?
    } else {
        let place = u64::from_le_bytes(name);
        let (start, length) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
        row.get(start..start.checked_add(length)?)?
    };
    let (bytes, rows) = (i64::from_le_bytes(field(1)?), i64::from_le_bytes(field(2)?));
    let name = std::str::from_utf8(text).ok()?.to_owned();
    (!name.is_empty() && bytes >= 0 && rows >= 0).then_some(DataFile { name, rows, bytes })
}
