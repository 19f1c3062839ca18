//! What writers send: event chunks and requests, big-endian, written by Java's `DataOutputStream`.
//!
//! ```text
//! event    u32 magic "PWCE" | u8 version | u8 kind (1 entry, 2 restore) | i64 i64 incarnation | i32 attempt
//!          | i64 checkpoint id | i32 chunk index | i32 chunk count | i32 body length | i32 CRC32C of the body | slice
//! request  u32 magic "PWCR" | u8 version | u8 kind (1 confirm, 2 may finish) | i32 subtask | i32 attempt
//!          | i64 i64 incarnation | i64 checkpoint id | u8 ended | i32 length | i32 CRC32C
//! restore  i32 count, pieces (i64 i64 incarnation | i32 parallelism | u8 ended) | i32 count, entries
//! entry    i64 checkpoint id | i64 i64 incarnation | i64 ended after | i64 watermark | u8 flags (1 idle, 2 savepoint)
//!          | i32 committables | i32 serializer version | i32 length, payload
//! element  u8 version | u8 kind (1 piece, 2 entry) | a piece as in restore, or an entry; what a writer's state stores
//! ```

use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The checkpoint id of end-of-input entries: Flink's and Paimon's `Long.MAX_VALUE`.
pub const END_OF_INPUT: i64 = i64::MAX;

const EVENT_MAGIC: u32 = 0x5057_4345;
const REQUEST_MAGIC: u32 = 0x5057_4352;
const VERSION: u8 = 1;
const FLAG_IDLE: u8 = 1;
const FLAG_SAVEPOINT: u8 = 2;

/// Names one writer operator object: every attempt of a subtask draws its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u128);

impl std::fmt::Debug for Incarnation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// What one writer prepared for one checkpoint. Its key is (`incarnation`, `checkpoint_id`) and never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The checkpoint, or [`END_OF_INPUT`].
    pub checkpoint_id: i64,
    /// The writer that prepared it.
    pub incarnation: Incarnation,
    /// For an end-of-input entry: the last checkpoint that its writer had snapshotted before its input ended.
    pub ended_after: i64,
    /// The writer's watermark at the barrier, `i64::MIN` if it had none.
    pub watermark: i64,
    /// Whether the writer's input was idle at the barrier.
    pub idle: bool,
    /// Whether the checkpoint is a savepoint.
    pub savepoint: bool,
    /// How many committables the payload holds.
    pub committable_count: i32,
    /// The version of Paimon's `CommittableSerializer` that wrote them.
    pub serializer_version: i32,
    /// Paimon's serialized committables, never looked into here.
    pub payload: Bytes,
}

/// A writer's own part of an operator state that is being restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The writer that stored it.
    pub incarnation: Incarnation,
    /// The parallelism of the writers when it was stored.
    pub parallelism: i32,
    /// Whether that writer's input had ended.
    pub ended: bool,
}

/// Length and checksum of an event's body: how a writer says which report it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes of the body.
    pub length: i32,
    /// CRC32C of the body.
    pub checksum: u32,
}

/// What the chunks of one message have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHeader {
    /// Whether it is a restore event.
    pub restore: bool,
    /// The sending writer.
    pub incarnation: Incarnation,
    /// The attempt of the sending writer.
    pub attempt: i32,
    /// The entry's checkpoint, or the restored checkpoint.
    pub checkpoint_id: i64,
    /// How many chunks there are.
    pub chunk_count: i32,
    /// Length and checksum of the joined body.
    pub delivery: Delivery,
}

/// One chunk of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it has in common with the other chunks.
    pub header: MessageHeader,
    /// Its position among them.
    pub index: i32,
    /// Its slice of the body.
    pub slice: Bytes,
}

/// A whole message of a writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriterMessage {
    /// The entry of one checkpoint, or of the end of input.
    Entry(Entry),
    /// What a writer restored.
    Restore {
        /// One for each writer whose state this writer was given.
        pieces: Vec<Piece>,
        /// All entries that it was given.
        entries: Vec<Entry>,
    },
}

/// One element of a writer's operator state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateElement {
    /// What the writer says of itself.
    Piece(Piece),
    /// An entry that it answers for.
    Entry(Entry),
}

/// What a writer wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Is my entry for this checkpoint held whole?
    Confirm,
    /// May I finish, now that this checkpoint has completed?
    MayFinish {
        /// Whether the asker's input has ended.
        ended: bool,
    },
}

