//! All sequences of events that a small job can produce, up to a length, against a naive twin of the core.
//!
//! [`world`] generates what Flink can do, and says on which facts it relies; [`twin`] says what the coordinator must do, and
//! [`machine`] compares that with what it does, event by event. Beside the twin stands an oracle that knows nothing of
//! coordinators: no row may be in the table twice or before its checkpoint has completed, and from every state the job must
//! come to its end, also after a crash, with every row in the table.
//!
//! Sequences that lead to the same state of core, twin and world are joined, so each scope is covered completely.
//! `cargo test --test exhaustive -- --nocapture` prints how much that is.

#[path = "../support/mod.rs"]
mod support;

mod explore;
mod machine;
mod rows;
mod scopes;
mod told;
mod twin;
mod world;
