//! All names of Java live here: calls from the loop into `CoordinatorHost`.

use bytes::Bytes;
use jni::objects::{JByteBuffer, JClass, JMethodID, JObject, JObjectArray, JString};
use jni::signature::{Primitive, ReturnType, RuntimeMethodSignature};
use jni::strings::JNIString;
use jni::sys::jvalue;
use jni::{Env, jni_str};
use tracing::Level;

use crate::coordinator::Status;
use crate::coordinator::command::{Answer, Commit, FutureId, RequestId};
use crate::error::Error;
use crate::runtime::{Epoch, Host, LogLine};

use super::Payload;
use super::throw::BoundaryError;

/// More local references than one upcall without payloads makes.
const LOCAL_REFERENCES: usize = 16;

/// Calls up into Java. Method ids are looked up once for each loop and live as long as it.
pub(super) struct JavaHost<'env, 'local> {
    env: &'env mut Env<'local>,
    host: JObject<'local>,
    methods: Methods,
}

struct Methods {
    open_committer: JMethodID,
    commit: JMethodID,
    delete_tag: JMethodID,
    complete_checkpoint: JMethodID,
    fail_checkpoint: JMethodID,
    answer: JMethodID,
    fail_job: JMethodID,
    show: JMethodID,
    log: JMethodID,
}

impl<'env, 'local> JavaHost<'env, 'local> {
    pub(super) fn new(env: &'env mut Env<'local>, host: JObject<'local>) -> Result<Self, BoundaryError> {
        let class = env.get_object_class(&host)?;
        let methods = Methods {
            open_committer: method(env, &class, "openCommitter", "(JLjava/lang/String;Z[B)V")?,
            commit: method(env, &class, "commit", "(JJLjava/lang/String;JJZZI[I[I[Ljava/nio/ByteBuffer;)V")?,
            delete_tag: method(env, &class, "deleteTag", "(JLjava/lang/String;J)V")?,
            complete_checkpoint: method(env, &class, "completeCheckpoint", "(J[B)V")?,
            fail_checkpoint: method(env, &class, "failCheckpoint", "(JLjava/lang/String;)V")?,
            answer: method(env, &class, "answer", "(JIJ)V")?,
            fail_job: method(env, &class, "failJob", "(Ljava/lang/String;Z)V")?,
            show: method(env, &class, "show", "([J)V")?,
            log: method(env, &class, "log", "(ILjava/lang/String;)V")?,
        };
        Ok(Self { env, host, methods })
    }

    /// One upcall in a frame of its own: the native that the loop runs in never returns, so nothing else would free its
    /// local references. The arguments must be those of the method's signature.
    fn call(
        &mut self,
        method: impl FnOnce(&Methods) -> JMethodID,
        references: usize,
        arguments: impl FnOnce(&mut Env<'_>) -> Result<Vec<jvalue>, BoundaryError>,
    ) -> Result<(), BoundaryError> {
        let method = method(&self.methods);
        let host = &self.host;
        self.env.with_local_frame(references, |env| {
            let arguments = arguments(env)?;
            let returns = ReturnType::Primitive(Primitive::Void);
            // SAFETY: the method id is of the host's class, and each caller passes what the signature beside it names.
            unsafe { env.call_method_unchecked(host, method, returns, &arguments) }?;
            Ok(())
        })
    }
}

impl Host for JavaHost<'_, '_> {
    type Error = BoundaryError;
    type Payload = Payload;

    fn read(&mut self, payload: Payload) -> Result<Bytes, BoundaryError> {
        Ok(Bytes::from(self.env.convert_byte_array(&*payload)?))
    }

    fn open_committer(
        &mut self,
        epoch: Epoch,
        commit_user: &str,
        restored: bool,
        committer_state: Option<&[u8]>,
    ) -> Result<(), BoundaryError> {
        self.call(
            |methods| methods.open_committer,
            LOCAL_REFERENCES,
            |env| {
                Ok(vec![
                    long(epoch),
                    string(env, commit_user)?,
                    boolean(restored),
                    bytes(env, committer_state)?,
                ])
            },
        )
    }

    fn commit(&mut self, epoch: Epoch, commit: &Commit) -> Result<(), BoundaryError> {
        let references = LOCAL_REFERENCES + commit.entries.len();
        self.call(
            |methods| methods.commit,
            references,
            |env| {
                let versions: Vec<i32> =
                    commit.entries.iter().map(|entry| entry.serializer_version).collect();
                let counts: Vec<i32> = commit.entries.iter().map(|entry| entry.committable_count).collect();
                let payloads = buffers(env, commit)?;
                Ok(vec![
                    long(epoch),
                    long(commit.commit.0),
                    string(env, &commit.commit_user)?,
                    long(commit.identifier),
                    long(commit.watermark),
                    boolean(commit.completed),
                    boolean(commit.savepoint),
                    int(i32::try_from(commit.attempt).unwrap_or(i32::MAX)),
                    ints(env, &versions)?,
                    ints(env, &counts)?,
                    object(payloads),
                ])
            },
        )
    }

