//! The handle that Java holds: a queue into the loop, and what the loop takes over when it begins.

use std::sync::{Mutex, PoisonError};

use jni::sys::jlong;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::settings::Settings;

use super::Message;
use super::throw::BoundaryError;

/// One for each coordinator. Java's `NativeHandle` passes it on only under its lock, and destroys it once, so that
/// a handle that reaches a native is alive; zero stands for one that is not.
pub(super) struct Handle {
    messages: UnboundedSender<Message>,
    entry: Mutex<Option<(Settings, UnboundedReceiver<Message>)>>,
}

impl Handle {
    pub(super) fn create(settings: Settings) -> jlong {
        let (messages, receiver) = unbounded_channel();
        let entry = Mutex::new(Some((settings, receiver)));
        Box::into_raw(Box::new(Self { messages, entry })) as jlong
    }

    pub(super) fn of<'a>(handle: jlong) -> Result<&'a Self, BoundaryError> {
        let pointer = handle as *const Self;
        // SAFETY: a handle that is not zero came from `create`, and Java passes it on only while it is alive.
        unsafe { pointer.as_ref() }.ok_or_else(BoundaryError::closed)
    }

    pub(super) fn destroy(handle: jlong) -> Result<(), BoundaryError> {
        if handle == 0 {
            return Err(BoundaryError::closed());
        }
        // SAFETY: it came from `create`, and Java forgets it under its lock before this call.
        drop(unsafe { Box::from_raw(handle as *mut Self) });
        Ok(())
    }

    /// What the loop needs, once.
    pub(super) fn enter(&self) -> Result<(Settings, UnboundedReceiver<Message>), BoundaryError> {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        entry
            .take()
            .ok_or_else(|| BoundaryError::new("The loop of this coordinator was entered before.".to_owned()))
    }

    pub(super) fn send(&self, message: Message) -> Result<(), BoundaryError> {
        self.messages.send(message).map_err(|_| BoundaryError::closed())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use bytes::Bytes;

    use super::*;
    use crate::coordinator::command::RequestId;
    use crate::coordinator::event::Event;

    fn settings() -> Settings {
        Settings {
            parallelism: 1,
            max_due_commits: 1,
            checkpoint_hold_millis: 1,
            late_event_millis: 1,
            request_hold_millis: 1,
            commit_retries: 1,
            retry_initial_millis: 1,
            retry_max_millis: 1,
            checkpointing_enabled: true,
            end_input_watermark: None,
            commit_user: "user".to_owned(),
            table_name: "db.t".to_owned(),
            operator_name: "Writer".to_owned(),
        }
    }

    /// A message that owns memory, so that losing or freeing it twice shows under Miri and the address sanitizer.
    fn message(number: i64) -> Message {
        let bytes = Bytes::from(vec![number as u8; 64]);
        Message::Callback(Event::Request { request: RequestId(number), bytes })
    }

    fn send(handle: jlong, number: i64) {
        Handle::of(handle).and_then(|handle| handle.send(message(number))).expect("alive");
    }

    fn text<T>(outcome: Result<T, BoundaryError>) -> String {
        format!("{:?}", outcome.err().expect("refused"))
    }

    #[test]
    fn zero_stands_for_a_handle_that_is_gone() {
        assert!(text(Handle::of(0)).contains("has ended"));
        assert!(text(Handle::destroy(0)).contains("has ended"));
    }

    #[test]
    fn what_is_sent_before_the_loop_enters_is_there_when_it_does() {
        let handle = Handle::create(settings());
        (0..3).for_each(|number| send(handle, number));
        let (entered, mut messages) = Handle::of(handle).and_then(Handle::enter).expect("the first to enter");
        assert_eq!(entered, settings());
        for expected in 0..3 {
            let found = messages.try_recv().expect("sent before");
            assert!(
                matches!(&found, Message::Callback(Event::Request { request, .. }) if request.0 == expected),
                "{found:?}"
            );
        }
        Handle::destroy(handle).expect("alive");
    }

    #[test]
    fn the_loop_is_entered_once() {
        let handle = Handle::create(settings());
        let entered = Handle::of(handle).and_then(Handle::enter).expect("the first to enter");
        assert!(text(Handle::of(handle).and_then(Handle::enter)).contains("entered before"));
        drop(entered);
        Handle::destroy(handle).expect("alive");
    }

    #[test]
    fn s106_a_handle_that_was_never_entered_frees_what_was_sent() {
        let handle = Handle::create(settings());
        (0..3).for_each(|number| send(handle, number));
        Handle::destroy(handle).expect("alive");
    }

    #[test]
    fn s106_after_the_loop_has_ended_messages_are_refused() {
        let handle = Handle::create(settings());
        drop(Handle::of(handle).and_then(Handle::enter).expect("the first to enter"));
        let refused = Handle::of(handle).and_then(|handle| handle.send(message(1)));
        assert!(text(refused).contains("has ended"));
        Handle::destroy(handle).expect("alive");
    }

    /// As in Java: callbacks of several threads while the loop runs, and the loop's thread destroys the handle.
    #[test]
    fn s106_destroyed_while_messages_of_other_threads_are_pending() {
        let handle = Handle::create(settings());
        let senders: Vec<_> = (0..3)
            .map(|sender| {
                thread::spawn(move || (0..20).for_each(|number| send(handle, sender * 100 + number)))
            })
            .collect();
        let running = thread::spawn(move || {
            let (_, mut messages) = Handle::of(handle).and_then(Handle::enter).expect("the first to enter");
            for _ in 0..10 {
                messages.blocking_recv().expect("the handle lives, and sixty are sent");
            }
            messages
        });
        for sender in senders {
            sender.join().expect("every send succeeds");
        }
        let mut messages = running.join().expect("the loop ends");
        Handle::destroy(handle).expect("alive");
        let pending = std::iter::from_fn(|| messages.try_recv().ok()).count();
        assert_eq!(pending, 50, "what was sent before outlives the handle");
    }
}
