//! Every entry that is not known to be in the table: commit user and checkpoint → writer → entry.

use std::collections::BTreeMap;

use crate::wire::{Delivery, END_OF_INPUT, Entry, Incarnation};

/// Counts the commit users of one job. Identifiers ascend within one; a fresh one begins where they could not.
pub(crate) type Generation = u32;

/// Orders commits: all of an older commit user come first, its end of input last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnitId {
    /// The commit user.
    pub(crate) generation: Generation,
    /// The checkpoint, or [`END_OF_INPUT`].
    pub(crate) checkpoint_id: i64,
}

/// An entry and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// The entry.
    pub(crate) entry: Entry,
    /// The subtask whose current state holds it; a sealed entry has none.
    pub(crate) owner: Option<u32>,
    /// How it was reported, if it came in an event of its own.
    pub(crate) delivery: Option<Delivery>,
}

/// The entries of one unit by the writer that prepared them.
pub(crate) type Unit = BTreeMap<Incarnation, Slot>;

/// How many entries, and the bytes of their committables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl Size {
    pub(crate) fn without(self, rest: Self) -> Self {
        Self { entries: self.entries - rest.entries, bytes: self.bytes - rest.bytes }
    }

    pub(crate) fn add(&mut self, slot: &Slot) {
        self.entries += 1;
        self.bytes += slot.entry.payload.len() as u64;
    }

    fn subtract(&mut self, slot: &Slot) {
        self.entries -= 1;
        self.bytes -= slot.entry.payload.len() as u64;
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    units: BTreeMap<UnitId, Unit>,
    /// Of all units.
    size: Size,
}

impl Ledger {
    /// The unit that must be committed before all others.
    pub(crate) fn first(&self) -> Option<UnitId> {
        self.units.keys().next().copied()
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn units(&self) -> impl Iterator<Item = (&UnitId, &Unit)> {
        self.units.iter()
    }

    pub(crate) fn unit(&self, id: UnitId) -> Option<&Unit> {
        self.units.get(&id)
    }

    /// Adds an entry, or replaces the one with the same key.
    pub(crate) fn put(&mut self, generation: Generation, slot: Slot) {
        let checkpoint_id = slot.entry.checkpoint_id;
        let unit = self.units.entry(UnitId { generation, checkpoint_id }).or_default();
        self.size.add(&slot);
        if let Some(replaced) = unit.insert(slot.entry.incarnation, slot) {
            self.size.subtract(&replaced);
        }
    }

    /// The commit user under which an entry with this key is held.
    pub(crate) fn generation_of(
        &self,
        checkpoint_id: i64,
        incarnation: Incarnation,
        newest: Generation,
    ) -> Option<Generation> {
        // By what is held, not by counting: damaged checkpoint bytes may name any generation.
        let is_it = |&(id, unit): &(&UnitId, &Unit)| {
            id.checkpoint_id == checkpoint_id && id.generation <= newest && unit.contains_key(&incarnation)
        };
        self.units.iter().rev().find(is_it).map(|(id, _)| id.generation)
    }

    pub(crate) fn slot(&self, id: UnitId, incarnation: Incarnation) -> Option<&Slot> {
        self.units.get(&id)?.get(&incarnation)
    }

    /// Takes a whole unit out.
    pub(crate) fn take(&mut self, id: UnitId) -> Unit {
        let taken = self.units.remove(&id).unwrap_or_default();
        taken.values().for_each(|slot| self.size.subtract(slot));
        taken
    }

    /// Takes out all units of a commit user, by checkpoint.
    pub(crate) fn take_generation(&mut self, generation: Generation) -> BTreeMap<i64, Unit> {
        let (taken, others): (BTreeMap<_, _>, _) =
            std::mem::take(&mut self.units).into_iter().partition(|(id, _)| id.generation == generation);
        self.units = others;
        taken.values().flat_map(Unit::values).for_each(|slot| self.size.subtract(slot));
        taken.into_iter().map(|(id, unit)| (id.checkpoint_id, unit)).collect()
    }

    /// Drops what a subtask reported after the checkpoint that it is reset to. An end of input that this checkpoint
    /// holds stays. What is left of a savepoint is data, but not that savepoint any more.
    pub(crate) fn reset_subtask(&mut self, subtask: u32, checkpoint_id: i64) {
        self.units.retain(|_, unit| {
            let before = unit.len();
            unit.retain(|_, slot| {
                let stays = slot.owner != Some(subtask) || !is_after(&slot.entry, checkpoint_id);
                if !stays {
                    self.size.subtract(slot);
                }
                stays
            });
            if unit.len() < before {
                unit.values_mut().for_each(|slot| slot.entry.savepoint = false);
            }
            !unit.is_empty()
        });
    }

    /// Moves end-of-input entries to another commit user.
    pub(crate) fn move_end_of_input(
        &mut self,
        from: Generation,
        to: Generation,
        moves: impl Fn(&Entry) -> bool,
    ) {
        let unit = self.take(UnitId { generation: from, checkpoint_id: END_OF_INPUT });
        for slot in unit.into_values() {
            let generation = if moves(&slot.entry) { to } else { from };
            self.put(generation, slot);
        }
    }

    /// Makes a subtask the owner of what a writer prepared.
    pub(crate) fn assign(&mut self, subtask: u32, incarnation: Incarnation) {
        for slot in self.units.values_mut().filter_map(|unit| unit.get_mut(&incarnation)) {
            slot.owner = Some(subtask);
        }
    }

    /// Lets go of a subtask's end-of-input entries: they are sealed, and belong to no attempt from here on.
    pub(crate) fn seal(&mut self, subtask: u32) {
        for (_, unit) in self.units.iter_mut().filter(|(id, _)| id.checkpoint_id == END_OF_INPUT) {
            for slot in unit.values_mut().filter(|slot| slot.owner == Some(subtask)) {
                slot.owner = None;
            }
        }
    }

    /// How many units come at or before this one.
    pub(crate) fn count_through(&self, last: UnitId) -> usize {
        self.units.range(..=last).count()
    }
}

fn is_after(entry: &Entry, checkpoint_id: i64) -> bool {
    if entry.checkpoint_id == END_OF_INPUT {
        entry.ended_after >= checkpoint_id
    } else {
        entry.checkpoint_id > checkpoint_id
    }
}
