//! The checkpoint's properties behind the operators: a Java object as `ObjectOutputStream` writes it. It has no length
//! of its own before it, so only going through it tells whether it is all there.
//!
//! ```text
//! stream   u16 magic | u16 version | content
//! content  u8 kind | null: nothing | reference: i32 | string: text | enum: class, content
//!          | object: class, for each class from the topmost on its fields in order
//! class    null, reference or: text name | i64 | u8 flags | u16 count, fields | annotations | content, the class above it
//! field    u8 type | text name | of objects and arrays: content, its type
//! ```

use crate::error::Result;

use super::reader::{Reader, corrupt};

const MAGIC: i32 = 0xaced_0005_u32 as i32;
const FIRST_REFERENCE: i32 = 0x7e_0000;
const END_OF_ANNOTATIONS: u8 = 0x78;
const SERIALIZABLE: u8 = 2;

/// Objects lie inside each other, but never this deep.
const DEPTH_MAX: u32 = 16;

/// Is it a savepoint's? Its properties name the class of its type, and only the one that it is of.
pub(super) fn is_savepoint(read: &mut Reader) -> Result<bool> {
    if read.i32()? != MAGIC {
        return Err(read.error("no properties of the checkpoint"));
    }
    let mut objects = Objects { known: Vec::new(), names: Vec::new() };
    objects.content(read, DEPTH_MAX)?;
    if read.remaining() > 0 {
        return Err(read.error(format!("{} bytes after the checkpoint's properties", read.remaining())));
    }
    let names = |class: &str| objects.names.iter().any(|name| name.ends_with(class));
    match (names(".checkpoint.SavepointType"), names(".checkpoint.CheckpointType")) {
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        (true, true) | (false, false) => Err(corrupt(
            "found properties that name neither a checkpoint's type nor a savepoint's".to_owned(),
        )),
    }
}

#[derive(Clone)]
struct Class {
    flags: u8,
    fields: Vec<u8>,
    above: Option<usize>,
}

struct Objects {
    /// What a reference may mean, in the order of the stream; nothing but classes is looked up.
    known: Vec<Option<Class>>,
    names: Vec<String>,
}

impl Objects {
    fn content(&mut self, read: &mut Reader, depth: u32) -> Result<()> {
        match read.u8()? {
            0x70 => Ok(()),
            0x71 => read.i32().map(drop),
            0x74 => {
                self.known.push(None);
                read.skip_text()
            }
            0x7e if depth > 0 => {
                self.class(read, depth - 1)?;
                self.known.push(None);
                self.content(read, depth - 1)
            }
            0x73 if depth > 0 => {
                let class = self.class(read, depth - 1)?;
                self.known.push(None);
                self.fields(read, class, depth - 1)
            }
            other => Err(read.error(format!("a Java object of unknown kind {other:#04x}"))),
        }
    }

    fn class(&mut self, read: &mut Reader, depth: u32) -> Result<Option<usize>> {
        match read.u8()? {
            0x70 => Ok(None),
            0x71 => {
                let place = usize::try_from(read.i32()?.wrapping_sub(FIRST_REFERENCE)).ok();
                let place = place.filter(|&place| matches!(self.known.get(place), Some(Some(_))));
                place.map(Some).ok_or_else(|| read.error("a reference to no class"))
            }
            0x72 if depth > 0 => {
                let name = read.text()?;
                self.names.push(name);
                read.i64()?;
                let place = self.known.len();
                self.known.push(None);
                let flags = read.u8()?;
                let mut fields = Vec::new();
                for _ in 0..read.u16()? {
                    let kind = read.u8()?;
                    read.skip_text()?;
                    if matches!(kind, b'L' | b'[') {
                        self.content(read, depth - 1)?;
                    }
                    fields.push(kind);
                }
                if read.u8()? != END_OF_ANNOTATIONS {
                    return Err(read.error("an annotated class"));
                }
                let above = self.class(read, depth - 1)?;
                self.known[place] = Some(Class { flags, fields, above });
                Ok(Some(place))
            }
            other => Err(read.error(format!("a Java class of unknown kind {other:#04x}"))),
        }
    }

    fn fields(&mut self, read: &mut Reader, class: Option<usize>, depth: u32) -> Result<()> {
        // A class is known after the one above it, so this ends.
        let Some(class) = class.and_then(|place| self.known.get(place).cloned().flatten()) else {
            return Ok(());
        };
        if depth == 0 || class.flags != SERIALIZABLE {
            return Err(read.error("a Java object that is written in its own way"));
        }
        self.fields(read, class.above, depth - 1)?;
        for kind in class.fields {
            match kind {
                b'B' | b'Z' => read.skip(1)?,
                b'C' | b'S' => read.skip(2)?,
                b'F' | b'I' => read.skip(4)?,
                b'D' | b'J' => read.skip(8)?,
                b'L' | b'[' => self.content(read, depth - 1)?,
                other => return Err(read.error(format!("a Java field of unknown type {other:#04x}"))),
            }
        }
        Ok(())
    }
}
