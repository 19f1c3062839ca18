//! What a coordinator shows of itself: what waits, for what, and how far it has come.

use super::Coordinator;
use super::ledger::{Size, Unit};
use super::phase::Phase;

/// Numbers for whoever watches the job. They are kept up to date, not looked for: asking for them costs next to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// 0 starts, 1 restores, 2 runs, 3 is closed.
    pub phase: i64,
    /// The newest checkpoint that is known to have completed, -1 for none.
    pub last_completed_checkpoint: i64,
    /// Every checkpoint up to this one is in the table, -1 for none. The final commit is of no checkpoint.
    pub last_committed_checkpoint: i64,
    /// Entries that are not known to be in the table, those of the commit under way among them.
    pub pending_entries: u64,
    /// Bytes of the committables in those entries.
    pub pending_bytes: u64,
    /// Commits that wait or are under way, of checkpoints that have completed.
    pub due_commits: u64,
    /// Checkpoints that are held back.
    pub held_checkpoints: u64,
    /// Writers for whose restore event, or whose entry of a completed checkpoint, everything else waits.
    pub awaited_writers: u64,
    /// Events dropped since the start or reset, because they came from an attempt that is over.
    pub stale_events: u64,
}

impl Coordinator {
    /// See [`Status`].
    pub fn status(&self) -> Status {
        let (phase, awaited) = match &self.phase {
            Phase::Created { .. } => (0, 0),
            Phase::Restoring(restoring) => (1, restoring.awaited.len()),
            Phase::Running => (2, self.late_writers),
            Phase::Closed { .. } => (3, 0),
        };
        let waiting = self.ledger.size();
        let flying = self.in_flight.as_ref().map_or(Size::default(), |flying| flying.size);
        Status {
            phase,
            last_completed_checkpoint: self.completed_through,
            last_committed_checkpoint: self.committed_through.max(-1),
            pending_entries: waiting.entries + flying.entries,
            pending_bytes: waiting.bytes + flying.bytes,
            due_commits: self.due_commits() as u64,
            held_checkpoints: self.held_checkpoints.len() as u64,
            awaited_writers: awaited as u64,
            stale_events: self.stale_events,
        }
    }

    /// The sizes that are kept up to date are what counting them would find. Every run of the tests asks after each event.
    pub(super) fn sizes_are_right(&self) -> bool {
        let counted = |units: &mut dyn Iterator<Item = &Unit>| {
            let mut size = Size::default();
            units.flat_map(Unit::values).for_each(|slot| size.add(slot));
            size
        };
        self.ledger.size() == counted(&mut self.ledger.units().map(|(_, unit)| unit))
            && self.in_flight.iter().all(|flying| flying.size == counted(&mut flying.units.values()))
    }
}
