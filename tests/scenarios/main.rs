//! The specification's scenarios, each decided by the core alone. A name begins with the id of its row.

#[path = "../support/mod.rs"]
mod support;

mod batch;
mod commit_failures;
mod end_of_input;
mod messages;
mod ordinary_checkpoints;
mod restore;
mod watermarks;
mod writer_failover;
