//! The settings' bytes, as Java's `CoordinatorSettings.encode` writes them.

mod support;

use bytes::{BufMut, Bytes, BytesMut};
use paimon_writer_coordinator::error::ErrorKind;
use paimon_writer_coordinator::settings::Settings;
use support::settings;

fn encode(settings: &Settings) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u32(settings.parallelism);
    bytes.put_u32(settings.max_due_commits);
    bytes.put_u64(settings.checkpoint_hold_millis);
    bytes.put_u64(settings.late_event_millis);
    bytes.put_u64(settings.request_hold_millis);
    bytes.put_u32(settings.commit_retries);
    bytes.put_u64(settings.retry_initial_millis);
    bytes.put_u64(settings.retry_max_millis);
    bytes.put_u8(settings.checkpointing_enabled.into());
    bytes.put_u8(settings.end_input_watermark.is_some().into());
    bytes.put_i64(settings.end_input_watermark.unwrap_or(0));
    for text in [&settings.commit_user, &settings.table_name, &settings.operator_name] {
        bytes.put_u32(text.len() as u32);
        bytes.put_slice(text.as_bytes());
    }
    bytes.freeze()
}

#[test]
fn a_round_trip_changes_nothing() {
    for parallelism in [1, 32_768] {
        for end_input_watermark in [None, Some(-9)] {
            let settings = Settings { end_input_watermark, ..settings(parallelism) };
            assert_eq!(Settings::decode(encode(&settings)), Ok(settings));
        }
    }
}

#[test]
fn s105_a_parallelism_that_flink_does_not_have_is_named() {
    for (parallelism, found) in [(0, "0"), (32_769, "32769"), (u32::MAX, "-1")] {
        let error = Settings::decode(encode(&settings(parallelism))).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::UnexpectedCall);
        let message = format!("found parallelism {found}, expected 1 to 32768");
        assert!(error.message.contains(&message), "{error}");
    }
}

#[test]
fn s105_settings_that_are_cut_or_too_long_are_refused() {
    let whole = encode(&settings(1));
    for length in 0..whole.len() {
        let error = Settings::decode(whole.slice(..length)).expect_err("refused");
        assert!(error.message.contains(&format!("settings of {length} bytes cannot be read")), "{error}");
    }
    let longer = Bytes::from([&whole[..], &[0]].concat());
    assert!(Settings::decode(longer).is_err());
}
