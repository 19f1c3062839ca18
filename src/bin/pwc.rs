//! `pwc inspect`, for machines without a JVM; the jar has the same.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = paimon_writer_coordinator::inspect::run(std::env::args_os().skip(1));
    let written = match outcome.status {
        2 => std::io::stderr().write_all(outcome.text.as_bytes()),
        _ => std::io::stdout().write_all(outcome.text.as_bytes()).and_then(|()| std::io::stdout().flush()),
    };
    match written {
        // Nobody is left to be told when the reader of a pipe has gone.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "pwc: the output cannot be written: {error}");
            ExitCode::from(2)
        }
        Ok(()) | Err(_) => ExitCode::from(outcome.status),
    }
}
