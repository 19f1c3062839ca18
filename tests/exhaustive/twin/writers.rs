//! Who is there, and whose input has ended.

use super::Twin;
use crate::rows::Piece;
use crate::told::{Attempt, Told};

impl<'a> Twin<'a> {
    /// Whether messages of this attempt count: it is the newest, and neither failed nor was reset (s22).
    pub(super) fn listens_to(self, from: Attempt) -> bool {
        self.newest_attempt(from.subtask) == Some((from.attempt, true))
    }

    /// The newest attempt that Flink announced, and whether it is still there.
    pub(super) fn newest_attempt(self, subtask: usize) -> Option<(i32, bool)> {
        let mut newest: Option<(i32, bool)> = None;
        for step in self.steps {
            match step.told {
                Told::Ready(ready)
                    if ready.subtask == subtask
                        && newest.is_none_or(|(attempt, _)| ready.attempt >= attempt) =>
                {
                    newest = Some((ready.attempt, true));
                }
                Told::Failed(failed) if failed.subtask == subtask => {
                    newest = newest.map(|(attempt, there)| (attempt, there && attempt != failed.attempt));
                }
                Told::Reset { subtask: reset, .. } if reset == subtask => {
                    newest = newest.map(|(attempt, _)| (attempt, false));
                }
                _ => {}
            }
        }
        newest
    }

    /// Whether this subtask has an attempt that may send.
    pub(super) fn is_there(self, subtask: usize) -> bool {
        self.newest_attempt(subtask).is_some_and(|(_, there)| there)
    }

    /// What this subtask's writer was given when it was last restored, once it has said so (s26).
    pub(super) fn pieces(self, subtask: usize) -> Option<&'a [Piece]> {
        let mut told = None;
        for step in self.steps {
            match &step.told {
                Told::Restore { from, pieces, .. } if from.subtask == subtask && step.counts => {
                    told = Some(pieces.as_slice());
                }
                Told::Reset { subtask: reset, .. } if *reset == subtask => told = None,
                _ => {}
            }
        }
        told
    }

    /// The newest checkpoint from which this subtask was restored and told what it was given.
    pub(super) fn restored_through(self, subtask: usize) -> Option<i64> {
        let restored = self.steps.iter().filter_map(|step| match &step.told {
            Told::Restore { from, checkpoint, .. } if from.subtask == subtask && step.counts => {
                Some(*checkpoint)
            }
            _ => None,
        });
        restored.max()
    }

    /// After which checkpoint this subtask's input ended, and which writer said so; none while it goes on.
    ///
    /// Its current attempt must have said so itself, or must have restored exactly its own ended state.
    pub(super) fn ended(self, subtask: usize) -> Option<(i64, u128)> {
        let mut ended = None;
        for (at, step) in self.steps.iter().enumerate() {
            match &step.told {
                Told::Report { from, entry } if from.subtask == subtask && step.counts => {
                    if entry.is_end() {
                        ended = Some((entry.ended_after, entry.writer));
                    } else {
                        // A writer that makes an entry for a checkpoint goes on, whatever it restored.
                        ended = ended.filter(|&(_, writer)| writer == entry.writer);
                    }
                }
                Told::Restore { from, pieces, entries, .. } if from.subtask == subtask && step.counts => {
                    ended = self.before(at).restored_end(pieces).and_then(|writer| {
                        let own = entries.iter().find(|entry| entry.is_end() && entry.writer == writer);
                        own.map(|entry| (entry.ended_after, writer))
                    });
                }
                Told::Reset { subtask: reset, checkpoint } if *reset == subtask => {
                    ended = ended.filter(|&(after, _)| after < *checkpoint);
                }
                _ => {}
            }
        }
        // Once an end of input has been recovered, what the old commit user holds of it is closed: whether there is
        // nothing more is known only when the writers end again.
        match self.switch() {
            Some(switch) if switch.all_had_ended || switch.end_is_in_table => {
                ended.filter(|&(after, _)| after >= switch.restored)
            }
            _ => ended,
        }
    }

    /// The writer whose ended state this is, if it is one writer's own, at this parallelism, and not being committed (h06).
    fn restored_end(self, pieces: &[Piece]) -> Option<u128> {
        let [piece] = pieces else {
            return None;
        };
        let own = piece.ended && piece.parallelism == self.parallelism();
        (own && !self.end_is_fixed(piece.writer)).then_some(piece.writer)
    }
}
