//! The data of the small world: rows of lanes, and the entries that carry them.
//!
//! A lane is one partition of the source. It numbers its rows, so that a row which is in the table twice, or never, can be
//! named. Whoever is restored reads on where its snapshot had stopped, and writes the same rows again.

use bytes::Bytes;
use paimon_writer_coordinator::wire::{END_OF_INPUT, Entry, Incarnation};

/// One row. The branch counts how often a user went back to an old checkpoint: what follows differs from what was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    pub branch: u8,
    pub lane: u8,
    pub number: u8,
}

/// What was read of one partition of the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    pub lane: u8,
    pub read: Vec<Row>,
    /// Bounded, and read to its end.
    pub exhausted: bool,
}

impl Lane {
    pub fn new(lane: u8) -> Self {
        Self { lane, read: Vec::new(), exhausted: false }
    }

    /// Reads the next row, if there is one.
    pub fn read(&mut self, branch: u8) -> Option<Row> {
        let row = Row { branch, lane: self.lane, number: self.read.len() as u8 };
        (!self.exhausted).then(|| {
            self.read.push(row);
            row
        })
    }
}

/// An entry as both worlds see it: what [`Entry`] holds, with rows for a payload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Written {
    pub checkpoint: i64,
    pub writer: u128,
    pub ended_after: i64,
    pub watermark: i64,
    pub savepoint: bool,
    pub rows: Vec<Row>,
}

impl Written {
    pub fn is_end(&self) -> bool {
        self.checkpoint == END_OF_INPUT
    }

    pub fn key(&self) -> (u128, i64) {
        (self.writer, self.checkpoint)
    }

    /// Whether a writer that is reset to this checkpoint has not written it yet.
    pub fn is_after(&self, checkpoint: i64) -> bool {
        if self.is_end() { self.ended_after >= checkpoint } else { self.checkpoint > checkpoint }
    }

    pub fn encode(&self) -> Entry {
        let text = |row: &Row| format!("{}.{}.{}", row.branch, row.lane, row.number);
        let files = self.rows.iter().map(text).collect::<Vec<_>>().join(" ");
        Entry {
            ended_after: self.ended_after,
            watermark: self.watermark,
            savepoint: self.savepoint,
            ..crate::support::entry(self.writer, self.checkpoint, &files)
        }
    }

    pub fn decode(entry: &Entry) -> Self {
        Self {
            checkpoint: entry.checkpoint_id,
            writer: entry.incarnation.0,
            ended_after: entry.ended_after,
            watermark: entry.watermark,
            savepoint: entry.savepoint,
            rows: decode_rows(&entry.payload),
        }
    }
}

fn decode_rows(payload: &Bytes) -> Vec<Row> {
    let text = std::str::from_utf8(payload).expect("a payload of this world");
    let row = |word: &str| {
        let numbers: Vec<u8> = word.split('.').map(|part| part.parse().expect("a number")).collect();
        Row { branch: numbers[0], lane: numbers[1], number: numbers[2] }
    };
    text.split_whitespace().map(row).collect()
}

/// Part of a writer's state: see [`paimon_writer_coordinator::wire::Piece`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    pub writer: u128,
    pub parallelism: usize,
    pub ended: bool,
}

impl Piece {
    pub fn encode(&self) -> paimon_writer_coordinator::wire::Piece {
        paimon_writer_coordinator::wire::Piece {
            incarnation: Incarnation(self.writer),
            parallelism: self.parallelism as i32,
            ended: self.ended,
        }
    }
}
