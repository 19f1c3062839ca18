//! Collects `tracing` events of the loop's thread, so that the host can hand them to Flink's log after each step.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// One line of log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How urgent.
    pub level: Level,
    /// The message, then its fields as `name=value`.
    pub message: String,
}

/// A subscriber for one thread; nothing of it is global, so nothing outlives a class loader.
#[derive(Debug, Clone, Default)]
pub(super) struct LogLines {
    lines: Arc<Mutex<Vec<LogLine>>>,
}

impl LogLines {
    /// Takes what has come since the last call.
    pub(super) fn take(&self) -> Vec<LogLine> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.is_event()
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let message = line.message + &line.fields;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(LogLine { level: *event.metadata().level(), message });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
    }
}
