//! The handle that Java holds: a queue into the loop, and what the loop takes over when it begins.

use std::sync::{Mutex, PoisonError};

use jni::sys::jlong;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::runtime::Message;
use crate::settings::Settings;

use super::throw::BoundaryError;

/// One for each coordinator. Java's `NativeCoordinator` passes it on only under its lock, and destroys it once, so that
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