    fn delete_tag(&mut self, epoch: Epoch, commit_user: &str, identifier: i64) -> Result<(), BoundaryError> {
        self.call(
            |methods| methods.delete_tag,
            LOCAL_REFERENCES,
            |env| Ok(vec![long(epoch), string(env, commit_user)?, long(identifier)]),
        )
    }

    fn complete_checkpoint(&mut self, future: FutureId, state: &[u8]) -> Result<(), BoundaryError> {
        self.call(
            |methods| methods.complete_checkpoint,
            LOCAL_REFERENCES,
            |env| Ok(vec![long(future.0), bytes(env, Some(state))?]),
        )
    }

    fn fail_checkpoint(&mut self, future: FutureId, message: &str) -> Result<(), BoundaryError> {
        self.call(
            |methods| methods.fail_checkpoint,
            LOCAL_REFERENCES,
            |env| Ok(vec![long(future.0), string(env, message)?]),
        )
    }

    fn answer(
        &mut self,
        request: RequestId,
        answer: Answer,
        committed_through: i64,
    ) -> Result<(), BoundaryError> {
        let status = match answer {
            Answer::Held => 1,
            Answer::Resend => 2,
            Answer::Rejected => 3,
            Answer::Go => 4,
            Answer::Wait => 5,
            Answer::GoUnused => 6,
        };
        self.call(
            |methods| methods.answer,
            LOCAL_REFERENCES,
            |_| Ok(vec![long(request.0), int(status), long(committed_through)]),
        )
    }

    fn fail_job(&mut self, error: &Error) -> Result<(), BoundaryError> {
        self.call(
            |methods| methods.fail_job,
            LOCAL_REFERENCES,
            |env| Ok(vec![string(env, &error.message)?, boolean(error.kind.recoverable())]),
        )
    }

    fn show(&mut self, status: &Status) -> Result<(), BoundaryError> {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        // In the order of the constants of `CoordinatorMetrics`.
        let numbers = [
            status.phase,
            status.last_completed_checkpoint,
            status.last_committed_checkpoint,
            count(status.pending_entries),
            count(status.pending_bytes),
            count(status.due_commits),
            count(status.held_checkpoints),
            count(status.awaited_writers),
            count(status.stale_events),
        ];
        self.call(
            |methods| methods.show,
            LOCAL_REFERENCES,
            |env| {
                let array = env.new_long_array(numbers.len())?;
                array.set_region(env, 0, &numbers)?;
                Ok(vec![object(array)])
            },
        )
    }

    fn log(&mut self, line: &LogLine) -> Result<(), BoundaryError> {
        let level = match line.level {
            Level::ERROR => 1,
            Level::WARN => 2,
            Level::INFO => 3,
            Level::DEBUG => 4,
            Level::TRACE => 5,
        };
        self.call(
            |methods| methods.log,
            LOCAL_REFERENCES,
            |env| Ok(vec![int(level), string(env, &line.message)?]),
        )
    }
}

fn method(
    env: &mut Env<'_>,
    class: &JClass<'_>,
    name: &str,
    signature: &str,
) -> Result<JMethodID, BoundaryError> {
    let signature: RuntimeMethodSignature = signature.parse()?;
    Ok(env.get_method_id(class, JNIString::from(name), signature.method_signature())?)
}

/// Rust's memory, lent to Java until the upcall returns.
fn buffers<'local>(env: &mut Env<'local>, commit: &Commit) -> Result<JObjectArray<'local>, BoundaryError> {
    let length = i32::try_from(commit.entries.len()).unwrap_or(i32::MAX);
    let array = env.new_object_array(length, jni_str!("java/nio/ByteBuffer"), JObject::null())?;
    for (index, entry) in commit.entries.iter().enumerate() {
        let payload = &entry.payload;
        // SAFETY: the payload outlives the upcall, the host reads it only until it returns, and it never writes.
        let buffer: JByteBuffer<'_> =
            unsafe { env.new_direct_byte_buffer(payload.as_ptr().cast_mut(), payload.len()) }?;
        array.set_element(env, index, &*buffer)?;
    }
    Ok(array)
}

fn long(value: i64) -> jvalue {
    jvalue { j: value }
}

fn int(value: i32) -> jvalue {
    jvalue { i: value }
}

fn boolean(value: bool) -> jvalue {
    jvalue { z: value }
}

fn object<'local>(value: impl Into<JObject<'local>>) -> jvalue {
    jvalue { l: value.into().into_raw() }
}

fn string(env: &mut Env<'_>, value: &str) -> Result<jvalue, BoundaryError> {
    Ok(object(JString::new(env, value)?))
}

fn bytes(env: &mut Env<'_>, value: Option<&[u8]>) -> Result<jvalue, BoundaryError> {
    match value {
        Some(value) => Ok(object(env.byte_array_from_slice(value)?)),
        None => Ok(object(JObject::null())),
    }
}

fn ints(env: &mut Env<'_>, values: &[i32]) -> Result<jvalue, BoundaryError> {
    let array = env.new_int_array(values.len())?;
    array.set_region(env, 0, values)?;
    Ok(object(array))
}
