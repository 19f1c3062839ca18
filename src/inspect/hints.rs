//! What somebody with a stuck job would want to know next.

use super::report::{Amount, CoordinatorState, OperatorName, Unit, WriterState};

/// The default of the option `max-due-commits`.
const MAX_DUE_COMMITS: usize = 10;

pub(super) fn of(
    operator: &OperatorName,
    coordinator: Option<&CoordinatorState>,
    writers: &[WriterState],
    units: &[Unit],
    waiting: &Amount,
) -> Vec<String> {
    let mut hints = Vec::new();
    let parallelism = coordinator.map_or(operator.parallelism, |state| state.parallelism);
    let user = coordinator.and_then(|state| state.commit_users.last());
    if let Some(user) = user.filter(|_| waiting.files > 0) {
        hints.push(format!(
            "what is in the table by now: SELECT MAX(commit_identifier) FROM `{}$snapshots` WHERE commit_user = '{}'; what waits here of checkpoints up to that is in it",
            table(operator),
            user.commit_user
        ));
    }
    for unit in units.iter().filter(|unit| !unit.in_table) {
        let (Some(reported), Some(not_reported)) = (&unit.reported, &unit.not_reported) else { continue };
        if !not_reported.is_empty() {
            hints.push(format!(
                "entries of {}: {} of {parallelism} have reported; {} {} none{}",
                checkpoint(unit.checkpoint_id),
                subtasks(reported),
                numbers(not_reported),
                if not_reported.len() == 1 { "has" } else { "have" },
                if unit.end_of_input { ", their input goes on" } else { "" },
            ));
        }
    }
    let checkpoints = units.iter().filter(|unit| !unit.in_table && unit.amount.files > 0).count();
    if checkpoints > MAX_DUE_COMMITS {
        hints.push(format!(
            "{checkpoints} commits wait; from max-due-commits ({MAX_DUE_COMMITS} by default) on checkpoints are held back until the table takes them: look for failed commits in the JobManager's log"
        ));
    }
    if waiting.unreadable_entries > 0 {
        hints.push(format!(
            "the files of {} entries are in no sum here, because their payload could not be read",
            waiting.unreadable_entries
        ));
    }
    let missing: Vec<u32> =
        writers.iter().filter(|writer| writer.status == "missing").map(|writer| writer.subtask).collect();
    if !missing.is_empty() {
        hints.push(format!("{} of {parallelism} had no state in this checkpoint", subtasks(&missing)));
    }
    if coordinator.is_some_and(|state| state.final_commit_done) {
        hints.push("the final commit is in the table: all rows of the job are".to_owned());
    }
    hints
}

/// A table's name as far as the operator's name tells it.
fn table(operator: &OperatorName) -> &str {
    let name = operator.name.as_deref().unwrap_or_default();
    name.rsplit_once(" : ").map_or("TABLE", |(_, table)| table)
}

/// How a unit is called in sentences.
pub(super) fn checkpoint(id: Option<i64>) -> String {
    id.map_or_else(|| "the end of input".to_owned(), |id| format!("checkpoint {id}"))
}

fn subtasks(indices: &[u32]) -> String {
    format!("writer{} {}", if indices.len() == 1 { "" } else { "s" }, numbers(indices))
}

/// 0, 1, 2, 5 as "0 to 2, 5".
pub(super) fn numbers(ascending: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in ascending {
        match ranges.last_mut() {
            Some((_, last)) if number == last.saturating_add(1) => *last = number,
            Some(_) | None => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}