/// A request of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What it wants to know.
    pub kind: RequestKind,
    /// The asking subtask.
    pub subtask: i32,
    /// Its attempt.
    pub attempt: i32,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// See [`RequestKind`]; -1 for none.
    pub checkpoint_id: i64,
    /// The report it means.
    pub delivery: Delivery,
}

/// Reads one event chunk.
pub fn decode_chunk(mut bytes: Bytes) -> Result<Chunk> {
    let found = bytes.len();
    let mut read = Reader::new(&mut bytes, "event");
    read.preamble(EVENT_MAGIC)?;
    let kind = read.u8()?;
    let header = MessageHeader {
        restore: match kind {
            1 => false,
            2 => true,
            other => return Err(foreign(format!("an event of kind {other}; expected 1 or 2"))),
        },
        incarnation: read.incarnation()?,
        attempt: read.i32()?,
        checkpoint_id: read.i64()?,
        chunk_count: 0,
        delivery: Delivery { length: 0, checksum: 0 },
    };
    let index = read.i32()?;
    let chunk_count = read.i32()?;
    let length = read.i32()?;
    let checksum = read.u32()?;
    if chunk_count < 1 || index < 0 || index >= chunk_count {
        return Err(foreign(format!("chunk {index} of {chunk_count} in an event of {found} bytes")));
    }
    let slice_fits = i64::from(length) >= bytes.len() as i64;
    if header.attempt < 0 || header.checkpoint_id < 0 || length < 0 || !slice_fits {
        return Err(foreign(format!(
            "an event with attempt {}, checkpoint {}, body length {length} and a slice of {} bytes",
            header.attempt,
            header.checkpoint_id,
            bytes.len()
        )));
    }
    let delivery = Delivery { length, checksum };
    Ok(Chunk { header: MessageHeader { chunk_count, delivery, ..header }, index, slice: bytes })
}

/// Reads the joined body of a message after its length and checksum have been compared with what the header promised.
pub fn decode_message(header: &MessageHeader, body: Bytes) -> Result<WriterMessage> {
    let length = body.len();
    let checksum = crc32c::crc32c(&body);
    if length as i64 != i64::from(header.delivery.length) || checksum != header.delivery.checksum {
        return Err(foreign(format!(
            "an event body of {length} bytes with checksum {checksum:08x}; its header promised {} bytes with {:08x}",
            header.delivery.length, header.delivery.checksum
        )));
    }
    let mut rest = body;
    let message = if header.restore {
        decode_restore(&mut rest)?
    } else {
        let entry = decode_entry(&mut rest)?;
        if entry.checkpoint_id != header.checkpoint_id || entry.incarnation != header.incarnation {
            return Err(foreign(format!(
                "an entry of checkpoint {} by {:?} in an event of checkpoint {} by {:?}",
                entry.checkpoint_id, entry.incarnation, header.checkpoint_id, header.incarnation
            )));
        }
        WriterMessage::Entry(entry)
    };
    if rest.has_remaining() {
        return Err(foreign(format!("{} bytes after the end of an event body", rest.len())));
    }
    Ok(message)
}

/// Reads a request.
pub fn decode_request(mut bytes: Bytes) -> Result<Request> {
    let mut read = Reader::new(&mut bytes, "request");
    read.preamble(REQUEST_MAGIC)?;
    let kind = read.u8()?;
    let subtask = read.i32()?;
    let attempt = read.i32()?;
    let incarnation = read.incarnation()?;
    let checkpoint_id = read.i64()?;
    let ended = read.u8()? != 0;
    let delivery = Delivery { length: read.i32()?, checksum: read.u32()? };
    let kind = match kind {
        1 => RequestKind::Confirm,
        2 => RequestKind::MayFinish { ended },
        other => return Err(foreign(format!("a request of kind {other}; expected 1 or 2"))),
    };
    let no_checkpoint = checkpoint_id < -1 || checkpoint_id == END_OF_INPUT && kind != RequestKind::Confirm;
    if subtask < 0 || attempt < 0 || no_checkpoint || bytes.has_remaining() {
        return Err(foreign(format!(
            "a request of subtask {subtask}, attempt {attempt}, checkpoint {checkpoint_id} with {} bytes too many",
            bytes.len()
        )));
    }
    Ok(Request { kind, subtask, attempt, incarnation, checkpoint_id, delivery })
}

