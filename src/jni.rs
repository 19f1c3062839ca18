//! The boundary to Java: every native of `NativeCoordinator` and that of `Pwc`, and nothing else that Java may call.
//!
//! Natives only copy their arguments, or refer to them, and enqueue a message; the one exception is `run`, in which the
//! loop's Java thread stays until the coordinator is closed. `Pwc` is a command of its own, without a coordinator. No class,
//! method id or reference is kept in a `static`: the library may be
//! loaded once for each class loader, and must not keep one alive.
#![allow(unsafe_code)]

mod handle;
mod java;
mod throw;

use bytes::Bytes;
use jni::objects::{JByteArray, JClass, JObject, JString};
use jni::refs::Global;
use jni::sys::{jint, jlong};
use jni::{Env, NativeMethod, native_method};

use crate::coordinator::command::{CommitId, FutureId, RequestId};
use crate::coordinator::event::{Event, Failure, FailureClass};
use crate::inspect;
use crate::runtime;
use crate::settings::Settings;

use handle::Handle;
use java::JavaHost;
use throw::{BoundaryError, ThrowToJava};

/// All natives. Their symbols are exported, so that nothing has to be registered.
#[allow(dead_code, reason = "the macro exports the symbols; the table keeps them in one place")]
const NATIVES: &[NativeMethod] = &[
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn create(settings: jbyte[]) -> jlong,
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn run(handle: jlong, host: io.paimonwriter.coordinator.CoordinatorHost),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn destroy(handle: jlong),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn reset(handle: jlong, epoch: jlong, checkpoint_id: jlong, state: jbyte[], fresh_commit_user: JString),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn handle_event(handle: jlong, subtask: jint, attempt: jint, event: jbyte[]),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn handle_request(handle: jlong, request_id: jlong, request: jbyte[]),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        fn = notify_loop,
        extern fn notify(handle: jlong, kind: jint, subtask: jint, attempt: jint, checkpoint_id: jlong, future_id: jlong),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.NativeCoordinator,
        error_policy = ThrowToJava,
        extern fn committer_reported(handle: jlong, epoch: jlong, commit_id: jlong, failure: jint, value: jlong, committer_state: jbyte[], message: JString),
    },
    native_method! {
        java_type = io.paimonwriter.coordinator.Pwc,
        error_policy = ThrowToJava,
        static extern fn run(arguments: jbyte[]) -> jbyte[],
        fn = run_command,
    },
];

type Outcome<T> = Result<T, BoundaryError>;

/// An event stays in Java's array until the loop copies it.
type Payload = Global<JByteArray<'static>>;
type Message = runtime::Message<Payload>;

fn create<'local>(env: &mut Env<'local>, _: JObject<'local>, settings: JByteArray<'local>) -> Outcome<jlong> {
    let settings = Settings::decode(copy(env, &settings)?)?;
    Ok(Handle::create(settings))
}

fn run<'local>(
    env: &mut Env<'local>,
    _: JObject<'local>,
    handle: jlong,
    host: JObject<'local>,
) -> Outcome<()> {
    let (settings, messages) = Handle::of(handle)?.enter()?;
    let clock = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = clock.map_err(|error| BoundaryError::new(format!("The loop cannot start: {error}")))?;
    let mut host = JavaHost::new(env, host)?;
    runtime.block_on(runtime::run(settings, messages, &mut host))
}

fn destroy<'local>(_: &mut Env<'local>, _: JObject<'local>, handle: jlong) -> Outcome<()> {
    Handle::destroy(handle)
}

fn reset<'local>(
    env: &mut Env<'local>,
    _: JObject<'local>,
    handle: jlong,
    epoch: jlong,
    checkpoint_id: jlong,
    state: JByteArray<'local>,
    fresh_commit_user: JString<'local>,
) -> Outcome<()> {
    let state = copy_nullable(env, &state)?;
    let fresh_commit_user = fresh_commit_user.try_to_string(env)?;
    let checkpoint_id = (checkpoint_id >= 0).then_some(checkpoint_id);
    Handle::of(handle)?.send(Message::Reset { epoch, checkpoint_id, state, fresh_commit_user })
}

