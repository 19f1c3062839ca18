//! Flink's state handles as `MetadataV2V3SerializerBase` writes them: those of operator state are read, all others skipped.

use bytes::Bytes;

use crate::error::Result;

use super::reader::Reader;

/// The name of the writers' list state.
const ENTRIES: &str = "paimon-writer-coordinator-entries";

/// Handles lie inside each other, but never this deep.
const DEPTH_MAX: u32 = 8;

/// Where the bytes of a state are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamHandle {
    /// In the metadata itself.
    Inline(Bytes),
    /// In a file of its own.
    File { path: String, length: i64 },
    /// In a file beside the metadata, as in savepoints.
    Relative { path: String, length: i64 },
    /// In a part of a file, as with `execution.checkpointing.file-merging.enabled`.
    Segment { path: String, start: i64, length: i64 },
    /// Nowhere: there are none.
    Empty,
}

/// One subtask's operator state, if it has that of a writer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WriterHandle {
    /// Where each element begins.
    pub(super) offsets: Vec<i64>,
    /// What they are in.
    pub(super) stream: StreamHandle,
}

pub(super) fn stream(read: &mut Reader) -> Result<Option<StreamHandle>> {
    stream_within(read, DEPTH_MAX)
}

fn stream_within(read: &mut Reader, depth: u32) -> Result<Option<StreamHandle>> {
    let handle = match read.u8()? {
        0 => return Ok(None),
        1 => {
            read.skip_text()?;
            StreamHandle::Inline(read.block()?)
        }
        2 => StreamHandle::File { length: read.i64()?, path: read.text()? },
        // Only in the middle of keyed state; nobody asks for it.
        3 if depth > 0 => {
            read.i32()?;
            let key_groups = read.count(8)?;
            read.skip(key_groups * 8)?;
            stream_within(read, depth - 1)?;
            StreamHandle::Empty
        }
        6 => StreamHandle::Relative { path: read.text()?, length: read.i64()? },
        15 => {
            let (start, length) = (read.i64()?, read.i64()?);
            read.i32()?;
            let path = read.text()?;
            read.skip_text()?;
            StreamHandle::Segment { path, start, length }
        }
        16 => StreamHandle::Empty,
        other => return Err(read.error(format!("a stream state handle of unknown kind {other}"))),
    };
    Ok(Some(handle))
}

/// The managed or raw operator state of a subtask.
pub(super) fn operator_state(read: &mut Reader) -> Result<Option<WriterHandle>> {
    if read.i32()? == 0 {
        return Ok(None);
    }
    let kind = read.u8()?;
    if kind == 0 {
        return Ok(None);
    }
    if kind != 4 && kind != 17 {
        return Err(read.error(format!("an operator state handle of unknown kind {kind}")));
    }
    let mut own = None;
    for _ in 0..read.count(7)? {
        let name = read.text()?;
        read.u8()?;
        let count = read.count(8)?;
        if name == ENTRIES {
            own = Some((0..count).map(|_| read.i64()).collect::<Result<Vec<i64>>>()?);
        } else {
            read.skip(count * 8)?;
        }
    }
    if kind == 17 {
        read.skip_text()?;
        read.skip_text()?;
        read.u8()?;
    }
    let stream = stream(read)?.unwrap_or(StreamHandle::Empty);
    Ok(own.map(|offsets| WriterHandle { offsets, stream }))
}

pub(super) fn skip_keyed_state(read: &mut Reader) -> Result<()> {
    skip_keyed_state_within(read, DEPTH_MAX)
}

fn skip_keyed_state_within(read: &mut Reader, depth: u32) -> Result<()> {
    match read.u8()? {
        0 => {}
        kind @ (3 | 7 | 12) => {
            read.i32()?;
            let key_groups = read.count(8)?;
            read.skip(key_groups * 8)?;
            stream(read)?;
            if kind == 12 {
                read.skip_text()?;
            }
        }
        kind @ (5 | 11) => {
            read.i64()?;
            read.skip_text()?;
            read.skip(if kind == 11 { 16 } else { 8 })?;
            stream(read)?;
            for _ in 0..2 {
                for _ in 0..read.count(3)? {
                    read.skip_text()?;
                    stream(read)?;
                }
            }
            if kind == 11 {
                read.skip_text()?;
            }
        }
        kind @ (8 | 14) if depth > 0 => {
            read.skip(16)?;
            for _ in 0..2 {
                for _ in 0..read.count(1)? {
                    skip_keyed_state_within(read, depth - 1)?;
                }
            }
            read.skip(if kind == 14 { 16 } else { 8 })?;
            read.skip_text()?;
        }
        9 => {
            read.skip(24)?;
            for _ in 0..read.count(8)? {
                read.i32()?;
                read.block()?;
            }
            read.skip_text()?;
        }
        kind @ (10 | 13) => {
            read.skip(8)?;
            for _ in 0..read.count(9)? {
                read.i64()?;
                stream(read)?;
            }
            read.skip(16)?;
            read.skip_text()?;
            if kind == 13 {
                read.skip_text()?;
            }
        }
        other => return Err(read.error(format!("a keyed state handle of unknown kind {other}"))),
    }
    Ok(())
}

/// The state of unaligned checkpoints' channels. From version 6 on each handle has a kind before it.
pub(super) fn skip_channel_states(read: &mut Reader, version: i32) -> Result<()> {
    for _ in 0..read.count(17)? {
        let kind = if version >= 6 { read.u8()? } else { 1 };
        match kind {
            1 | 2 => {
                read.skip(12)?;
                let offsets = read.count(8)?;
                read.skip(offsets * 8)?;
                read.i64()?;
                stream(read)?;
            }
            3 | 4 => {
                read.skip(12)?;
                stream(read)?;
                read.block()?;
            }
            other => return Err(read.error(format!("a channel state handle of unknown kind {other}"))),
        }
    }
    Ok(())
}
