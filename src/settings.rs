//! What planning decided, handed over once when a coordinator is made.

use bytes::{Buf, Bytes};

use crate::error::{Error, ErrorKind, Result};

/// Flink's own bound; the machine makes a record for each writer before anything else.
const PARALLELISM_MAX: u32 = 32_768;

/// The coordinator's settings. All times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The number of writer subtasks.
    pub parallelism: u32,
    /// How many due commits may wait before the next checkpoint's future is held.
    pub max_due_commits: u32,
    /// How long a checkpoint's future is held at most.
    pub checkpoint_hold_millis: u64,
    /// How long a completed checkpoint waits for a missing entry of running writers.
    pub late_event_millis: u64,
    /// How long a writer's request is held at most before it is answered "ask again".
    pub request_hold_millis: u64,
    /// How often a failed commit is tried again in place.
    pub commit_retries: u32,
    /// The pause before the first of these tries; it doubles each time.
    pub retry_initial_millis: u64,
    /// The longest pause.
    pub retry_max_millis: u64,
    /// Whether the job takes checkpoints.
    pub checkpointing_enabled: bool,
    /// The watermark of the final commit, if the user set one.
    pub end_input_watermark: Option<i64>,
    /// The commit user of a job that starts without state.
    pub commit_user: String,
    /// For messages.
    pub table_name: String,
    /// For messages.
    pub operator_name: String,
}

impl Settings {
    /// Reads what Java's `CoordinatorSettings.encode` wrote: the fields in this order, big-endian.
    ///
    /// # Errors
    /// If they are not whole, or name a parallelism that Flink does not have.
    pub fn decode(mut bytes: Bytes) -> Result<Self> {
        let length = bytes.len();
        let settings = Self::read(&mut bytes)
            .filter(|_| !bytes.has_remaining())
            .ok_or_else(|| refused(format!("settings of {length} bytes cannot be read")))?;
        let parallelism = settings.parallelism;
        if !(1..=PARALLELISM_MAX).contains(&parallelism) {
            let found = parallelism as i32;
            return Err(refused(format!(
                "settings cannot be used: found parallelism {found}, expected 1 to {PARALLELISM_MAX}"
            )));
        }
        Ok(settings)
    }

    fn read(bytes: &mut Bytes) -> Option<Self> {
        Some(Self {
            parallelism: bytes.try_get_u32().ok()?,
            max_due_commits: u32::try_from(bytes.try_get_i32().ok()?).ok()?,
            checkpoint_hold_millis: bytes.try_get_u64().ok()?,
            late_event_millis: bytes.try_get_u64().ok()?,
            request_hold_millis: bytes.try_get_u64().ok()?,
            commit_retries: u32::try_from(bytes.try_get_i32().ok()?).ok()?,
            retry_initial_millis: bytes.try_get_u64().ok()?,
            retry_max_millis: bytes.try_get_u64().ok()?,
            checkpointing_enabled: bytes.try_get_u8().ok()? != 0,
            end_input_watermark: {
                let set = bytes.try_get_u8().ok()? != 0;
                let watermark = bytes.try_get_i64().ok()?;
                set.then_some(watermark)
            },
            commit_user: read_string(bytes)?,
            table_name: read_string(bytes)?,
            operator_name: read_string(bytes)?,
        })
    }
}

fn read_string(bytes: &mut Bytes) -> Option<String> {
    let length = usize::try_from(bytes.try_get_i32().ok()?).ok()?;
    if bytes.remaining() < length {
        return None;
    }
    String::from_utf8(bytes.split_to(length).to_vec()).ok()
}

fn refused(what: String) -> Error {
    Error::new(
        ErrorKind::UnexpectedCall,
        format!("The coordinator's {what}; the jar and its native library do not belong together."),
    )
}
