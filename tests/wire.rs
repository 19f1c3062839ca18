//! The bytes that Java's writers send, pinned by the files that Java's own tests compare themselves with.

use bytes::Bytes;
use paimon_writer_coordinator::wire::{
    Chunk, Delivery, END_OF_INPUT, Entry, Incarnation, Piece, Request, RequestKind, WriterMessage,
    decode_chunk, decode_message, decode_request,
};
use proptest::prelude::*;

const SENDER: Incarnation = Incarnation(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);

fn golden(name: &str) -> Bytes {
    let path = format!("{}/tests/golden/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let hex = std::fs::read_to_string(path).expect("a golden file").trim().to_owned();
    let byte = |index| u8::from_str_radix(&hex[index..index + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>().into()
}

fn message_of(chunk: &Chunk) -> WriterMessage {
    decode_message(&chunk.header, chunk.slice.clone()).expect("a whole message")
}

fn entry_of_checkpoint_7() -> Entry {
    Entry {
        checkpoint_id: 7,
        incarnation: SENDER,
        ended_after: i64::MIN,
        watermark: 1_234_567_890_123,
        idle: true,
        savepoint: true,
        committable_count: 2,
        serializer_version: 3,
        payload: Bytes::from_static(&[0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0]),
    }
}

#[test]
fn an_entry_event_of_java_is_read() {
    let chunk = decode_chunk(golden("entry_event")).expect("ours");
    let header = chunk.header;
    assert_eq!((header.restore, header.incarnation, header.attempt), (false, SENDER, 2));
    assert_eq!((header.checkpoint_id, chunk.index, header.chunk_count), (7, 0, 1));
    assert_eq!(message_of(&chunk), WriterMessage::Entry(entry_of_checkpoint_7()));
}

#[test]
fn a_restore_event_of_java_is_read() {
    let chunk = decode_chunk(golden("restore_event")).expect("ours");
    assert!(chunk.header.restore);
    let WriterMessage::Restore { pieces, entries } = message_of(&chunk) else {
        panic!("a restore event");
    };
    let ended = Piece { incarnation: SENDER, parallelism: 4, ended: true };
    assert_eq!(
        pieces,
        [Piece { incarnation: Incarnation(1 << 64 | 2), parallelism: 4, ended: false }, ended]
    );
    let end = Entry {
        checkpoint_id: END_OF_INPUT,
        ended_after: 6,
        watermark: i64::MIN,
        idle: false,
        savepoint: false,
        committable_count: 0,
        payload: Bytes::new(),
        ..entry_of_checkpoint_7()
    };
    assert_eq!(entries, [entry_of_checkpoint_7(), end]);
}

#[test]
fn requests_of_java_are_read() {
    let confirm = decode_request(golden("confirm_request")).expect("ours");
    let expected = Request {
        kind: RequestKind::Confirm,
        subtask: 3,
        attempt: 2,
        incarnation: SENDER,
        checkpoint_id: 7,
        delivery: Delivery { length: 64, checksum: 0x376c_8913 },
    };
    assert_eq!(confirm, expected);
    assert_eq!(decode_chunk(golden("entry_event")).expect("ours").header.delivery, expected.delivery);
    let may_finish = decode_request(golden("may_finish_request")).expect("ours");
    assert_eq!(may_finish.kind, RequestKind::MayFinish { ended: true });
    assert_eq!((may_finish.subtask, may_finish.attempt, may_finish.checkpoint_id), (3, 2, 7));
}

proptest! {
    #[test]
    fn s105_arbitrary_bytes_are_an_error_or_a_message_and_never_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200)
    ) {
        let bytes = Bytes::from(bytes);
        if let Ok(chunk) = decode_chunk(bytes.clone()) {
            let _ = decode_message(&chunk.header, chunk.slice);
        }
        let _ = decode_request(bytes);
    }

    #[test]
    fn s105_a_changed_byte_never_becomes_another_entry(position in 0_usize..130, bit in 0_u8..8) {
        let mut bytes = golden("entry_event").to_vec();
        let position = position % bytes.len();
        bytes[position] ^= 1 << bit;
        let read = decode_chunk(bytes.into())
            .and_then(|chunk| decode_message(&chunk.header, chunk.slice));
        prop_assert!(read.is_err() || read == Ok(WriterMessage::Entry(entry_of_checkpoint_7())));
    }
}
