//! Where a field stands and how to read it.

use crate::bits::Int;

/// A field of a class with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldInfo {
    /// Its name, without the `_` that LTTng puts before it.
    pub name: String,
    /// What [`Event`](crate::reader::Event) reads it with.
    pub field: FieldRef,
}

/// A field of one event class, resolved: reading it does not search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRef {
    pub(crate) class: u32,
    pub(crate) base: u32,
    /// Bits after the base.
    pub(crate) offset: u32,
    pub(crate) shape: Shape,
}

/// How the bits of a field are to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Int(Int),
    Float {
        bits: u8,
        big_endian: bool,
    },
    /// Bytes up to a zero.
    Text,
    /// Integers, `stride` bits from one to the next.
    Array {
        element: Int,
        stride: u32,
        text: bool,
        length: Length,
    },
    /// Something that is skipped only: arrays of structures, for example.
    Skipped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Fixed(u64),
    At(IntAt),
}

/// An integer at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IntAt {
    pub base: u32,
    /// Bits after the base.
    pub offset: u32,
    pub int: Int,
}

impl IntAt {
    fn at(self, bases: &[u64]) -> Option<u64> {
        position(bases, self.base, self.offset)
    }

    /// The bits as a number without sign; `None` if the field is not present.
    #[inline]
    pub fn raw(self, data: &[u8], bases: &[u64]) -> Option<u64> {
        self.int.raw(data, self.at(bases)?)
    }

    /// The number with its sign; `None` if the field is not present.
    pub fn value(self, data: &[u8], bases: &[u64]) -> Option<i128> {
        self.int.value(data, self.at(bases)?)
    }
}

/// Two fields of 32 bits as one of 64, if the second follows the first.
pub(super) fn beside(first: Option<FieldRef>, second: Option<FieldRef>) -> Option<FieldRef> {
    let (first, second) = first.zip(second)?;
    let (Shape::Int(one), Shape::Int(other)) = (first.shape, second.shape) else {
        return None;
    };
    let follows = first.base == second.base && first.offset + 32 == second.offset;
    let is_half = |int: Int| int.bits == 32 && !int.big_endian;
    let whole = Int {
        bits: 64,
        signed: false,
        big_endian: false,
    };
    (follows && is_half(one) && is_half(other)).then_some(FieldRef {
        shape: Shape::Int(whole),
        ..first
    })
}

/// Where a field stands, in bits from the start of the packet; `None` if it is
/// part of an option that the event does not have.
#[inline]
pub(crate) fn position(bases: &[u64], base: u32, offset: u32) -> Option<u64> {
    let base = *bases.get(base as usize)?;
    (base != super::UNSET).then(|| base + u64::from(offset))
}
