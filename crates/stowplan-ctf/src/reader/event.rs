//! An event, and how its fields are read.

use std::borrow::Cow;

use memchr::memchr;

use crate::bits::Int;
use crate::plan::{EventClassInfo, FieldRef, Length, Shape, position};

/// An event within its packet.
#[derive(Debug, Clone, Copy)]
pub struct Event<'e> {
    /// Time, nanoseconds since the epoch.
    pub timestamp_ns: i64,
    /// Index of the stream in [`Events::streams`](super::Events::streams).
    pub stream: u32,
    /// Index of the trace in the order in which the traces were given.
    pub trace: u32,
    /// Index of the class in [`Metadata::classes`](crate::metadata::Metadata::classes)
    /// of the trace.
    pub class_index: u32,
    /// CPU of the packet, where the tracer says it.
    pub cpu: Option<u32>,
    pub(super) offset_ns: i64,
    pub(super) class: &'e EventClassInfo,
    pub(super) data: &'e [u8],
    pub(super) bases: &'e [u64],
    /// Where it ends, bits from the front of `data`.
    pub(super) end: u64,
}

/// What names a field: its [`FieldRef`], resolved once, or its name, which is
/// searched for at every call.
pub trait FieldKey {
    /// The field, if the class has it.
    fn resolve(self, class: &EventClassInfo) -> Option<FieldRef>;
}

impl FieldKey for FieldRef {
    /// A field of another class is none.
    #[inline]
    fn resolve(self, class: &EventClassInfo) -> Option<FieldRef> {
        (self.class == class.unique).then_some(self)
    }
}

impl FieldKey for Option<FieldRef> {
    #[inline]
    fn resolve(self, class: &EventClassInfo) -> Option<FieldRef> {
        self?.resolve(class)
    }
}

impl FieldKey for &str {
    fn resolve(self, class: &EventClassInfo) -> Option<FieldRef> {
        class.field(self)
    }
}

/// The elements of an array of integers.
#[derive(Debug, Clone)]
pub struct Integers<'e> {
    data: &'e [u8],
    element: Int,
    stride: u64,
    at: u64,
    left: u64,
}

impl Iterator for Integers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let value = self.element.extended(self.data, self.at)?;
        self.at = self.at.checked_add(self.stride)?;
        Some(value)
    }
}

impl<'e> Event<'e> {
    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> u64 {
        let begin = self.bases.first().copied().unwrap_or(0);
        self.end.saturating_sub(begin) / 8
    }

    /// Its class.
    pub fn class(&self) -> &'e EventClassInfo {
        self.class
    }

    /// `provider:tracepoint`.
    pub fn name(&self) -> &'e str {
        &self.class.name
    }

    /// Time as its own clock reads it, nanoseconds: for CLOCK_MONOTONIC that is
    /// [`Event::timestamp_ns`] less the offset in the metadata.
    pub fn clock_ns(&self) -> i64 {
        self.timestamp_ns.saturating_sub(self.offset_ns)
    }

    #[inline]
    fn int(&self, key: impl FieldKey) -> Option<(Int, u64)> {
        let field = key.resolve(self.class)?;
        match field.shape {
            Shape::Int(int) => {
                let at = position(self.bases, field.base, field.offset)?;
                Some((int, int.extended(self.data, at)?))
            }
            _ => None,
        }
    }

    /// An integer; `None` if there is none of this name, or it is negative.
    #[inline]
    pub fn u64(&self, key: impl FieldKey) -> Option<u64> {
        let (int, bits) = self.int(key)?;
        (!int.signed || bits <= i64::MAX as u64).then_some(bits)
    }

    /// An integer; `None` if there is none of this name, or it is too large.
    #[inline]
    pub fn i64(&self, key: impl FieldKey) -> Option<i64> {
        let (int, bits) = self.int(key)?;
        if int.signed {
            Some(bits as i64)
        } else {
            i64::try_from(bits).ok()
        }
    }

    /// An integer of 64 bits in two's complement, and whether it is negative.
    #[inline]
    pub fn integer(&self, key: impl FieldKey) -> Option<(u64, bool)> {
        let (int, bits) = self.int(key)?;
        Some((bits, int.signed && bits > i64::MAX as u64))
    }

    /// A floating-point number.
    pub fn f64(&self, key: impl FieldKey) -> Option<f64> {
        let field = key.resolve(self.class)?;
        let Shape::Float { bits, big_endian } = field.shape else {
            return None;
        };
        let at = position(self.bases, field.base, field.offset)?;
        let int = Int {
            bits,
            signed: false,
            big_endian,
        };
        let raw = int.raw(self.data, at)?;
        if bits == 32 {
            u32::try_from(raw)
                .ok()
                .map(|raw| f32::from_bits(raw).into())
        } else {
            Some(f64::from_bits(raw))
        }
    }

    /// A text: a string, or an array of characters up to its first zero. What is
    /// not UTF-8 is replaced.
    #[inline]
    pub fn text(&self, key: impl FieldKey) -> Option<Cow<'e, str>> {
        let field = key.resolve(self.class)?;
        let bytes = match field.shape {
            Shape::Text => {
                let at = position(self.bases, field.base, field.offset)?;
                self.data.get(usize::try_from(at / 8).ok()?..)?
            }
            Shape::Array { text: true, .. } => self.bytes(field)?,
            _ => return None,
        };
        let text = &bytes[..memchr(0, bytes).unwrap_or(bytes.len())];
        Some(match str::from_utf8(text) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(text),
        })
    }

    /// An array of bytes, for example a `gid`.
    #[inline]
    pub fn bytes(&self, key: impl FieldKey) -> Option<&'e [u8]> {
        let field = key.resolve(self.class)?;
        let Shape::Array {
            element: Int { bits: 8, .. },
            stride: 8,
            length,
            ..
        } = field.shape
        else {
            return None;
        };
        let at = position(self.bases, field.base, field.offset)?;
        if !at.is_multiple_of(8) {
            return None;
        }
        let start = usize::try_from(at / 8).ok()?;
        let length = usize::try_from(self.length(length)?).ok()?;
        self.data.get(start..start.checked_add(length)?)
    }

    /// The elements of an array of integers; negative ones in two's complement.
    pub fn integers(&self, key: impl FieldKey) -> Option<Integers<'e>> {
        let field = key.resolve(self.class)?;
        let Shape::Array {
            element,
            stride,
            length,
            ..
        } = field.shape
        else {
            return None;
        };
        Some(Integers {
            data: self.data,
            element,
            stride: stride.into(),
            at: position(self.bases, field.base, field.offset)?,
            left: self.length(length)?,
        })
    }

    #[inline]
    fn length(&self, length: Length) -> Option<u64> {
        match length {
            Length::Fixed(length) => Some(length),
            Length::At(at) => at.raw(self.data, self.bases),
        }
    }

    /// Process, as seen in its PID namespace.
    #[inline]
    pub fn vpid(&self) -> Option<i64> {
        self.i64(self.class.vpid)
    }

    /// Thread, as seen in its PID namespace.
    #[inline]
    pub fn vtid(&self) -> Option<i64> {
        self.i64(self.class.vtid)
    }

    /// What tells apart who recorded the events of a trace: `vpid` and `vtid` as one number, where they stand beside each other.
    #[inline]
    pub fn recorder(&self) -> Option<u64> {
        self.u64(self.class.recorder)
    }

    /// Name of the process or thread.
    pub fn procname(&self) -> Option<Cow<'e, str>> {
        self.text(self.class.procname)
    }
}