/// Reads one element of a writer's operator state.
pub fn decode_state_element(mut bytes: Bytes) -> Result<StateElement> {
    let mut read = Reader::new(&mut bytes, "element of a writer's state");
    let element = match (read.u8()?, read.u8()?) {
        (VERSION, 1) => StateElement::Piece(read.piece()?),
        (VERSION, 2) => StateElement::Entry(decode_entry(&mut bytes)?),
        (version, kind) => {
            return Err(foreign(format!(
                "an element of a writer's state of version {version}, kind {kind}; expected version {VERSION}, kind 1 or 2"
            )));
        }
    };
    if bytes.has_remaining() {
        return Err(foreign(format!(
            "{} bytes after the end of an element of a writer's state",
            bytes.len()
        )));
    }
    Ok(element)
}

fn decode_restore(body: &mut Bytes) -> Result<WriterMessage> {
    let mut read = Reader::new(body, "restore event");
    let mut pieces = Vec::new();
    for _ in 0..read.count()? {
        pieces.push(read.piece()?);
    }
    let entry_count = read.count()?;
    let mut entries = Vec::new();
    for _ in 0..entry_count {
        entries.push(decode_entry(body)?);
    }
    Ok(WriterMessage::Restore { pieces, entries })
}

fn decode_entry(body: &mut Bytes) -> Result<Entry> {
    let mut read = Reader::new(body, "entry");
    let checkpoint_id = read.i64()?;
    let incarnation = read.incarnation()?;
    let ended_after = read.i64()?;
    let watermark = read.i64()?;
    let flags = read.u8()?;
    let committable_count = read.count()?;
    let serializer_version = read.i32()?;
    let payload_length = read.count()? as usize;
    if checkpoint_id < 0 || flags & !(FLAG_IDLE | FLAG_SAVEPOINT) != 0 {
        return Err(foreign(format!("an entry of checkpoint {checkpoint_id} with flags {flags:#04x}")));
    }
    if checkpoint_id == END_OF_INPUT && ended_after < -1 {
        return Err(foreign(format!(
            "an end-of-input entry that says it ended after checkpoint {ended_after}"
        )));
    }
    if body.remaining() < payload_length {
        return Err(foreign(format!(
            "an entry of checkpoint {checkpoint_id} whose payload of {payload_length} bytes ends after {}",
            body.remaining()
        )));
    }
    Ok(Entry {
        checkpoint_id,
        incarnation,
        ended_after,
        watermark,
        idle: flags & FLAG_IDLE != 0,
        savepoint: flags & FLAG_SAVEPOINT != 0,
        committable_count,
        serializer_version,
        payload: body.split_to(payload_length),
    })
}

fn foreign(found: String) -> Error {
    Error::new(ErrorKind::ForeignMessage, format!("Found {found}."))
}

struct Reader<'a> {
    bytes: &'a mut Bytes,
    what: &'static str,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a mut Bytes, what: &'static str) -> Self {
        Self { bytes, what }
    }

    fn short(&self) -> Error {
        foreign(format!("an {} whose bytes end too early", self.what))
    }

    fn preamble(&mut self, expected_magic: u32) -> Result<()> {
        let magic = self.u32()?;
        let version = self.u8()?;
        if magic != expected_magic || version != VERSION {
            return Err(foreign(format!(
                "an {} that begins with {magic:#010x}, version {version}; expected {expected_magic:#010x}, version {VERSION}",
                self.what
            )));
        }
        Ok(())
    }

    fn u8(&mut self) -> Result<u8> {
        self.bytes.try_get_u8().map_err(|_| self.short())
    }

    fn u32(&mut self) -> Result<u32> {
        self.bytes.try_get_u32().map_err(|_| self.short())
    }

    fn i32(&mut self) -> Result<i32> {
        self.bytes.try_get_i32().map_err(|_| self.short())
    }

    fn i64(&mut self) -> Result<i64> {
        self.bytes.try_get_i64().map_err(|_| self.short())
    }

    fn count(&mut self) -> Result<i32> {
        let count = self.i32()?;
        if count < 0 {
            return Err(foreign(format!("a count of {count} in an {}", self.what)));
        }
        Ok(count)
    }

    fn piece(&mut self) -> Result<Piece> {
        let incarnation = self.incarnation()?;
        Ok(Piece { incarnation, parallelism: self.i32()?, ended: self.u8()? != 0 })
    }

    fn incarnation(&mut self) -> Result<Incarnation> {
        self.bytes.try_get_u128().map(Incarnation).map_err(|_| self.short())
    }
}
