//! The types that TSDL declares.

use std::sync::Arc;

use crate::error::Place;

/// Byte order as an integer declares it; `None` means that of the trace.
pub(crate) type Order = Option<BigEndian>;

/// Whether the highest byte comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BigEndian(pub bool);

/// A declared type. Shared, because a name can be used many times.
#[derive(Debug, PartialEq)]
pub(crate) struct Type {
    pub kind: Kind,
    /// Alignment in bits, a power of two.
    pub align: u32,
    /// Size in bits from an aligned start; `None` if it depends on the data.
    pub size: Option<u64>,
    /// Types within types, this one included: names let them nest deeper than the text does.
    pub depth: u32,
    /// What fields of it are for, as CTF 2 says it; CTF 1.8 says it by the fields' names.
    pub roles: Roles,
}

/// What a field is for (CTF2-SPEC-2.0, 5.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Magic,
    StreamClass,
    Stream,
    Uuid,
    PacketSize,
    ContentSize,
    Timestamp,
    EndTimestamp,
    Discarded,
    Sequence,
    EventClass,
}

/// Some roles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Roles(u16);

impl Roles {
    pub fn with(self, role: Role) -> Self {
        Self(self.0 | 1 << role as u16)
    }

    pub fn has(self, role: Role) -> bool {
        self.0 & (1 << role as u16) != 0
    }
}

/// Far beyond real traces, and little enough that recursion is safe.
const DEEPEST: u32 = 64;

#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Integer(IntegerType),
    /// An integer of seven bits a byte, the lowest first, until a byte without its highest bit (LEB128).
    Variable {
        signed: bool,
    },
    Float {
        bits: u8,
        order: Order,
    },
    Text,
    Enum {
        integer: IntegerType,
        mappings: Vec<Mapping>,
    },
    Struct(Vec<Member>),
    Variant {
        tag: Option<Reference>,
        options: Vec<Member>,
    },
    /// As a variant, by ranges of the selector's value, both ends included: the first that holds it counts.
    Choice {
        selector: Reference,
        ranges: Vec<(i128, i128, usize)>,
        options: Vec<Member>,
    },
    Array {
        element: Arc<Type>,
        length: u64,
    },
    Sequence {
        element: Arc<Type>,
        length: Reference,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IntegerType {
    pub bits: u8,
    pub signed: bool,
    pub align: u32,
    pub order: Order,
    /// Whether arrays of it are text.
    pub text: bool,
    /// Name of the clock that it is a reading of.
    pub clock: Option<ClockName>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClockName {
    pub name: String,
    pub place: Place,
}

/// Values of an enumeration that have a label, both ends included.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapping {
    pub label: String,
    pub low: i128,
    pub high: i128,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub name: String,
    pub kind: Arc<Type>,
}

/// A field named elsewhere: the tag of a variant or the length of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    pub path: Vec<String>,
    /// How many of the structures around it are passed over.
    pub up: usize,
    pub place: Place,
}

impl Type {
    pub fn integer(integer: IntegerType) -> Self {
        Self {
            align: integer.align,
            size: Some(integer.bits.into()),
            kind: Kind::Integer(integer),
            depth: 1,
            roles: Roles::default(),
        }
    }

    pub fn enumeration(integer: IntegerType, mappings: Vec<Mapping>) -> Self {
        Self {
            align: integer.align,
            size: Some(integer.bits.into()),
            kind: Kind::Enum { integer, mappings },
            depth: 1,
            roles: Roles::default(),
        }
    }

    pub fn float(bits: u8, align: u32, order: Order) -> Self {
        Self {
            kind: Kind::Float { bits, order },
            align,
            size: Some(bits.into()),
            depth: 1,
            roles: Roles::default(),
        }
    }

    pub fn text() -> Self {
        Self {
            kind: Kind::Text,
            align: 8,
            size: None,
            depth: 1,
            roles: Roles::default(),
        }
    }

    /// `None` if the size overflows or it nests too deep.
    pub fn structure(members: Vec<Member>, least_align: u32) -> Option<Self> {
        let align = members
            .iter()
            .map(|member| member.kind.align)
            .fold(least_align, u32::max);
        let mut size = Some(0u64);
        for member in &members {
            size = match (size, member.kind.size) {
                (Some(size), Some(member_size)) => Some(
                    size.checked_next_multiple_of(member.kind.align.into())?
                        .checked_add(member_size)?,
                ),
                _ => None,
            };
        }
        Some(Self {
            depth: depth_above(&members)?,
            roles: Roles::default(),
            kind: Kind::Struct(members),
            align,
            size,
        })
    }

    /// An integer of unknown length.
    pub fn variable(signed: bool) -> Self {
        Self {
            kind: Kind::Variable { signed },
            align: 8,
            size: None,
            depth: 1,
            roles: Roles::default(),
        }
    }

    /// `None` if it nests too deep.
    pub fn choice(
        selector: Reference,
        ranges: Vec<(i128, i128, usize)>,
        options: Vec<Member>,
    ) -> Option<Self> {
        Some(Self {
            depth: depth_above(&options)?,
            kind: Kind::Choice {
                selector,
                ranges,
                options,
            },
            align: 1,
            size: None,
            roles: Roles::default(),
        })
    }

    /// `None` if it nests too deep.
    pub fn variant(tag: Option<Reference>, options: Vec<Member>) -> Option<Self> {
        Some(Self {
            depth: depth_above(&options)?,
            roles: Roles::default(),
            kind: Kind::Variant { tag, options },
            align: 1,
            size: None,
        })
    }

    /// `None` if the size overflows or it nests too deep.
    pub fn array(element: Arc<Self>, length: u64) -> Option<Self> {
        let size = match (element.size, length) {
            (_, 0) => Some(0),
            (Some(size), length) => Some(
                size.checked_next_multiple_of(element.align.into())?
                    .checked_mul(length - 1)?
                    .checked_add(size)?,
            ),
            (None, _) => None,
        };
        Some(Self {
            align: element.align,
            size,
            depth: deeper(element.depth)?,
            roles: Roles::default(),
            kind: Kind::Array { element, length },
        })
    }

    /// `None` if it nests too deep.
    pub fn sequence(element: Arc<Self>, length: Reference) -> Option<Self> {
        Some(Self {
            align: element.align,
            size: None,
            depth: deeper(element.depth)?,
            roles: Roles::default(),
            kind: Kind::Sequence { element, length },
        })
    }

    /// The integer below an integer or enumeration.
    pub fn as_integer(&self) -> Option<&IntegerType> {
        match &self.kind {
            Kind::Integer(integer) | Kind::Enum { integer, .. } => Some(integer),
            _ => None,
        }
    }
}

fn deeper(depth: u32) -> Option<u32> {
    (depth < DEEPEST).then_some(depth + 1)
}

fn depth_above(members: &[Member]) -> Option<u32> {
    deeper(
        members
            .iter()
            .map(|member| member.kind.depth)
            .fold(0, u32::max),
    )
}
