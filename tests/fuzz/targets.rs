//! What every input must stand. `cargo test` runs these on the corpus and its mutations, `scripts/fuzz` under libFuzzer.

use std::path::Path;

use bytes::Bytes;
use paimon_writer_coordinator::snapshot::{decode, encode};
use paimon_writer_coordinator::wire::{
    Delivery, MessageHeader, WriterMessage, decode_chunk, decode_message, decode_request,
};

use crate::allocations::largest_of;
use crate::steps;
use crate::support::{encode_entry, encode_restore};

/// What decoding may allocate at once beyond the input: serde reserves 1 MiB for a sequence whatever it promises.
const ALLOWANCE_BYTES: usize = 2 << 20;

/// A frame around this body, as `snapshot::encode` makes it.
pub fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = b"PWCS\x01\x00".to_vec();
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(crc32c::crc32c(body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Checkpoint bytes: the input as it is, and as a body in a frame that is right.
pub fn snapshot(input: &[u8]) {
    for bytes in [input.to_vec(), framed(input)] {
        let (state, largest) = largest_of(|| decode(&bytes));
        let allowed = ALLOWANCE_BYTES + 16 * bytes.len();
        assert!(largest <= allowed, "{} bytes made decode allocate {largest} at once", bytes.len());
        let Ok(state) = state else { continue };
        let again = encode(&state).expect("what was decoded can be encoded");
        assert_eq!(decode(&again).as_ref(), Ok(&state), "a round trip changes nothing");
    }
}

/// What writers send: the input as a chunk, as a request, and as the body of both kinds of message, checksum right.
pub fn messages(input: &[u8]) {
    let bytes = Bytes::copy_from_slice(input);
    let (_, largest) = largest_of(|| {
        if let Ok(chunk) = decode_chunk(bytes.clone()) {
            assert!(chunk.index < chunk.header.chunk_count);
            let _ = decode_message(&chunk.header, chunk.slice);
        }
        let _ = decode_request(bytes.clone());
        for restore in [false, true] {
            body(restore, &bytes);
        }
    });
    let allowed = ALLOWANCE_BYTES + 16 * bytes.len();
    assert!(largest <= allowed, "{} bytes made decoding allocate {largest} at once", bytes.len());
}

fn body(restore: bool, bytes: &Bytes) {
    // An entry must be that of its event's header, which the input cannot say twice.
    let first = bytes.get(..24).unwrap_or(&[0; 24]);
    let mut words = first.chunks(8).map(|word| u64::from_be_bytes(std::array::from_fn(|index| word[index])));
    let mut word = || words.next().unwrap_or_default();
    let checkpoint_id = word() as i64;
    let incarnation = u128::from(word()) << 64 | u128::from(word());
    let header = MessageHeader {
        restore,
        incarnation: paimon_writer_coordinator::wire::Incarnation(incarnation),
        attempt: 0,
        checkpoint_id,
        chunk_count: 1,
        delivery: Delivery { length: bytes.len() as i32, checksum: crc32c::crc32c(bytes) },
    };
    match decode_message(&header, bytes.clone()) {
        Ok(WriterMessage::Entry(entry)) => assert_eq!(encode_entry(&entry), bytes),
        Ok(WriterMessage::Restore { pieces, entries }) => {
            let again = encode_restore(&pieces, &entries);
            assert_eq!(
                decode_message(&rewritten(header, &again), again).ok(),
                Some(WriterMessage::Restore { pieces, entries })
            );
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

/// A flag may be any byte but zero, so what is written again may differ from what was read.
fn rewritten(header: MessageHeader, body: &Bytes) -> MessageHeader {
    let delivery = Delivery { length: body.len() as i32, checksum: crc32c::crc32c(body) };
    MessageHeader { delivery, ..header }
}

/// What somebody wants to look into, whatever it is: as metadata of each version, as a coordinator's bytes, as it is.
pub fn inspect(input: &[u8]) {
    let metadata = |version: u8| [&[0x49, 0x60, 0x67, 0x2d, 0, 0, 0, version], input].concat();
    for bytes in [input.to_vec(), framed(input), metadata(4), metadata(5), metadata(6)] {
        let length = bytes.len();
        let bytes = Bytes::from(bytes);
        for json in [false, true] {
            let show = || paimon_writer_coordinator::inspect::show(bytes.clone(), Path::new("x"), json, true);
            let (outcome, largest) = largest_of(show);
            assert!(!outcome.text.is_empty());
            // The text about an entry is longer than the entry, and a vertex of Flink's has 32,768 subtasks at most.
            let allowed = 4 * ALLOWANCE_BYTES + 64 * length;
            assert!(largest <= allowed, "{length} bytes made the inspection allocate {largest} at once");
        }
    }
}

/// A coordinator's life, see [`steps`].
pub fn coordinator(input: &[u8]) {
    steps::live(input);
}
