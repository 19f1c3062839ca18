//! From a checkpoint to running: the coordinator's bytes, one restore event of each writer, and what the table says.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::snapshot::{self, State};
use crate::wire::{END_OF_INPUT, Entry, Incarnation, Piece};

use super::Coordinator;
use super::command::Command;
use super::ledger::{Slot, UnitId};
use super::phase::{Phase, Restoring};
use super::watermark::WatermarkAligner;
use super::writer::{Ended, Writer};

impl Coordinator {
    pub(super) fn begin(
        &mut self,
        restored_checkpoint_id: Option<i64>,
        state: Option<Bytes>,
        fresh_commit_user: String,
    ) -> Result<()> {
        let (checkpoint_id, state) = match (restored_checkpoint_id, state) {
            (Some(checkpoint_id), Some(state)) if checkpoint_id >= 0 => (checkpoint_id, state),
            (Some(checkpoint_id), None) if checkpoint_id >= 0 => {
                // All writers had finished before that checkpoint: Flink keeps nothing, and nothing is pending.
                self.restored_through = checkpoint_id;
                self.checkpoint_completed(checkpoint_id);
                self.begin_opening(
                    &format!("from checkpoint {checkpoint_id}, before which all writers had finished"),
                    fresh_commit_user,
                );
                return Ok(());
            }
            (None, None) => {
                self.begin_opening("without state", fresh_commit_user);
                return Ok(());
            }
            (None, Some(state)) if !self.takes_checkpoints() => {
                self.take_over_batch(snapshot::decode(&state)?)?;
                self.begin_opening("with what the last job manager recorded", fresh_commit_user);
                return Ok(());
            }
            (checkpoint_id, state) => {
                return Err(Error::new(
                    ErrorKind::UnexpectedCall,
                    format!(
                        "Reset to checkpoint {checkpoint_id:?} with {} bytes of state; expected a checkpoint, or neither.",
                        state.map_or(0, |state| state.len())
                    ),
                ));
            }
        };
        let state = snapshot::decode(&state)?;
        self.phase = Phase::Restoring(Restoring {
            checkpoint_id,
            parallelism: state.parallelism,
            awaited: (0..self.settings.parallelism).collect(),
            pieces: Default::default(),
            ended: state.ended.iter().map(|&(_, incarnation)| incarnation).collect(),
            final_commit_done: state.final_commit_done,
            fresh_commit_user,
            latest_identifier: None,
        });
        self.take_over(state);
        self.restored_through = checkpoint_id;
        self.checkpoint_completed(checkpoint_id);
        tracing::info!(
            "restoring from checkpoint {checkpoint_id}: waits for the restore events of {} writers and for the latest commit of user {}",
            self.settings.parallelism,
            self.commit_user()
        );
        self.open_committer();
        Ok(())
    }

    fn begin_opening(&mut self, how: &str, fresh_commit_user: String) {
        tracing::info!("starting {how}: waits for the latest commit of user {}", self.commit_user());
        self.phase = Phase::Created { fresh_commit_user };
        self.open_committer();
    }

    /// A start without state is a restore from before the first checkpoint: a job that committed a savepoint and fell
    /// back behind it must not take what it writes now for committed.
    pub(super) fn finish_starting(&mut self, latest: Option<i64>, fresh_commit_user: String) -> Result<()> {
        let restored = self.restored_through;
        let end_is_in_table = latest == Some(END_OF_INPUT);
        if end_is_in_table && !self.takes_checkpoints() && restored < 0 {
            // All of the job's rows: whoever runs once more writes them again.
            self.ledger.take(self.unit_id(END_OF_INPUT));
            self.final_commit_done = true;
        } else if latest.is_some_and(|latest| latest > restored) {
            self.begin_generation(fresh_commit_user, restored, false, end_is_in_table)?;
        }
        self.run(if self.final_commit_done {
            "the final commit is in the table"
        } else {
            "the committer is open"
        });
        Ok(())
    }

    /// What the coordinator of a lost job manager knew of a job without checkpoints. Writers that had finished are not
    /// run again and say nothing; Flink resets all the others after this.
    fn take_over_batch(&mut self, mut state: State) -> Result<()> {
        if state.parallelism != self.settings.parallelism {
            return Err(Error::new(
                ErrorKind::UnexpectedCall,
                format!(
                    "The restored coordinator had {} subtasks; there are {} now.",
                    state.parallelism, self.settings.parallelism
                ),
            ));
        }
        self.final_commit_done = state.final_commit_done;
        let mut owners: BTreeMap<Incarnation, u32> =
            state.ended.iter().map(|&(subtask, incarnation)| (incarnation, subtask)).collect();
        // A commit that was under way may hold what a task wrote that had to run again meanwhile: nobody counts on that.
        state.entries.retain(|stored| owners.contains_key(&stored.entry.incarnation));
        let held: BTreeSet<Incarnation> =
            state.entries.iter().map(|stored| stored.entry.incarnation).collect();
        owners.retain(|incarnation, _| held.contains(incarnation));
        self.take_over(state);
        for (incarnation, subtask) in owners {
            let index = self.writer_index(subtask as i32)?;
            self.writers[index].ended = Some(Ended { after: -1, incarnation });
            self.writers[index].finishing = true;
            self.ledger.assign(subtask, incarnation);
        }
        Ok(())
    }

