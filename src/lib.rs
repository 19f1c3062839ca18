//! Commits an Apache Paimon append table from a Flink `OperatorCoordinator`, so that no committer task joins the writers.
//!
//! ```text
//!   Flink's callbacks ─▶ jni ─▶ runtime ─▶ coordinator ─▶ runtime ─▶ jni ─▶ Java runs Paimon's commit
//!                              (queue,     (event in,     (Host)
//!                               timers)     commands out)
//! ```
//!
//! * [`coordinator`]: the machine; decides everything. No thread, no clock, no JVM, no IO.
//! * [`wire`]: what writers send. [`snapshot`]: the checkpoint bytes. Neither knows who uses them.
//! * [`runtime`]: the loop around the machine. No JVM: it knows a [`runtime::Host`].
//! * [`inspect`]: the command that shows what a checkpoint holds. Reads files, and is part of no job.
//! * `jni`: the only room that knows Java, and the only one with unsafe code.
#![deny(unsafe_code)]
#![warn(unreachable_pub)]

pub mod coordinator;
pub mod error;
pub mod inspect;
mod jni;
pub mod runtime;
pub mod settings;
pub mod snapshot;
pub mod wire;
