//! What is known of one writer subtask: its attempt, a message that is arriving, whether its input has ended.

use bytes::{Bytes, BytesMut};

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Chunk, Incarnation, MessageHeader};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The newest attempt that Flink has announced.
    pub(super) attempt: Option<i32>,
    /// Whether that attempt may still send.
    pub(super) ready: bool,
    /// The end of input of what the current attempt last said, or restored.
    pub(super) ended: Option<Ended>,
    /// The newest ordinary checkpoint committed with an entry of this incarnation.
    pub(super) committed: Option<(Incarnation, i64)>,
    arriving: Option<Arriving>,
}

/// A writer's end of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    /// The last checkpoint snapshotted before it: a completed checkpoint covers it if and only if its id is higher.
    pub(super) after: i64,
    /// The writer that prepared the entry.
    pub(super) incarnation: Incarnation,
}

#[derive(Debug)]
struct Arriving {
    header: MessageHeader,
    next_index: i32,
    body: BytesMut,
}

impl Writer {
    /// Whether messages of this attempt count.
    pub(super) fn listens_to(&self, attempt: i32) -> bool {
        self.ready && self.attempt == Some(attempt)
    }

    /// A new attempt begins; what an older one had begun to send is gone. Returns whether it is the newest.
    pub(super) fn attempt_ready(&mut self, attempt: i32) -> bool {
        if self.attempt.is_some_and(|newest| attempt < newest) {
            return false;
        }
        self.attempt = Some(attempt);
        self.ready = true;
        self.arriving = None;
        true
    }

    /// The current attempt is gone; its whole reports stay.
    pub(super) fn attempt_over(&mut self) {
        self.ready = false;
        self.arriving = None;
    }

    /// Adds a chunk and returns the body once it is whole. A first chunk begins anew; one that does not follow the last
    /// is dropped, since the writer sends everything again when its delivery is not confirmed.
    pub(super) fn receive(&mut self, chunk: Chunk) -> Result<Option<Bytes>> {
        let Chunk { header, index, slice } = chunk;
        if header.chunk_count == 1 {
            self.arriving = None;
            return Ok(Some(slice));
        }
        if index == 0 {
            self.arriving = Some(Arriving { header, next_index: 0, body: BytesMut::new() });
        }
        let follows = |arriving: &Arriving| arriving.header == header && arriving.next_index == index;
        let Some(mut arriving) = self.arriving.take().filter(follows) else {
            return Ok(None);
        };
        arriving.body.extend_from_slice(&slice);
        arriving.next_index += 1;
        if arriving.body.len() as i64 > i64::from(header.delivery.length) {
            return Err(Error::new(
                ErrorKind::ForeignMessage,
                format!("Found chunks that are longer than the {} bytes promised.", header.delivery.length),
            ));
        }
        if arriving.next_index == header.chunk_count {
            return Ok(Some(arriving.body.freeze()));
        }
        self.arriving = Some(arriving);
        Ok(None)
    }
}
