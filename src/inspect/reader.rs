//! Reads what Java's `DataOutputStream` wrote, from bytes that may be damaged.

use bytes::{Buf, Bytes};

use crate::error::{Error, ErrorKind, Result};

/// Where it is in the bytes. Never allocates for what the bytes promise, only for what they hold.
pub(super) struct Reader {
    rest: Bytes,
    length: usize,
}

impl Reader {
    pub(super) fn new(bytes: Bytes) -> Self {
        Self { length: bytes.len(), rest: bytes }
    }

    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// An error at this place.
    pub(super) fn error(&self, found: impl std::fmt::Display) -> Error {
        let position = self.length - self.rest.len();
        corrupt(format!("found {found}, before byte {position} of {}", self.length))
    }

    pub(super) fn take(&mut self, length: usize) -> Result<Bytes> {
        if length > self.rest.len() {
            return Err(
                self.error(format!("a part of {length} bytes of which {} are there", self.rest.len()))
            );
        }
        Ok(self.rest.split_to(length))
    }

    pub(super) fn skip(&mut self, length: usize) -> Result<()> {
        self.take(length).map(drop)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.take(1).map(|mut bytes| bytes.get_u8())
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.take(2).map(|mut bytes| bytes.get_u16())
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.take(4).map(|mut bytes| bytes.get_i32())
    }

    pub(super) fn i64(&mut self) -> Result<i64> {
        self.take(8).map(|mut bytes| bytes.get_i64())
    }

    /// A count of things that take so many bytes each at least.
    pub(super) fn count(&mut self, bytes_each: usize) -> Result<usize> {
        let found = self.i32()?;
        match usize::try_from(found) {
            Ok(count) if count.saturating_mul(bytes_each) <= self.rest.len() => Ok(count),
            Ok(_) | Err(_) => {
                Err(self.error(format!("a count of {found} with {} bytes left", self.rest.len())))
            }
        }
    }

    /// A byte string with its i32 length before it.
    pub(super) fn block(&mut self) -> Result<Bytes> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// What `writeUTF` wrote. Characters beyond the basic plane, which Java writes in two halves, are replaced.
    pub(super) fn text(&mut self) -> Result<String> {
        let length = self.u16()?;
        let bytes = self.take(usize::from(length))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn skip_text(&mut self) -> Result<()> {
        let length = self.u16()?;
        self.skip(usize::from(length))
    }
}

pub(super) fn corrupt(message: String) -> Error {
    Error::new(ErrorKind::CorruptState, message)
}
