//! Writers come and go, and report: whose report counts, and where it goes.

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::wire::{self, END_OF_INPUT, Entry, Incarnation, WriterMessage};

use super::Coordinator;
use super::ledger::Slot;
use super::phase::Phase;
use super::writer::Ended;

impl Coordinator {
    pub(super) fn attempt_ready(&mut self, subtask: i32, attempt: i32) -> Result<()> {
        let index = self.writer_index(subtask)?;
        // Without checkpoints Flink may run several attempts at once, to use the one that is first.
        let beside_others = !self.takes_checkpoints();
        if self.writers[index].attempt_ready(attempt, beside_others) {
            self.reject_requests_of_the_gone(index);
            // The bound on a missing entry starts anew with the attempt that can bring it.
            self.late_entry_timer = false;
        }
        Ok(())
    }

    pub(super) fn attempt_failed(&mut self, subtask: i32, attempt: i32) -> Result<()> {
        let index = self.writer_index(subtask)?;
        self.writers[index].attempt_over(attempt);
        self.reject_requests_of_the_gone(index);
        Ok(())
    }

    pub(super) fn subtask_reset(&mut self, subtask: i32, checkpoint_id: i64) -> Result<()> {
        let index = self.writer_index(subtask)?;
        let subtask = index as u32;
        self.ledger.reset_subtask(subtask, checkpoint_id);
        self.writers[index].reset(checkpoint_id);
        self.reject_requests_of_the_gone(index);
        if let Phase::Restoring(restoring) = &mut self.phase {
            restoring.pieces.remove(&subtask);
            restoring.awaited.insert(subtask);
        }
        if checkpoint_id >= 0 {
            self.checkpoint_completed(checkpoint_id);
        }
        Ok(())
    }

    pub(super) fn writer_event(&mut self, subtask: i32, attempt: i32, bytes: Bytes) -> Result<()> {
        let index = self.writer_index(subtask)?;
        let from = |error: Error| {
            let sender =
                format!("subtask {subtask} (attempt {attempt}) sent an event that is not one of ours");
            Error::new(error.kind, format!("{sender}: {}", error.message))
        };
        let chunk = wire::decode_chunk(bytes).map_err(from)?;
        let header = chunk.header;
        if !self.writers[index].listens_to(attempt) || header.attempt != attempt {
            self.stale_events += 1;
            // One line for each attempt: its entry may come in many events, and many writers may have been lost at once.
            if self.writers[index].stale_attempt < Some(attempt) {
                self.writers[index].stale_attempt = Some(attempt);
                let checkpoint_id = header.checkpoint_id;
                tracing::info!(
                    "dropped an event for checkpoint {checkpoint_id} of subtask {subtask}, attempt {attempt}, which is over; more of that attempt are only counted"
                );
            }
            return Ok(());
        }
        let Some(body) = self.writers[index].receive(attempt, chunk).map_err(from)? else {
            return Ok(());
        };
        match wire::decode_message(&header, body).map_err(from)? {
            WriterMessage::Entry(entry) => {
                let delivery = Some(header.delivery);
                let owner = Some(index as u32);
                self.entry_reported(index, Slot { entry, owner, delivery })
            }
            WriterMessage::Restore { pieces, entries } => {
                self.writer_restored(index, header.checkpoint_id, pieces, entries)
            }
        }
    }

    /// A live entry of the current attempt.
    fn entry_reported(&mut self, index: usize, slot: Slot) -> Result<()> {
        let Entry { checkpoint_id, incarnation, ended_after, .. } = slot.entry;
        let superfluous = checkpoint_id == END_OF_INPUT && self.is_superfluous(index, incarnation);
        let writer = &mut self.writers[index];
        if superfluous {
            writer.dismissed = slot.delivery;
            return Ok(());
        }
        if checkpoint_id == END_OF_INPUT {
            writer.ended = Some(Ended { after: ended_after, incarnation });
            if self.end_of_input_is_fixed(incarnation) {
                return Ok(());
            }
        } else {
            if writer.ended.is_some_and(|ended| ended.incarnation != incarnation) {
                // The restored writer goes on: what it restored stays, sealed, until the final commit.
                writer.ended = None;
                self.ledger.seal(index as u32);
            }
            if self.is_in_flight(checkpoint_id, incarnation) {
                return Ok(());
            }
            if checkpoint_id <= self.committed_through {
                return self.entry_too_late(index, &slot.entry);
            }
        }
        if self.final_commit_has_begun()
            && (slot.entry.committable_count > 0 || checkpoint_id == END_OF_INPUT)
        {
            self.writers[index].dismissed = slot.delivery;
            return self.entry_after_final_commit(index, &slot.entry);
        }
        self.ledger.put(self.generation(), slot);
        Ok(())
    }

    /// Without checkpoints whoever reports an end has written all rows of its subtask, so one such report is enough: the
    /// one that the final commit holds, or the first of several attempts that run at once.
    fn is_superfluous(&self, index: usize, incarnation: Incarnation) -> bool {
        let other = |ended: Ended| ended.incarnation != incarnation;
        !self.takes_checkpoints()
            && !self.end_of_input_is_fixed(incarnation)
            && (self.final_commit_has_begun() || self.writers[index].ended.is_some_and(other))
    }

    /// After the final commit a writer that runs again has nothing new, unless its source goes on, as after a drain that was
    /// given up.
    fn entry_after_final_commit(&self, index: usize, entry: &Entry) -> Result<()> {
        if entry.committable_count == 0 || !self.takes_checkpoints() {
            return Ok(());
        }
        let until = match entry.checkpoint_id {
            END_OF_INPUT => "the end of its input".to_owned(),
            checkpoint_id => format!("checkpoint {checkpoint_id}"),
        };
        let message = format!(
            "Subtask {index} wrote files up to {until} after the final commit; a restart commits them under a commit user of their own."
        );
        Err(Error::new(ErrorKind::UnexpectedCall, message))
    }

    fn entry_too_late(&self, index: usize, entry: &Entry) -> Result<()> {
        let repeated = self.writers[index].committed.is_some_and(|(incarnation, checkpoint_id)| {
            incarnation == entry.incarnation && entry.checkpoint_id <= checkpoint_id
        });
        if repeated || entry.committable_count == 0 {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::MissingEntry,
            format!(
                "The entry of subtask {index} for checkpoint {} came after that checkpoint had been committed without it; a restart commits it from the writer's state.",
                entry.checkpoint_id
            ),
        ))
    }
}