fn handle_event<'local>(
    env: &mut Env<'local>,
    _: JObject<'local>,
    handle: jlong,
    subtask: jint,
    attempt: jint,
    event: JByteArray<'local>,
) -> Outcome<()> {
    if event.is_null() {
        return Err(is_null());
    }
    let payload = env.new_global_ref(event)?;
    Handle::of(handle)?.send(Message::WriterEvent { subtask, attempt, payload })
}

fn handle_request<'local>(
    env: &mut Env<'local>,
    _: JObject<'local>,
    handle: jlong,
    request_id: jlong,
    request: JByteArray<'local>,
) -> Outcome<()> {
    let bytes = copy(env, &request)?;
    let request = RequestId(request_id);
    Handle::of(handle)?.send(Message::Callback(Event::Request { request, bytes }))
}

#[expect(clippy::too_many_arguments, reason = "the native's own signature")]
fn notify_loop<'local>(
    _: &mut Env<'local>,
    _: JObject<'local>,
    handle: jlong,
    kind: jint,
    subtask: jint,
    attempt: jint,
    checkpoint_id: jlong,
    future_id: jlong,
) -> Outcome<()> {
    let event = match kind {
        1 => Event::AttemptReady { subtask, attempt },
        2 => Event::AttemptFailed { subtask, attempt },
        3 => Event::SubtaskReset { subtask, checkpoint_id },
        4 => Event::Checkpoint { checkpoint_id, future: FutureId(future_id) },
        5 => Event::CheckpointComplete { checkpoint_id },
        6 => Event::CheckpointAborted { checkpoint_id },
        7 => return Handle::of(handle)?.send(Message::Close),
        8 => Event::BatchSnapshotsAskedFor,
        other => return Err(BoundaryError::new(format!("There is no notification of kind {other}."))),
    };
    Handle::of(handle)?.send(Message::Callback(event))
}

#[expect(clippy::too_many_arguments, reason = "the native's own signature")]
fn committer_reported<'local>(
    env: &mut Env<'local>,
    _: JObject<'local>,
    handle: jlong,
    epoch: jlong,
    commit_id: jlong,
    failure: jint,
    value: jlong,
    committer_state: JByteArray<'local>,
    message: JString<'local>,
) -> Outcome<()> {
    let committer_state = copy_nullable(env, &committer_state)?;
    let class = match failure {
        0 => None,
        1 => Some(FailureClass::Retryable),
        2 => Some(FailureClass::FailJob),
        3 => Some(FailureClass::Final),
        other => return Err(BoundaryError::new(format!("There is no failure class {other}."))),
    };
    let commit = CommitId(commit_id);
    let event = match class {
        None if commit_id == 0 => {
            Event::CommitterOpened { latest_identifier: (value != i64::MIN).then_some(value) }
        }
        None => Event::Committed { commit, snapshot_id: (value >= 0).then_some(value), committer_state },
        Some(class) => {
            let message = if message.is_null() { String::new() } else { message.try_to_string(env)? };
            let failure = Failure { class, message };
            if commit_id == 0 {
                Event::CommitterFailed(failure)
            } else {
                Event::CommitFailed { commit, failure }
            }
        }
    };
    Handle::of(handle)?.send(Message::Outcome { epoch, event })
}

/// Arguments and text are UTF-8; a zero byte ends each argument, and the exit status comes before the text.
fn run_command<'local>(
    env: &mut Env<'local>,
    _: JClass<'local>,
    arguments: JByteArray<'local>,
) -> Outcome<JByteArray<'local>> {
    let arguments = copy(env, &arguments)?;
    let arguments = String::from_utf8_lossy(&arguments);
    let outcome = inspect::run(arguments.split_terminator('\0').map(Into::into));
    let answer = [&[outcome.status], outcome.text.as_bytes()].concat();
    Ok(env.byte_array_from_slice(&answer)?)
}

fn copy(env: &Env<'_>, array: &JByteArray<'_>) -> Outcome<Bytes> {
    copy_nullable(env, array)?.ok_or_else(is_null)
}

fn is_null() -> BoundaryError {
    BoundaryError::new("An array must not be null.".to_owned())
}

fn copy_nullable(env: &Env<'_>, array: &JByteArray<'_>) -> Outcome<Option<Bytes>> {
    if array.is_null() {
        return Ok(None);
    }
    Ok(Some(Bytes::from(env.convert_byte_array(array)?)))
}
