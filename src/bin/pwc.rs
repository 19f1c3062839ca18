//! `pwc inspect`, for machines without a JVM; the jar has the same.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = paimon_writer_coordinator::inspect::run(std::env::args_os().skip(1));
    // Nobody is left to be told when the reader of a pipe has gone.
    let _ = match outcome.status {
        2 => std::io::stderr().write_all(outcome.text.as_bytes()),
        _ => std::io::stdout().write_all(outcome.text.as_bytes()),
    };
    ExitCode::from(outcome.status)
}
