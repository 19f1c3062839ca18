//! Flink's `_metadata` file of a checkpoint or savepoint, as far as an operator of this project is in it.
//!
//! ```text
//! file      u32 magic | i32 version | i64 checkpoint id | i32 count, master states | i32 count, operators
//!           | from version 4 on: the checkpoint's properties, a serialized Java object
//! operator  from version 5 on: text name, text uid | i64 i64 id | i32 parallelism | i32 max parallelism
//!           | stream handle: the coordinator's state | i32 count of subtasks, -1 if all have finished for good
//! subtask   i32 index, or -(index + 1) for a finished one, which has nothing more | operator state, managed and raw
//!           | keyed state, managed and raw | channel state, of inputs and outputs
//! ```

use bytes::Bytes;

use crate::error::Result;

use super::handles::{self, StreamHandle, WriterHandle};
use super::properties;
use super::reader::{Reader, corrupt};

pub(super) const MAGIC: [u8; 4] = 0x4960_672d_u32.to_be_bytes();
const MASTER_STATE_MAGIC: i32 = 0xc96b_1696_u32 as i32;
const VERSION_WITH_PROPERTIES: i32 = 4;
const VERSIONS: std::ops::RangeInclusive<i32> = 3..=6;

/// What a checkpoint or savepoint says of itself.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) version: i32,
    pub(super) checkpoint_id: i64,
    /// Not known before version 4. If it cannot be read, the operators before it still can.
    pub(super) savepoint: Result<Option<bool>>,
    pub(super) operators: Vec<Operator>,
}

/// One operator of the job.
#[derive(Debug)]
pub(super) struct Operator {
    /// Known from version 5 on.
    pub(super) name: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) id: String,
    pub(super) parallelism: i32,
    pub(super) max_parallelism: i32,
    pub(super) coordinator_state: Option<Bytes>,
    /// All subtasks had finished before the checkpoint: Flink keeps nothing of it.
    pub(super) fully_finished: bool,
    /// Subtasks that had finished before the checkpoint.
    pub(super) finished: Vec<i32>,
    /// Subtasks that have a writer's state, with it.
    pub(super) writers: Vec<(i32, WriterHandle)>,
}

pub(super) fn decode(bytes: Bytes) -> Result<Metadata> {
    let mut read = Reader::new(bytes);
    let magic = read.take(4)?;
    if magic[..] != MAGIC {
        return Err(read.error(format!("a file that begins with {:02x?}, expected {MAGIC:02x?}", &magic[..])));
    }
    let version = read.i32()?;
    if !VERSIONS.contains(&version) {
        return Err(corrupt(format!(
            "found version {version} of Flink's metadata, expected {} to {}, which Flink 1.11 to 2.1 write; for a newer Flink use a newer release of this command",
            VERSIONS.start(),
            VERSIONS.end()
        )));
    }
    let checkpoint_id = read.i64()?;
    if checkpoint_id < 0 {
        return Err(read.error(format!("checkpoint {checkpoint_id}")));
    }
    for _ in 0..read.count(8)? {
        let magic = read.i32()?;
        if magic != MASTER_STATE_MAGIC {
            return Err(read.error(format!("{magic:#010x} where a master state begins")));
        }
        read.block()?;
    }
    let mut operators = Vec::new();
    for _ in 0..read.count(29)? {
        operators.push(operator(&mut read, version)?);
    }
    let savepoint = if version >= VERSION_WITH_PROPERTIES {
        properties::is_savepoint(&mut read).map(Some)
    } else if read.remaining() > 0 {
        Err(read.error(format!("{} bytes after the last operator", read.remaining())))
    } else {
        Ok(None)
    };
    Ok(Metadata { version, checkpoint_id, savepoint, operators })
}

fn operator(read: &mut Reader, version: i32) -> Result<Operator> {
    let named = |text: String| (!text.is_empty()).then_some(text);
    let (name, uid) = if version >= 5 { (named(read.text()?), named(read.text()?)) } else { (None, None) };
    // The halves are as Flink prints them, though it calls the first one the lower.
    let id = format!("{:016x}{:016x}", read.i64()?, read.i64()?);
    let (parallelism, max_parallelism) = (read.i32()?, read.i32()?);
    let coordinator_state = match handles::stream(read)? {
        None => None,
        Some(StreamHandle::Inline(bytes)) => Some(bytes),
        Some(
            StreamHandle::File { .. }
            | StreamHandle::Relative { .. }
            | StreamHandle::Segment { .. }
            | StreamHandle::Empty,
        ) => {
            return Err(
                read.error(format!("the state of operator {id}'s coordinator outside of the metadata"))
            );
        }
    };
    let mut operator = Operator {
        name,
        uid,
        id,
        parallelism,
        max_parallelism,
        coordinator_state,
        fully_finished: false,
        finished: Vec::new(),
        writers: Vec::new(),
    };
    let subtasks = read.i32()?;
    operator.fully_finished = subtasks < 0;
    for _ in 0..subtasks {
        let index = read.i32()?;
        if index < 0 {
            operator.finished.push(-(index + 1));
            continue;
        }
        let managed = handles::operator_state(read)?;
        handles::operator_state(read)?;
        handles::skip_keyed_state(read)?;
        handles::skip_keyed_state(read)?;
        handles::skip_channel_states(read, version)?;
        handles::skip_channel_states(read, version)?;
        operator.writers.extend(managed.map(|state| (index, state)));
    }
    Ok(operator)
}
