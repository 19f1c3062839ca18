//! Metadata made by hand.

use std::fs;

use super::{golden, hex};

/// Writes `_metadata` as Flink does.
pub(crate) struct Metadata {
    pub(crate) bytes: Vec<u8>,
}

impl Metadata {
    pub(crate) fn new(version: i32) -> Self {
        Self { bytes: Vec::new() }.int(0x4960_672d).int(version).long(9)
    }

    fn byte(mut self, value: u8) -> Self {
        self.bytes.push(value);
        self
    }

    pub(crate) fn int(mut self, value: i32) -> Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    fn long(mut self, value: i64) -> Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    fn text(mut self, value: &str) -> Self {
        self.bytes.extend((value.len() as u16).to_be_bytes());
        self.bytes.extend(value.as_bytes());
        self
    }

    fn block(mut self, value: &[u8]) -> Self {
        self = self.int(value.len() as i32);
        self.bytes.extend(value);
        self
    }

    fn longs(self, count: i32) -> Self {
        (0..count).fold(self.int(count), |metadata, value| metadata.long(i64::from(value)))
    }

    fn inline(self, value: &[u8]) -> Self {
        self.byte(1).text("name").block(value)
    }

    fn file(self) -> Self {
        self.byte(2).long(5).text("hdfs://ns/c/shared/x")
    }

    fn segment(self) -> Self {
        self.byte(15).long(0).long(5).int(1).text("file:/c/shared/x").text("id")
    }

    fn key_groups(self, kind: u8) -> Self {
        self.byte(kind).int(0).longs(2)
    }

    fn incremental(self, kind: u8) -> Self {
        let handle = self.byte(kind).long(3).text("backend").int(0).int(2);
        let handle = if kind == 11 { handle.long(7) } else { handle };
        let handle = handle.file().int(1).text("000.sst").file().int(1).text("MANIFEST").segment();
        if kind == 11 { handle.text("id") } else { handle }
    }

    /// Every kind of keyed state that Flink 1.11 to 2.1 write, as one changelog's materialized part.
    fn keyed_state(self) -> Self {
        let handle = self.byte(14).int(0).int(2).long(7).int(7).byte(0);
        let handle = handle.key_groups(3).file().key_groups(7).byte(6).text("x").long(5);
        let handle = handle.key_groups(12).key_groups(3).file().text("id").incremental(5).incremental(11);
        let handle = handle.byte(8).int(0).int(2).long(7).int(0).int(0).long(1).text("id");
        let handle =
            handle.int(3).byte(9).int(0).int(2).long(1).long(2).int(1).int(-1).block(b"change").text("id");
        let handle = handle.byte(10).int(0).int(2).int(1).long(0).file().long(5).long(5).text("id");
        let handle =
            handle.byte(13).int(0).int(2).int(1).long(0).byte(16).long(5).long(5).text("id").text("fs");
        handle.long(1).long(2).text("id")
    }

    fn channels(self, version: i32) -> Self {
        if version < 6 {
            return self.int(1).int(0).int(0).int(0).longs(2).long(5).file();
        }
        let handles = self.int(2).byte(1).int(0).int(0).int(0).longs(2).long(5).file();
        handles.byte(3).int(0).long(5).segment().block(b"offsets")
    }

    /// Those of a checkpoint that Flink took; there are none before version 4.
    pub(crate) fn properties(mut self, version: i32) -> Self {
        if version >= 4 {
            let whole = fs::read(golden("inspect/flink-2.0-paimon-2.0/chk-3/_metadata")).expect("metadata");
            let start = whole.windows(4).rposition(|bytes| bytes == [0xac, 0xed, 0, 5]).expect("properties");
            self.bytes.extend(&whole[start..]);
        }
        self
    }

    /// The state of one writer, and of another operator beside it.
    fn operator_state(self, kind: u8, offsets: &[i64], stream: impl FnOnce(Self) -> Self) -> Self {
        let mut state = self.int(1).byte(kind).int(2).text("other").byte(2).longs(3);
        state = state.text("paimon-writer-coordinator-entries").byte(0).int(offsets.len() as i32);
        state = offsets.iter().fold(state, |state, &offset| state.long(offset));
        stream(if kind == 17 { state.text("a").text("b").byte(0) } else { state })
    }
}

/// A writer's list state: a header that is not compressed, its piece and its entry.
fn writer_state(compressed: u8) -> (Vec<u8>, [i64; 2]) {
    let mut bytes = vec![0, 0, 0, 6, compressed];
    let mut offsets = [0; 2];
    for (offset, name) in offsets.iter_mut().zip(["writer_state_v1_piece.hex", "writer_state_v1_entry.hex"]) {
        let element = hex(name);
        *offset = bytes.len() as i64;
        bytes.extend((element.len() as i32).to_be_bytes());
        bytes.extend(element);
    }
    (bytes, offsets)
}

pub(crate) fn checkpoint(version: i32, compressed: u8) -> Metadata {
    let (state, offsets) = writer_state(compressed);
    let mut metadata = Metadata::new(version).int(1).int(0xc96b_1696_u32 as i32).block(b"master").int(2);
    for _ in 0..2 {
        if version >= 5 {
            metadata = metadata.text("Coordinated Writer : t").text("");
        }
        metadata = metadata.long(1).long(-2).int(4).int(128).inline(b"another coordinator's").int(3).int(-3);
        for index in [0, 1] {
            metadata = metadata.int(index);
            metadata = if index == 0 {
                metadata.operator_state(4, &offsets, |handle| handle.inline(&state))
            } else {
                metadata.operator_state(17, &[], Metadata::segment)
            };
            metadata = metadata.int(0).keyed_state().byte(0).channels(version).channels(version);
        }
    }
    metadata
}

/// One operator, which has these bytes of a coordinator and no writers.
pub(crate) fn with_coordinator(name: &str, parallelism: i32, coordinator: &[u8]) -> Vec<u8> {
    let metadata = Metadata::new(5).int(0).int(1).text(name).text("").long(1).long(2);
    metadata.int(parallelism).int(128).inline(coordinator).int(0).properties(5).bytes
}
