#![no_main]

#[path = "../allocations.rs"]
mod allocations;
#[path = "../steps.rs"]
mod steps;
#[path = "../../support/mod.rs"]
mod support;
#[path = "../targets.rs"]
#[allow(dead_code, reason = "each binary runs one target")]
mod targets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::inspect(input));
