//! What somebody with a stuck job would want to know next.

use super::report::{OperatorName, Sink, Unit};

/// The default of the option `max-due-commits`.
const MAX_DUE_COMMITS: usize = 10;

/// Of a whole checkpoint.
pub(super) fn of_all(sinks: &[Sink]) -> Vec<String> {
    let none = "no operator has state of Paimon Writer Coordinator: this is the checkpoint of another job, or its table is committed by Paimon's own committer";
    if sinks.is_empty() { vec![none.to_owned()] } else { Vec::new() }
}

/// Of one sink.
pub(super) fn of(sink: &Sink) -> Vec<String> {
    let mut hints = queries(sink);
    let coordinator = sink.coordinator.as_ref();
    let parallelism = coordinator.map_or(sink.operator.parallelism, |state| state.parallelism);
    for unit in sink.units.iter().filter(|unit| !unit.in_table) {
        let (Some(reported), Some(not_reported)) = (&unit.reported, &unit.not_reported) else { continue };
        if !not_reported.is_empty() {
            hints.push(format!(
                "entries of {}: {} of {parallelism} have reported; {} {} none{}",
                checkpoint(unit.checkpoint_id),
                subtasks(&ranges(reported)),
                numbers(not_reported),
                if not_reported.len() == 1 { "has" } else { "have" },
                if unit.end_of_input { ", their input goes on" } else { "" },
            ));
        }
    }
    let checkpoints = sink.units.iter().filter(|unit| !unit.in_table && unit.amount.has_files()).count();
    if checkpoints > MAX_DUE_COMMITS {
        hints.push(format!(
            "{checkpoints} commits wait; from max-due-commits ({MAX_DUE_COMMITS} by default) on checkpoints are held back until the table takes them: look for failed commits in the JobManager's log"
        ));
    }
    if sink.waiting.unreadable_entries > 0 {
        let many = sink.waiting.unreadable_entries;
        hints.push(format!(
            "the files of {many} {} are in no sum here, because their payload could not be read",
            if many == 1 { "entry" } else { "entries" }
        ));
    }
    let unreadable = sink.writers.iter().filter(|writer| writer.status == "unreadable");
    let unreadable = ranges(&unreadable.map(|writer| writer.subtask).collect::<Vec<u32>>());
    if !unreadable.is_empty() {
        hints.push(format!(
            "the state of {} could not be read, so more may wait than is shown; if files are not here, copy the whole directory, with its data files, and inspect the copy",
            subtasks(&unreadable)
        ));
    }
    if !sink.missing_writers.is_empty() {
        hints.push(format!(
            "{} of {parallelism} had no state in this checkpoint",
            subtasks(&sink.missing_writers)
        ));
    }
    if coordinator.is_some_and(|state| state.final_commit_done) {
        hints.push("the final commit is in the table: all rows of the job are".to_owned());
    }
    hints
}

/// Every commit user has identifiers of its own.
fn queries(sink: &Sink) -> Vec<String> {
    let users = sink.coordinator.iter().flat_map(|state| &state.commit_users);
    let name = table(&sink.operator);
    let table = name.unwrap_or("TABLE").replace('`', "``");
    let mut hints = Vec::new();
    for user in users {
        let waits = |unit: &&Unit| !unit.in_table && unit.amount.has_files();
        let is_of_user = |unit: &&Unit| unit.generation == Some(user.generation);
        let units: Vec<&Unit> = sink.units.iter().filter(waits).filter(is_of_user).collect();
        if !units.is_empty() {
            hints.push(format!(
                "what of {} is in the table by now: SELECT MAX(commit_identifier) FROM `{table}$snapshots` WHERE commit_user = '{}'; all up to that is in it; NULL decides nothing (no snapshot, or none any more): look for the names that --files shows in SELECT file_path FROM `{table}$files`",
                units_named(&units),
                user.commit_user.replace('\'', "''")
            ));
        }
    }
    if name.is_none() && !hints.is_empty() {
        hints.push("TABLE stands for the table's name, which is not in this checkpoint: the JobManager's log has it, in the coordinator's line with \"starts with\" and this commit-user=".to_owned());
    }
    hints
}

/// A table's name as far as the operator's name tells it.
fn table(operator: &OperatorName) -> Option<&str> {
    Some(operator.name.as_deref()?.rsplit_once(" : ")?.1)
}

/// How a unit is called in sentences.
pub(super) fn checkpoint(id: Option<i64>) -> String {
    id.map_or_else(|| "the end of input".to_owned(), |id| format!("checkpoint {id}"))
}

/// How several are, and that all that lie between two are among them.
pub(super) fn units_named(units: &[&Unit]) -> String {
    let mut ids: Vec<i64> = units.iter().filter_map(|unit| unit.checkpoint_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut names = match ids[..] {
        [] => Vec::new(),
        [only] => vec![checkpoint(Some(only))],
        [first, last] => vec![checkpoint(Some(first)), checkpoint(Some(last))],
        [first, .., last] => vec![format!("the checkpoints {first} to {last}")],
    };
    if units.iter().any(|unit| unit.end_of_input) {
        names.push(checkpoint(None));
    }
    names.join(" and ")
}

fn subtasks(ranges: &[(u32, u32)]) -> String {
    format!("writer{} {}", if number_in(ranges) == 1 { "" } else { "s" }, named(ranges))
}

/// 0, 1, 2, 5 as "0 to 2, 5".
pub(super) fn numbers(ascending: &[u32]) -> String {
    named(&ranges(ascending))
}

fn ranges(ascending: &[u32]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in ascending {
        match ranges.last_mut() {
            Some((_, last)) if number == last.saturating_add(1) => *last = number,
            Some(_) | None => ranges.push((number, number)),
        }
    }
    ranges
}

pub(super) fn named(ranges: &[(u32, u32)]) -> String {
    let range = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

pub(super) fn number_in(ranges: &[(u32, u32)]) -> usize {
    ranges.iter().map(|(first, last)| (last - first) as usize + 1).sum()
}
