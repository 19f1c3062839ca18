//! Brings together what the coordinator and its writers hold; an entry that both have is one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bytes::Bytes;

use crate::error::Result;
use crate::snapshot::{self, State};
use crate::wire::{END_OF_INPUT, Entry, Incarnation, Piece, StateElement, decode_state_element};

use super::handles::WriterHandle;
use super::metadata::{Metadata, Operator};
use super::reader::corrupt;
use super::report::{
    Amount, CommitUser, CoordinatorState, EndedSubtask, EntryState, FORMAT, OperatorName, Report, Sink, Unit,
    WriterState,
};
use super::{committables, hints, storage};

/// From this version on the header of an operator state says whether the rest is compressed.
const STATE_VERSION_WITH_COMPRESSION: i32 = 6;

/// A checkpoint or savepoint.
pub(super) fn of_metadata(
    metadata: Metadata,
    length: usize,
    directory: &Path,
    path: String,
    files: bool,
) -> Report {
    let (mut sinks, mut other_operators, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let savepoint = metadata.savepoint.unwrap_or_else(|error| {
        problems.push(format!("what is behind the operators: {error}; the file is not as Flink wrote it"));
        None
    });
    for operator in metadata.operators {
        let coordinator = operator.coordinator_state.clone().filter(|bytes| bytes.starts_with(b"PWCS"));
        let name = operator_name(&operator);
        if coordinator.is_none() && operator.writers.is_empty() {
            other_operators.push(name);
            continue;
        }
        let mut found = Found::default();
        if let Some(bytes) = coordinator {
            found.add_coordinator(bytes).unwrap_or_else(|error| found.problems.push(error.message));
        }
        for (index, handle) in &operator.writers {
            found.add_writer(*index as u32, handle, directory);
        }
        found.finished = operator.finished.iter().map(|&index| index as u32).collect();
        problems.extend(found.problems.drain(..).map(|problem| format!("{}: {problem}", name.label())));
        sinks.push(found.into_sink(name, files, &mut problems));
    }
    Report {
        format: FORMAT,
        path,
        kind: savepoint.map(|savepoint| if savepoint { "savepoint" } else { "checkpoint" }),
        length,
        metadata_version: Some(metadata.version),
        checkpoint_id: Some(metadata.checkpoint_id),
        hints: hints::of_all(&sinks),
        sinks,
        other_operators,
        problems,
    }
}

/// A coordinator's bytes without anything around them.
pub(super) fn of_coordinator(bytes: Bytes, path: String, files: bool) -> Result<Report> {
    let length = bytes.len();
    let (mut found, mut problems) = (Found::default(), Vec::new());
    found.add_coordinator(bytes)?;
    let parallelism = found.coordinator.as_ref().map_or(0, |(state, _)| state.parallelism);
    let name = OperatorName { parallelism, ..OperatorName::default() };
    let sinks = vec![found.into_sink(name, files, &mut problems)];
    Ok(Report {
        format: FORMAT,
        path,
        kind: Some("coordinator"),
        length,
        metadata_version: None,
        checkpoint_id: None,
        sinks,
        other_operators: Vec::new(),
        problems,
        hints: Vec::new(),
    })
}

fn operator_name(operator: &Operator) -> OperatorName {
    OperatorName {
        id: Some(operator.id.clone()),
        name: operator.name.clone(),
        uid: operator.uid.clone(),
        parallelism: u32::try_from(operator.parallelism).unwrap_or(0),
        max_parallelism: Some(operator.max_parallelism),
        fully_finished: operator.fully_finished,
    }
}

struct Held {
    entry: Entry,
    generation: Option<u32>,
    in_writers: Vec<u32>,
}

#[derive(Default)]
struct Found {
    coordinator: Option<(State, usize)>,
    entries: BTreeMap<(i64, Incarnation), Held>,
    /// The incarnation of each writer whose state could be read.
    pieces: BTreeMap<u32, Piece>,
    writers: Vec<WriterState>,
    finished: BTreeSet<u32>,
    problems: Vec<String>,
}

impl Found {
    fn add_coordinator(&mut self, bytes: Bytes) -> Result<()> {
        let length = bytes.len();
        let mut state = snapshot::decode(&bytes)
            .map_err(|error| corrupt(format!("the coordinator's state cannot be read: {error}")))?;
        for stored in std::mem::take(&mut state.entries) {
            let key = (stored.entry.checkpoint_id, stored.entry.incarnation);
            let held =
                Held { entry: stored.entry, generation: Some(stored.generation), in_writers: Vec::new() };
            self.entries.insert(key, held);
        }
        self.coordinator = Some((state, length));
        Ok(())
    }

    fn add_writer(&mut self, subtask: u32, handle: &WriterHandle, directory: &Path) {
        let mut writer =
            WriterState { subtask, status: "running", incarnation: None, length: None, entries: 0 };
        match read_writer(handle, directory, &mut writer.length) {
            Ok(elements) => {
                for element in elements {
                    self.add_element(&mut writer, element);
                }
            }
            Err(error) => {
                writer.status = "unreadable";
                self.problems.push(format!("the state of writer {subtask} cannot be read: {error}"));
            }
        }
        self.writers.push(writer);
    }

    fn add_element(&mut self, writer: &mut WriterState, element: StateElement) {
        match element {
            StateElement::Piece(piece) => {
                writer.status = if piece.ended { "ended" } else { "running" };
                writer.incarnation = Some(format!("{:?}", piece.incarnation));
                self.pieces.insert(writer.subtask, piece);
            }
            StateElement::Entry(entry) => {
                writer.entries += 1;
                let key = (entry.checkpoint_id, entry.incarnation);
                let held = self.entries.entry(key).or_insert(Held {
                    entry,
                    generation: None,
                    in_writers: Vec::new(),
                });
                held.in_writers.push(writer.subtask);
            }
        }
    }

    fn into_sink(mut self, operator: OperatorName, files: bool, problems: &mut Vec<String>) -> Sink {
        let state = self.coordinator.take();
        let ended = state.iter().flat_map(|(state, _)| &state.ended).copied();
        let mut subtasks: BTreeMap<Incarnation, u32> =
            ended.map(|(subtask, incarnation)| (incarnation, subtask)).collect();
        subtasks.extend(self.pieces.iter().map(|(&subtask, piece)| (piece.incarnation, subtask)));
        self.add_finished_writers();
        let mut missing_writers = Vec::new();
        // A coordinator's bytes alone come without any writers.
        if let Some((state, _)) = state.as_ref().filter(|_| operator.id.is_some()) {
            missing_writers = self.missing_writers(operator.parallelism);
            if state.parallelism != operator.parallelism {
                problems.push(format!(
                    "{}: the operator's parallelism is {}, but {} in its coordinator's state",
                    operator.label(),
                    operator.parallelism,
                    state.parallelism
                ));
            }
        }

        let newest = state.as_ref().and_then(|(state, _)| Some(state.commit_users.last()?.0));
        let mut units: BTreeMap<(Option<u32>, i64, bool), Vec<EntryState>> = BTreeMap::new();
        for ((checkpoint_id, incarnation), held) in std::mem::take(&mut self.entries) {
            let generation = held.generation.or(newest);
            // What the coordinator holds is not known to be in the table, whatever its checkpoint.
            let in_table = held.generation.is_none()
                && state.as_ref().is_some_and(|(state, _)| {
                    if checkpoint_id == END_OF_INPUT {
                        state.committed_end_of_input.contains(&incarnation)
                    } else {
                        checkpoint_id <= state.committed_through
                    }
                });
            let entry = entry_state(held, subtasks.get(&incarnation).copied(), files);
            if let Some(cause) = &entry.unreadable {
                problems.push(format!(
                    "the payload of {} bytes of {} by {} cannot be read: {cause}",
                    entry.payload_length,
                    hints::checkpoint((checkpoint_id != END_OF_INPUT).then_some(checkpoint_id)),
                    entry.incarnation
                ));
            }
            units.entry((generation, checkpoint_id, in_table)).or_default().push(entry);
        }
        let commit_users: Vec<CommitUser> = state
            .iter()
            .flat_map(|(state, _)| &state.commit_users)
            .map(|(generation, user)| CommitUser { generation: *generation, commit_user: user.clone() })
            .collect();
        let units: Vec<Unit> = units
            .into_iter()
            .map(|((generation, checkpoint_id, in_table), entries)| {
                let user = commit_users.iter().find(|user| Some(user.generation) == generation);
                self.unit(generation, user, checkpoint_id, in_table, entries)
            })
            .collect();
        let waiting = Amount::of(units.iter().filter(|unit| !unit.in_table).flat_map(|unit| &unit.entries));
        let coordinator = state.map(|(state, length)| coordinator_state(&state, length, &units));
        let readable = self.writers.iter().all(|writer| writer.status != "unreadable");
        let waiting_complete = coordinator.is_some() && readable;
        let writers = self.writers;
        let mut sink = Sink {
            operator,
            coordinator,
            writers,
            missing_writers,
            waiting,
            waiting_complete,
            units,
            hints: Vec::new(),
        };
        sink.hints = hints::of(&sink);
        sink
    }

    /// Finished tasks have no state.
    fn add_finished_writers(&mut self) {
        self.writers.extend(self.finished.iter().map(|&subtask| WriterState {
            subtask,
            status: "finished",
            incarnation: None,
            length: None,
            entries: 0,
        }));
        self.writers.sort_by_key(|writer| writer.subtask);
    }

    /// The gaps between the writers. A damaged parallelism may be huge, so they are ranges.
    fn missing_writers(&self, parallelism: u32) -> Vec<(u32, u32)> {
        let (mut missing, mut next) = (Vec::new(), 0);
        for subtask in self.writers.iter().map(|writer| writer.subtask).chain([parallelism]) {
            if subtask > next {
                missing.push((next, subtask - 1));
            }
            next = next.max(subtask.saturating_add(1));
        }
        missing
    }

    fn unit(
        &self,
        generation: Option<u32>,
        user: Option<&CommitUser>,
        checkpoint_id: i64,
        in_table: bool,
        mut entries: Vec<EntryState>,
    ) -> Unit {
        entries.sort_by_key(|entry| (holder(entry).is_none(), holder(entry)));
        let end_of_input = checkpoint_id == END_OF_INPUT;
        let reported: Option<BTreeSet<u32>> = entries.iter().map(holder).collect();
        let goes_on = |writer: &&WriterState| matches!(writer.status, "running" | "unreadable");
        let not_reported = reported.as_ref().filter(|_| !self.writers.is_empty()).map(|reported| {
            let others = self.writers.iter().filter(goes_on).map(|writer| writer.subtask);
            others.filter(|subtask| !reported.contains(subtask)).collect()
        });
        Unit {
            generation,
            commit_user: user.map(|user| user.commit_user.clone()),
            checkpoint_id: (!end_of_input).then_some(checkpoint_id),
            end_of_input,
            savepoint: entries.iter().any(|entry| entry.savepoint),
            in_table,
            amount: Amount::of(entries.iter()),
            reported: reported.map(|reported| reported.into_iter().collect()),
            not_reported,
            entries,
        }
    }
}

/// The subtask that an entry is of. A writer that was restored answers for what its predecessor prepared.
pub(super) fn holder(entry: &EntryState) -> Option<u32> {
    entry.subtask.or(match entry.in_writers[..] {
        [only] => Some(only),
        _ => None,
    })
}

fn read_writer(
    handle: &WriterHandle,
    directory: &Path,
    length: &mut Option<u64>,
) -> Result<Vec<StateElement>> {
    let mut state = storage::State::open(directory, &handle.stream)?;
    *length = Some(state.length());
    if is_compressed(&state.beginning(5)?) {
        return Err(corrupt(
            "found it compressed (execution.checkpointing.snapshot-compression), expected it as it is; what the coordinator held when the checkpoint began is complete all the same".to_owned(),
        ));
    }
    // Elements do not overlap, so together they are no longer than the state, whatever the offsets say.
    let mut left = state.length();
    let mut elements = Vec::new();
    for &offset in &handle.offsets {
        let element = state.element(offset)?;
        left = left.checked_sub(element.len() as u64 + 4).ok_or_else(|| {
            corrupt(format!("found elements that overlap in a state of {} bytes", state.length()))
        })?;
        elements.push(decode_state_element(element)?);
    }
    Ok(elements)
}

fn is_compressed(header: &[u8]) -> bool {
    header.split_first_chunk().is_some_and(|(version, rest)| {
        i32::from_be_bytes(*version) >= STATE_VERSION_WITH_COMPRESSION && rest.first() == Some(&1)
    })
}

fn entry_state(held: Held, subtask: Option<u32>, with_files: bool) -> EntryState {
    let Held { entry, generation, in_writers } = held;
    let read = committables::files(&entry);
    let sum = |of: fn(&committables::DataFile) -> i64| {
        let files = read.as_ref().ok()?;
        Some(files.iter().map(of).fold(0, i64::saturating_add))
    };
    EntryState {
        incarnation: format!("{:?}", entry.incarnation),
        subtask,
        in_coordinator: generation.is_some(),
        sealed: entry.checkpoint_id == END_OF_INPUT && generation.is_some() && in_writers.is_empty(),
        in_writers,
        ended_after: (entry.checkpoint_id == END_OF_INPUT).then_some(entry.ended_after),
        watermark: known(entry.watermark),
        idle: entry.idle,
        savepoint: entry.savepoint,
        committables: entry.committable_count,
        payload_length: entry.payload.len(),
        files: read.as_ref().ok().map(Vec::len),
        rows: sum(|file| file.rows),
        bytes: sum(|file| file.bytes),
        unreadable: read.as_ref().err().map(|error| error.message.clone()),
        data_files: read.ok().filter(|_| with_files),
    }
}

fn coordinator_state(state: &State, length: usize, units: &[Unit]) -> CoordinatorState {
    CoordinatorState {
        length,
        parallelism: state.parallelism,
        commit_users: state
            .commit_users
            .iter()
            .map(|(generation, user)| CommitUser { generation: *generation, commit_user: user.clone() })
            .collect(),
        committed_through: known(state.committed_through),
        snapshot_id: (state.snapshot_id >= 0).then_some(state.snapshot_id),
        watermark: known(state.watermark),
        final_commit_done: state.final_commit_done,
        ended: state
            .ended
            .iter()
            .map(|(subtask, incarnation)| EndedSubtask {
                subtask: *subtask,
                incarnation: format!("{incarnation:?}"),
            })
            .collect(),
        committed_end_of_input: state.committed_end_of_input.iter().map(|id| format!("{id:?}")).collect(),
        committer_state_length: state.committer_state.as_ref().map(Bytes::len),
        entries: units.iter().flat_map(|unit| &unit.entries).filter(|entry| entry.in_coordinator).count(),
    }
}

/// `i64::MIN` stands for none.
fn known(value: i64) -> Option<i64> {
    (value != i64::MIN).then_some(value)
}
