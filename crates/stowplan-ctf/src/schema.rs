//! What an event looks like: its number, name and fields, known at compile time.

/// How a field is stored. All kinds are little-endian and byte-aligned, so an
/// event never contains padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits, shown in base 16: a pointer, as LTTng's `ctf_integer_hex`.
    Hex64,
    /// IEEE 754 double precision.
    F64,
    /// UTF-8, ended by a zero byte.
    Text,
    /// A fixed array of so many bytes.
    Bytes(u16),
}

/// A field of an event class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name as readers see it (the metadata text puts `_` before it, as LTTng does).
    pub name: &'static str,
    /// How it is stored.
    pub kind: FieldKind,
}

/// A kind of event: one tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventClass {
    /// The number in the event header.
    pub id: u16,
    /// `provider:tracepoint`.
    pub name: &'static str,
    /// The fields in the order in which they are stored.
    pub fields: &'static [Field],
}

/// An address that identifies an object within its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Handle(pub u64);

/// A DDS global identifier as ROS 2 Jazzy stores it (`TRACETOOLS_GID_STORAGE_SIZE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Gid(pub [u8; 24]);

/// An event that can be written: the typed form of an [`EventClass`].
pub trait Record {
    /// The class that the values belong to.
    const CLASS: EventClass;

    /// Bytes that [`Record::encode`] will write.
    fn size(&self) -> usize;

    /// Writes the fields to the front of `out`.
    ///
    /// # Panics
    /// If `out` is shorter than [`Record::size`].
    fn encode(&self, out: &mut [u8]);
}

/// A value that can be a field.
pub trait FieldValue {
    /// How it is stored.
    const KIND: FieldKind;

    /// Bytes that [`FieldValue::encode`] will write.
    fn size(&self) -> usize;

    /// Writes the value to the front of `out` and returns the bytes written.
    ///
    /// # Panics
    /// If `out` is shorter than [`FieldValue::size`].
    fn encode(&self, out: &mut [u8]) -> usize;
}

macro_rules! number {
    ($type:ty, $kind:ident) => {
        impl FieldValue for $type {
            const KIND: FieldKind = FieldKind::$kind;

            #[inline(always)]
            fn size(&self) -> usize {
                size_of::<$type>()
            }

            #[inline(always)]
            fn encode(&self, out: &mut [u8]) -> usize {
                const SIZE: usize = size_of::<$type>();
                out[..SIZE].copy_from_slice(&self.to_le_bytes());
                SIZE
            }
        }
    };
}

number!(u8, U8);
number!(u32, U32);
number!(i32, I32);
number!(u64, U64);
number!(i64, I64);
number!(f64, F64);

impl FieldValue for Handle {
    const KIND: FieldKind = FieldKind::Hex64;

    #[inline(always)]
    fn size(&self) -> usize {
        8
    }

    #[inline(always)]
    fn encode(&self, out: &mut [u8]) -> usize {
        self.0.encode(out)
    }
}

impl FieldValue for Gid {
    const KIND: FieldKind = FieldKind::Bytes(24);

    #[inline(always)]
    fn size(&self) -> usize {
        24
    }

    #[inline(always)]
    fn encode(&self, out: &mut [u8]) -> usize {
        out[..24].copy_from_slice(&self.0);
        24
    }
}

/// Text is stored up to its first zero byte, because that byte ends it.
impl FieldValue for &str {
    const KIND: FieldKind = FieldKind::Text;

    #[inline]
    fn size(&self) -> usize {
        stored(self).len() + 1
    }

    #[inline]
    fn encode(&self, out: &mut [u8]) -> usize {
        let text = stored(self);
        out[..text.len()].copy_from_slice(text);
        out[text.len()] = 0;
        text.len() + 1
    }
}

fn stored(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_its_first_zero_byte() {
        let mut out = [0xff; 8];
        assert_eq!("ab\0cd".size(), 3);
        assert_eq!("ab\0cd".encode(&mut out), 3);
        assert_eq!(out, [b'a', b'b', 0, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn numbers_are_little_endian() {
        let mut out = [0; 8];
        assert_eq!(Handle(0x0102_0304_0506_0708).encode(&mut out), 8);
        assert_eq!(out, [8, 7, 6, 5, 4, 3, 2, 1]);
    }
}
