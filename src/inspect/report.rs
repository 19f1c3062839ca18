//! What an inspection found: the shape of its JSON, documented in docs/inspect.md. Fields are added, never changed.

use serde::Serialize;

use super::committables::DataFile;

/// The number of the JSON's shape.
pub(super) const FORMAT: u32 = 1;

/// All that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(super) format: u32,
    pub(super) path: String,
    /// `checkpoint`, `savepoint`, or `coordinator` for a file of its bytes alone. Null if it cannot be told.
    pub(super) kind: Option<&'static str>,
    pub(super) length: usize,
    pub(super) metadata_version: Option<i32>,
    pub(super) checkpoint_id: Option<i64>,
    pub(super) sinks: Vec<Sink>,
    /// Operators without state of ours.
    pub(super) other_operators: Vec<OperatorName>,
    /// What could not be read, as sentences.
    pub(super) problems: Vec<String>,
    /// What to look at next, for all of the file.
    pub(super) hints: Vec<String>,
}

impl Report {
    pub(super) fn to_json(&self) -> String {
        // It has text keys and no maps, so there is nothing that could fail.
        serde_json::to_string_pretty(self).map_or_else(|error| error.to_string(), |json| json + "\n")
    }
}

/// How an operator is known.
#[derive(Debug, Default, Clone, Serialize)]
pub(super) struct OperatorName {
    pub(super) id: Option<String>,
    /// Flink 2.0 and later only.
    pub(super) name: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) parallelism: u32,
    pub(super) max_parallelism: Option<i32>,
    /// All its subtasks had finished.
    pub(super) fully_finished: bool,
}

impl OperatorName {
    /// What sentences call it.
    pub(super) fn label(&self) -> &str {
        self.name.as_deref().or(self.id.as_deref()).unwrap_or("of unknown operator")
    }
}

/// The writers of one table and their coordinator.
#[derive(Debug, Serialize)]
pub(super) struct Sink {
    pub(super) operator: OperatorName,
    pub(super) coordinator: Option<CoordinatorState>,
    /// Those that the checkpoint tells of.
    pub(super) writers: Vec<WriterState>,
    /// The first and the last of each range of subtasks of which the checkpoint has nothing.
    pub(super) missing_writers: Vec<(u32, u32)>,
    /// What is not known to be in the table.
    pub(super) waiting: Amount,
    /// False if a state could not be read, which may hold more entries.
    pub(super) waiting_complete: bool,
    /// Of which checkpoint, oldest first, the end of input last.
    pub(super) units: Vec<Unit>,
    pub(super) hints: Vec<String>,
}

/// The coordinator's own part of the state.
#[derive(Debug, Serialize)]
pub(super) struct CoordinatorState {
    pub(super) length: usize,
    pub(super) parallelism: u32,
    /// By generation; the last is the current one.
    pub(super) commit_users: Vec<CommitUser>,
    pub(super) committed_through: Option<i64>,
    pub(super) snapshot_id: Option<i64>,
    pub(super) watermark: Option<i64>,
    pub(super) final_commit_done: bool,
    pub(super) ended: Vec<EndedSubtask>,
    pub(super) committed_end_of_input: Vec<String>,
    pub(super) committer_state_length: Option<usize>,
    pub(super) entries: usize,
}

/// A user of Paimon's commits.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CommitUser {
    pub(super) generation: u32,
    pub(super) commit_user: String,
}

/// A subtask whose input had ended.
#[derive(Debug, Clone, Serialize)]
pub(super) struct EndedSubtask {
    pub(super) subtask: u32,
    pub(super) incarnation: String,
}

/// One writer's part of the state.
#[derive(Debug, Serialize)]
pub(super) struct WriterState {
    pub(super) subtask: u32,
    /// `running`, `ended` (its input has), `finished` (its task has), or `unreadable`.
    pub(super) status: &'static str,
    pub(super) incarnation: Option<String>,
    pub(super) length: Option<u64>,
    pub(super) entries: usize,
}

/// The entries of one checkpoint, which become one commit.
#[derive(Debug, Serialize)]
pub(super) struct Unit {
    pub(super) generation: Option<u32>,
    pub(super) commit_user: Option<String>,
    /// Null for the end of input.
    pub(super) checkpoint_id: Option<i64>,
    pub(super) end_of_input: bool,
    pub(super) savepoint: bool,
    pub(super) in_table: bool,
    pub(super) amount: Amount,
    /// Subtasks that have an entry, and those that have none though they were running. Null if that is not known.
    pub(super) reported: Option<Vec<u32>>,
    pub(super) not_reported: Option<Vec<u32>>,
    pub(super) entries: Vec<EntryState>,
}

/// What one writer prepared for one checkpoint.
#[derive(Debug, Clone, Serialize)]
pub(super) struct EntryState {
    pub(super) incarnation: String,
    pub(super) subtask: Option<u32>,
    pub(super) in_coordinator: bool,
    /// Subtasks whose state holds it.
    pub(super) in_writers: Vec<u32>,
    /// An end of input that only the coordinator holds, because its task has finished.
    pub(super) sealed: bool,
    pub(super) ended_after: Option<i64>,
    pub(super) watermark: Option<i64>,
    pub(super) idle: bool,
    pub(super) savepoint: bool,
    pub(super) committables: i32,
    pub(super) payload_length: usize,
    /// Null if the payload could not be read.
    pub(super) files: Option<usize>,
    pub(super) rows: Option<i64>,
    pub(super) bytes: Option<i64>,
    pub(super) unreadable: Option<String>,
    /// With `--files` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_files: Option<Vec<DataFile>>,
}

/// A sum over entries. Files, rows and bytes are those that could be read, null if none could though there are some.
#[derive(Debug, Default, Clone, Serialize)]
pub(super) struct Amount {
    pub(super) entries: usize,
    pub(super) writers: usize,
    pub(super) files: Option<usize>,
    pub(super) rows: Option<i64>,
    pub(super) bytes: Option<i64>,
    pub(super) payload_length: usize,
    /// Entries whose files are not in the sums, because their payload could not be read.
    pub(super) unreadable_entries: usize,
}

impl Amount {
    pub(super) fn of<'a>(entries: impl Iterator<Item = &'a EntryState> + Clone) -> Self {
        let mut writers: Vec<&str> = entries.clone().map(|entry| entry.incarnation.as_str()).collect();
        writers.sort_unstable();
        writers.dedup();
        let (mut files, mut rows, mut bytes) = (0_usize, 0_i64, 0_i64);
        let mut amount = Self { writers: writers.len(), ..Self::default() };
        for entry in entries {
            amount.entries += 1;
            files += entry.files.unwrap_or(0);
            // Damaged counts must not end the command.
            rows = rows.saturating_add(entry.rows.unwrap_or(0));
            bytes = bytes.saturating_add(entry.bytes.unwrap_or(0));
            amount.payload_length = amount.payload_length.saturating_add(entry.payload_length);
            amount.unreadable_entries += usize::from(entry.unreadable.is_some());
        }
        if files > 0 || amount.unreadable_entries == 0 {
            (amount.files, amount.rows, amount.bytes) = (Some(files), Some(rows), Some(bytes));
        }
        amount
    }

    /// Is there a file in it, known or not?
    pub(super) fn has_files(&self) -> bool {
        self.files != Some(0)
    }
}