    /// Flink may take a task for finished whose end it recorded without the coordinator's bytes. It says nothing of such a
    /// task, but it has reset all the others before it deploys the first.
    pub(super) fn check_batch_recovery(&mut self) -> Result<()> {
        // Asked at every event: the answer that is nearly always the same comes first.
        let deploys = || self.writers.iter().any(|writer| writer.attempt.is_some());
        if !self.recovers_batch || !matches!(self.phase, Phase::Running) || !deploys() {
            return Ok(());
        }
        self.recovers_batch = false;
        let is_unknown =
            |writer: &Writer| writer.attempt.is_none() && !writer.was_reset && writer.ended.is_none();
        let unknown: Vec<usize> =
            (0..self.writers.len()).filter(|&subtask| is_unknown(&self.writers[subtask])).collect();
        if self.final_commit_has_begun() || unknown.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::MissingEntry,
            format!(
                "What the lost job manager recorded says that subtasks {unknown:?} had finished, but not what they wrote; the job is computed again."
            ),
        ))
    }

    fn take_over(&mut self, state: State) {
        self.commit_users = state.commit_users.into_iter().collect();
        self.committed_through = state.committed_through;
        self.snapshot_id = state.snapshot_id;
        self.watermark = WatermarkAligner::new(state.watermark);
        self.committed_end_of_input = state.committed_end_of_input.into_iter().collect();
        self.committer_state = state.committer_state;
        for stored in state.entries {
            self.ledger.put(stored.generation, Slot { entry: stored.entry, owner: None, delivery: None });
        }
    }

    pub(super) fn open_committer(&mut self) {
        self.commands.push(Command::OpenCommitter {
            commit_user: self.commit_user().to_owned(),
            restored: matches!(self.phase, Phase::Restoring(_)),
            committer_state: self.committer_state.clone(),
        });
    }

    /// A writer tells what it was given, after a restore of all or of itself alone.
    pub(super) fn writer_restored(
        &mut self,
        index: usize,
        checkpoint_id: i64,
        pieces: Vec<Piece>,
        entries: Vec<Entry>,
    ) -> Result<()> {
        self.ledger.seal(index as u32);
        let ended = self.restored_end(index, &pieces, &entries)?;
        let writer = &mut self.writers[index];
        writer.ended = ended;
        writer.restored_through = writer.restored_through.max(Some(checkpoint_id));
        for entry in entries {
            self.entry_restored(index, entry);
        }
        self.checkpoint_completed(checkpoint_id);
        if let Phase::Restoring(restoring) = &mut self.phase {
            restoring.pieces.insert(index as u32, pieces);
            restoring.awaited.remove(&(index as u32));
            return self.finish_restoring();
        }
        Ok(())
    }

    /// A writer that restored exactly its own ended state has ended. After a rescale only a new end of input counts.
    fn restored_end(&self, index: usize, pieces: &[Piece], entries: &[Entry]) -> Result<Option<Ended>> {
        let [piece] = pieces else {
            return Ok(None);
        };
        let rescaled = i64::from(piece.parallelism) != i64::from(self.settings.parallelism);
        // What a recovery commits, or has committed, belongs to the past: such a writer ends anew.
        let newest = self.generation();
        let recovered = self.end_of_input_is_fixed(piece.incarnation)
            || self
                .ledger
                .generation_of(END_OF_INPUT, piece.incarnation, newest)
                .is_some_and(|generation| generation < newest);
        if rescaled || !piece.ended || recovered {
            return Ok(None);
        }
        let own =
            |entry: &&Entry| entry.checkpoint_id == END_OF_INPUT && entry.incarnation == piece.incarnation;
        let Some(entry) = entries.iter().find(own) else {
            return Err(Error::new(
                ErrorKind::ForeignMessage,
                format!(
                    "Subtask {index} restored the state of an ended writer without its end-of-input entry."
                ),
            ));
        };
        Ok(Some(Ended { after: entry.ended_after, incarnation: piece.incarnation }))
    }

    /// Adds what is not known yet; the key says what is.
    fn entry_restored(&mut self, index: usize, entry: Entry) {
        let Entry { checkpoint_id, incarnation, .. } = entry;
        let newest = self.generation();
        let held = self.ledger.generation_of(checkpoint_id, incarnation, newest);
        let known =
            held.and_then(|generation| self.ledger.slot(UnitId { generation, checkpoint_id }, incarnation));
        // The coordinator's copy knows of an abort that the writer was not told of.
        let savepoint = entry.savepoint && known.is_none_or(|slot| slot.entry.savepoint);
        let entry = Entry { savepoint, ..entry };
        let in_table = if checkpoint_id == END_OF_INPUT {
            self.end_of_input_is_fixed(incarnation)
        } else {
            checkpoint_id <= self.committed_through || self.is_in_flight(checkpoint_id, incarnation)
        };
        if held.is_some() || !in_table {
            let owner = Some(index as u32);
            self.ledger.put(held.unwrap_or(newest), Slot { entry, owner, delivery: None });
        }
    }

    /// Goes on once everybody has restored and the table has been asked.
    pub(super) fn finish_restoring(&mut self) -> Result<()> {
        let Phase::Restoring(restoring) = &self.phase else {
            return Ok(());
        };
        let Some(latest) = restoring.latest_identifier.filter(|_| restoring.awaited.is_empty()) else {
            return Ok(());
        };
        let restored = restoring.checkpoint_id;
        self.check_snapshots_are_there(restored, latest)?;
        let all_had_ended = restoring.all_had_ended();
        let end_is_in_table = latest == Some(END_OF_INPUT);
        let fresh =
            all_had_ended || restoring.final_commit_done || latest.is_some_and(|latest| latest > restored);
        if fresh {
            let commit_user = restoring.fresh_commit_user.clone();
            self.begin_generation(commit_user, restored, all_had_ended, end_is_in_table)?;
        }
        let units = self.ledger.units().count();
        let end =
            if all_had_ended { "; every writer had ended, so the final commit is recovered" } else { "" };
        self.run(&format!("restored from checkpoint {restored} with {units} commits to look at{end}"));
        Ok(())
    }

    /// Goes on under a commit user of its own, because the table already holds later identifiers of the old one: Paimon
    /// would take new commits for done.
    fn begin_generation(
        &mut self,
        commit_user: String,
        restored: i64,
        all_had_ended: bool,
        end_is_in_table: bool,
    ) -> Result<()> {
        let old = self.generation();
        let new = old.checked_add(1).ok_or_else(|| {
            let found = format!("Checkpoint {restored} says that it comes after {old} other commit users.");
            Error::new(ErrorKind::CorruptState, found)
        })?;
        let before = |entry: &Entry| entry.ended_after < restored;
        if all_had_ended {
            self.ledger.move_end_of_input(old, new, |entry| !before(entry));
        } else {
            self.ledger.move_end_of_input(old, new, |entry| !(end_is_in_table && before(entry)));
            let in_table = self.ledger.take(UnitId { generation: old, checkpoint_id: END_OF_INPUT });
            self.committed_end_of_input.extend(in_table.into_keys());
        }
        if all_had_ended || end_is_in_table {
            for writer in &mut self.writers {
                writer.ended = writer.ended.filter(|ended| ended.after >= restored);
            }
        }
        if !all_had_ended {
            tracing::warn!(
                "the table holds commits of this job from after checkpoint {restored}, where it goes on now: what its sources sent since then is written again, under commit user {commit_user}"
            );
        }
        self.commit_users.insert(new, commit_user);
        self.snapshot_id = -1;
        self.final_commit_done = false;
        Ok(())
    }

    /// Without the snapshots that followed, nobody can tell what of the restored entries is in the table.
    fn check_snapshots_are_there(&self, restored: i64, latest: Option<i64>) -> Result<()> {
        let generation = self.generation();
        let pending = self.ledger.units().any(|(id, unit)| {
            id.generation == generation && unit.values().any(|slot| slot.entry.committable_count > 0)
        });
        if latest.is_some() || self.snapshot_id < 0 || !pending {
            return Ok(());
        }
        let commit_user = self.commit_user();
        Err(Error::new(
            ErrorKind::SnapshotsExpired,
            format!(
                "Checkpoint {restored} holds uncommitted files of commit user {commit_user}, whose snapshot {} is no longer in the table: nobody can tell which of them were committed afterwards. Restore from a newer checkpoint, or compare the files with the table: docs/operations.md says how, and how to go on.",
                self.snapshot_id
            ),
        ))
    }
}
