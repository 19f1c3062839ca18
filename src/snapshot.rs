//! The coordinator's checkpoint bytes.
//!
//! ```text
//! frame  "PWCS" | u16 format version | u64 body length | u32 CRC32C of the body | body          (little-endian)
//! body   bincode, little-endian, fixed-width integers; a sequence is a u64 count and its elements, an option a u8 and
//!        its value, a string or byte string a u64 length and its bytes; the fields of `State` in their order
//! ```
//!
//! Versions, all of which stay readable:
//! * 1: the first.

use std::collections::BTreeSet;

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Entry, Incarnation};

const MAGIC: [u8; 4] = *b"PWCS";
const VERSION: u16 = 1;
const HEADER_LENGTH: usize = 4 + 2 + 8 + 4;
/// No byte array of the JVM is longer, so no checkpoint can be.
const BODY_LENGTH_MAX: usize = i32::MAX as usize;

/// What a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number of writers.
    pub parallelism: u32,
    /// Commit users by generation; the last is the current one.
    pub commit_users: Vec<(u32, String)>,
    /// Every ordinary checkpoint up to this one is durably in the table; `i64::MIN` for none.
    pub committed_through: i64,
    /// The id of the newest snapshot of the current commit user; -1 for none.
    pub snapshot_id: i64,
    /// The last aligned watermark; `i64::MIN` for none.
    pub watermark: i64,
    /// Whether the current commit user's final commit is in the table.
    pub final_commit_done: bool,
    /// Subtasks whose input had ended, each with the incarnation that prepared the end-of-input entry.
    pub ended: Vec<(u32, Incarnation)>,
    /// End-of-input entries that are in the table.
    pub committed_end_of_input: Vec<Incarnation>,
    /// The Java committer's own state.
    pub committer_state: Option<Bytes>,
    /// Every entry that is not known to be in the table.
    pub entries: Vec<StateEntry>,
}

/// An entry and the commit user it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEntry {
    /// The generation of the commit user.
    pub generation: u32,
    /// The entry.
    pub entry: Entry,
}

fn configuration<const LIMIT: usize>() -> Configuration<LittleEndian, Fixint, Limit<LIMIT>> {
    bincode::config::standard().with_fixed_int_encoding().with_limit::<LIMIT>()
}

/// Writes checkpoint bytes.
///
/// # Errors
/// If they would be longer than a byte array of the JVM can be.
pub fn encode(state: &State) -> Result<Vec<u8>> {
    let payloads: usize = state.entries.iter().map(|stored| stored.entry.payload.len() + 96).sum();
    let mut bytes = Vec::with_capacity(HEADER_LENGTH + 256 + payloads);
    bytes.resize(HEADER_LENGTH, 0);
    let unencodable = |cause: String| {
        Error::new(
            ErrorKind::CorruptState,
            format!("The coordinator's state of {} entries cannot be encoded: {cause}.", state.entries.len()),
        )
    };
    bincode::serde::encode_into_std_write(state, &mut bytes, configuration::<BODY_LENGTH_MAX>())
        .map_err(|cause| unencodable(cause.to_string()))?;
    let body_length = bytes.len() - HEADER_LENGTH;
    if bytes.len() > BODY_LENGTH_MAX {
        return Err(unencodable(format!("{} bytes are more than a checkpoint can hold", bytes.len())));
    }
    let checksum = crc32c::crc32c(&bytes[HEADER_LENGTH..]);
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    bytes[6..14].copy_from_slice(&(body_length as u64).to_le_bytes());
    bytes[14..18].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// Reads checkpoint bytes.
///
/// # Errors
/// If they are not whole, not unchanged, or not ours; the message says what was found and what was expected.
pub fn decode(bytes: &[u8]) -> Result<State> {
    let (header, body) = bytes.split_at_checked(HEADER_LENGTH).ok_or_else(|| {
        corrupt(format!("found {} bytes, expected a header of {HEADER_LENGTH} at least", bytes.len()))
    })?;
    if header[..4] != MAGIC {
        return Err(corrupt(format!(
            "found bytes that begin with {:02x?}, expected {MAGIC:02x?}; they belong to another operator",
            &header[..4]
        )));
    }
    let version = u16::from_le_bytes([header[4], header[5]]);
    if version != VERSION {
        return Err(corrupt(format!(
            "found format version {version}, expected at most {VERSION}; a newer release wrote them, so use that release"
        )));
    }
    let promised = u64::from_le_bytes(read_array(header, 6));
    if promised != body.len() as u64 {
        return Err(corrupt(format!("found a body of {} bytes, expected {promised}", body.len())));
    }
    let expected = u32::from_le_bytes(read_array(header, 14));
    let found = crc32c::crc32c(body);
    if found != expected {
        return Err(corrupt(format!("found checksum {found:08x}, expected {expected:08x}")));
    }
    let (state, read) = decode_body(body)
        .map_err(|cause| corrupt(format!("its body of {} bytes cannot be read: {cause}", body.len())))?;
    if read != body.len() || state.parallelism == 0 || state.commit_users.is_empty() {
        return Err(corrupt(format!(
            "found {read} of {} bytes used, parallelism {} and {} commit users",
            body.len(),
            state.parallelism,
            state.commit_users.len()
        )));
    }
    check_generations(&state)?;
    Ok(state)
}

/// An entry whose commit user is not known could only be committed under a wrong one, which filters nothing.
fn check_generations(state: &State) -> Result<()> {
    let generations: BTreeSet<u32> = state.commit_users.iter().map(|&(generation, _)| generation).collect();
    let unknown = |stored: &&StateEntry| !generations.contains(&stored.generation);
    match state.entries.iter().find(unknown) {
        None => Ok(()),
        Some(stored) => Err(corrupt(format!(
            "found an entry of checkpoint {} for the commit user of generation {}, expected one of {generations:?}",
            stored.entry.checkpoint_id, stored.generation
        ))),
    }
}

/// bincode allocates whatever length it reads, up to a limit that is part of its configuration's type; so the limit is
/// the next of a few that the body fits into, and damaged bytes never make it allocate more than 16 times their length.
fn decode_body(body: &[u8]) -> std::result::Result<(State, usize), bincode::error::DecodeError> {
    match body.len() {
        0..0x1_0000 => bincode::serde::decode_from_slice(body, configuration::<0x1_0000>()),
        0x1_0000..0x10_0000 => bincode::serde::decode_from_slice(body, configuration::<0x10_0000>()),
        0x10_0000..0x100_0000 => bincode::serde::decode_from_slice(body, configuration::<0x100_0000>()),
        0x100_0000..0x1000_0000 => bincode::serde::decode_from_slice(body, configuration::<0x1000_0000>()),
        0x1000_0000.. => bincode::serde::decode_from_slice(body, configuration::<BODY_LENGTH_MAX>()),
    }
}

fn read_array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[offset + index])
}

fn corrupt(found: String) -> Error {
    Error::new(
        ErrorKind::CorruptState,
        format!(
            "The coordinator's checkpoint bytes cannot be used: {found}. Restore from another checkpoint or savepoint."
        ),
    )
}
