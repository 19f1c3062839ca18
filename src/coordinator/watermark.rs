//! Aligns the writers' watermarks of one checkpoint into one that never goes back, as Flink's own input alignment does.

use std::collections::BTreeSet;

/// One writer's watermark at one barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// The subtask.
    pub(super) subtask: u32,
    /// Its watermark, `i64::MIN` if it had none.
    pub(super) watermark: i64,
    /// Whether its input was idle.
    pub(super) idle: bool,
}

/// The aligned watermark and what alignment needs to remember between two checkpoints.
#[derive(Debug, Clone)]
pub(super) struct WatermarkAligner {
    aligned: i64,
    lagging: BTreeSet<u32>,
    all_idle: bool,
}

impl WatermarkAligner {
    /// Continues from a watermark that was already written to the table, `i64::MIN` for none.
    pub(super) fn new(aligned: i64) -> Self {
        Self { aligned, lagging: BTreeSet::new(), all_idle: false }
    }

    /// The last aligned watermark.
    pub(super) fn aligned(&self) -> i64 {
        self.aligned
    }

    /// Takes the readings of one checkpoint, in checkpoint order, and returns the aligned watermark.
    ///
    /// A writer that was idle takes part again once it has caught up. When nobody takes part, the highest watermark
    /// seen counts, once.
    pub(super) fn align(&mut self, readings: &[Reading]) -> i64 {
        let mut lowest = None;
        for reading in readings {
            if reading.idle {
                self.lagging.insert(reading.subtask);
                continue;
            }
            if self.lagging.contains(&reading.subtask) {
                if reading.watermark < self.aligned {
                    continue;
                }
                self.lagging.remove(&reading.subtask);
            }
            lowest = Some(lowest.map_or(reading.watermark, |low: i64| low.min(reading.watermark)));
        }
        let candidate = match lowest {
            Some(lowest) => {
                self.all_idle = false;
                Some(lowest)
            }
            None if self.all_idle => None,
            None => {
                self.all_idle = !readings.is_empty();
                readings.iter().map(|reading| reading.watermark).max()
            }
        };
        self.aligned = candidate.map_or(self.aligned, |watermark| watermark.max(self.aligned));
        self.aligned
    }
}
