//! What is known of one writer subtask: its attempt, a message that is arriving, whether its input has ended.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{Chunk, Delivery, Incarnation, MessageHeader};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The newest attempt that Flink has announced.
    pub(super) attempt: Option<i32>,
    /// The attempts that may still send, each with a message that is arriving: the newest or none, and more than one only
    /// where Flink runs several attempts at once.
    live: BTreeMap<i32, Option<Arriving>>,
    /// The end of input of what the current attempt last said, or restored.
    pub(super) ended: Option<Ended>,
    /// Whether an attempt has asked to finish whose end of input is held. A drain ends the input, too, and may be given up;
    /// only when it has succeeded the task closes and asks.
    pub(super) finishing: bool,
    /// Whether Flink has reset this subtask.
    pub(super) was_reset: bool,
    /// The last end of input that came too late to be used.
    pub(super) dismissed: Option<Delivery>,
    /// The newest checkpoint from which an attempt was restored and told what it was given.
    pub(super) restored_through: Option<i64>,
    /// The newest ordinary checkpoint committed with an entry of this incarnation.
    pub(super) committed: Option<(Incarnation, i64)>,
    /// The newest attempt of which a dropped event was logged.
    pub(super) stale_attempt: Option<i32>,
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
        self.live.contains_key(&attempt)
    }

    /// Whether there is an attempt that may send.
    pub(super) fn is_ready(&self) -> bool {
        !self.live.is_empty()
    }

    /// Whether this attempt has been announced, and may not send any more.
    pub(super) fn is_over(&self, attempt: i32) -> bool {
        self.attempt.is_some_and(|newest| attempt <= newest) && !self.listens_to(attempt)
    }

    /// A new attempt begins; what an older one had begun to send is gone. Returns whether it is the newest.
    pub(super) fn attempt_ready(&mut self, attempt: i32, beside_others: bool) -> bool {
        if self.attempt.is_some_and(|newest| attempt < newest) {
            return false;
        }
        if !beside_others {
            self.live.clear();
        }
        self.attempt = Some(attempt);
        self.live.insert(attempt, None);
        true
    }

    /// This attempt is gone; its whole reports stay.
    pub(super) fn attempt_over(&mut self, attempt: i32) {
        self.live.remove(&attempt);
    }

    /// All attempts are gone, and with them an end of input that this checkpoint does not hold.
    pub(super) fn reset(&mut self, checkpoint_id: i64) {
        self.live.clear();
        self.was_reset = true;
        self.finishing = false;
        self.dismissed = None;
        self.ended = self.ended.filter(|ended| ended.after < checkpoint_id);
    }

    /// Adds a chunk of an attempt that counts and returns the body once it is whole. A first chunk begins anew; one that
    /// does not follow the last is dropped, since the writer sends everything again when its delivery is not confirmed.
    pub(super) fn receive(&mut self, attempt: i32, chunk: Chunk) -> Result<Option<Bytes>> {
        let Chunk { header, index, slice } = chunk;
        let earlier = self.live.insert(attempt, None).flatten();
        if header.chunk_count == 1 {
            return Ok(Some(slice));
        }
        let begins = Arriving { header, next_index: 0, body: BytesMut::new() };
        let arriving = if index == 0 { Some(begins) } else { earlier };
        let follows = |arriving: &Arriving| arriving.header == header && arriving.next_index == index;
        let Some(mut arriving) = arriving.filter(follows) else {
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
        self.live.insert(attempt, Some(arriving));
        Ok(None)
    }
}
