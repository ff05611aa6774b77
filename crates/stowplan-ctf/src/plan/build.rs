//! From declared types to runs.

mod lookup;

use std::collections::HashMap;

use self::lookup::int_at;
use super::field::{IntAt, Length, Shape};
use super::run::{Run, Then};
use crate::bits::Int;
use crate::error::{MetadataError, Place};
use crate::tsdl::document::Document;
use crate::tsdl::types::{BigEndian, IntegerType, Kind, Member, Order, Reference, Type};

/// Bytes that the fields of all classes may take together, roughly, for a text of so many
/// bytes: a kernel trace takes some megabytes, about ten for each of its text. Type names
/// make many fields out of little text.
pub(super) fn budget(text: usize) -> usize {
    const MOST: usize = 64 << 20;
    const LEAST: usize = 1 << 20;
    const PER_BYTE: usize = 256;
    text.saturating_mul(PER_BYTE).clamp(LEAST, MOST)
}

/// Bytes of a field beside its name, roughly.
const FIELD_COST: usize = 128;

/// Bits of a run's fixed part: no real event comes near.
const LARGEST_RUN: u64 = 1 << 31;

pub(super) struct Builder<'d> {
    document: &'d Document,
    /// The block that is compiled, for errors.
    block: Place,
    budget: &'d mut usize,
    runs: Vec<Run>,
    open: Option<Open>,
    next_base: u32,
    fields: Vec<Placed<'d>>,
    by_name: HashMap<String, usize>,
    /// Where the next field goes: its scope and the members above it.
    path: Vec<&'d str>,
    /// Fields of array elements have no place of their own.
    hidden: bool,
}

/// A run that still grows.
struct Open {
    align: u32,
    base: u32,
    bits: u64,
}

struct Placed<'d> {
    /// Scope and members, joined by dots.
    name: String,
    base: u32,
    offset: u32,
    shape: Shape,
    kind: &'d Type,
    hidden: bool,
}

impl<'d> Builder<'d> {
    pub fn new(document: &'d Document, block: Place, budget: &'d mut usize) -> Self {
        Self {
            document,
            block,
            budget,
            runs: Vec::new(),
            open: None,
            next_base: 0,
            fields: Vec::new(),
            by_name: HashMap::new(),
            path: Vec::new(),
            hidden: false,
        }
    }

    /// Places the structure of a scope.
    pub fn scope(&mut self, name: &'d str, kind: &'d Type) -> Result<(), MetadataError> {
        if !matches!(kind.kind, Kind::Struct(_)) {
            return Err(MetadataError::new(
                self.block,
                format!("`{name}` must be a structure"),
            ));
        }
        self.path.push(name);
        self.place(kind)?;
        self.path.pop();
        Ok(())
    }

    fn place(&mut self, kind: &'d Type) -> Result<(), MetadataError> {
        self.spend(FIELD_COST)?;
        match &kind.kind {
            Kind::Struct(members) => {
                self.align(kind.align)?;
                self.members(members)
            }
            Kind::Integer(integer) | Kind::Enum { integer, .. } => {
                let shape = Shape::Int(self.int_of(integer));
                self.fixed(kind, shape)
            }
            Kind::Float { bits, order } => {
                let shape = Shape::Float {
                    bits: *bits,
                    big_endian: self.big_endian(*order),
                };
                self.fixed(kind, shape)
            }
            Kind::Text => {
                self.note(kind, Shape::Text)?;
                self.end_run(Then::Text);
                Ok(())
            }
            Kind::Array { element, length } => {
                let shape = self.array_shape(element, Length::Fixed(*length));
                if kind.size.is_some() {
                    return self.fixed(kind, shape);
                }
                self.note(kind, shape)?;
                self.each(element, Length::Fixed(*length))
            }
            Kind::Sequence { element, length } => self.sequence(kind, element, length),
            Kind::Variant { tag, options } => self.variant(tag.as_ref(), options),
            Kind::Variable { signed } => {
                let (bits, signed) = (Int::VARIABLE, *signed);
                let shape = Shape::Int(Int {
                    bits,
                    signed,
                    big_endian: false,
                });
                self.note(kind, shape)?;
                self.end_run(Then::Variable);
                Ok(())
            }
            Kind::Choice {
                selector,
                ranges,
                options,
            } => {
                let at = self.resolve(selector)?.0;
                self.spend(size_of_val(ranges.as_slice()))?;
                self.choice(at, ranges.clone(), options)
            }
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), MetadataError> {
        let too_many =
            || MetadataError::new(self.block, "the events have too many fields together");
        *self.budget = self.budget.checked_sub(bytes).ok_or_else(too_many)?;
        Ok(())
    }

    fn members(&mut self, members: &'d [Member]) -> Result<(), MetadataError> {
        for member in members {
            self.path.push(&member.name);
            self.place(&member.kind)?;
            self.path.pop();
        }
        Ok(())
    }

    fn sequence(
        &mut self,
        kind: &'d Type,
        element: &'d Type,
        length: &Reference,
    ) -> Result<(), MetadataError> {
        let at = self.resolve(length)?.0;
        let shape = self.array_shape(element, Length::At(at));
        self.note(kind, shape)?;
        let Some(last) = element.size else {
            return self.each(element, Length::At(at));
        };
        let stride = last
            .checked_next_multiple_of(element.align.into())
            .ok_or_else(|| MetadataError::new(length.place, "element is too large"))?;
        self.end_run(Then::Elements {
            length: at,
            stride,
            last,
        });
        Ok(())
    }

    fn each(&mut self, element: &'d Type, length: Length) -> Result<(), MetadataError> {
        let hidden = std::mem::replace(&mut self.hidden, true);
        let body = self.runs_of(|builder| builder.place(element))?;
        self.hidden = hidden;
        self.end_run(Then::Each { length, body });
        Ok(())
    }

    fn variant(
        &mut self,
        tag: Option<&Reference>,
        options: &'d [Member],
    ) -> Result<(), MetadataError> {
        let Some(tag) = tag else {
            return Err(MetadataError::new(
                self.block,
                format!("variant `{}` has no tag", self.path.join(".")),
            ));
        };
        let (at, kind) = self.resolve(tag)?;
        let Kind::Enum { mappings, .. } = &kind.kind else {
            return Err(MetadataError::new(
                tag.place,
                format!("tag `{}` is not an enumeration", tag.path.join(".")),
            ));
        };
        let ranges = mappings
            .iter()
            .filter_map(|mapping| {
                let same = |option: &Member| bare(&option.name) == bare(&mapping.label);
                let option = options.iter().position(same)?;
                Some((mapping.low, mapping.high, option))
            })
            .collect();
        self.choice(at, ranges, options)
    }

    fn choice(
        &mut self,
        at: IntAt,
        ranges: Vec<(i128, i128, usize)>,
        options: &'d [Member],
    ) -> Result<(), MetadataError> {
        let first = self.next_base;
        let mut blocks = Vec::new();
        for option in options {
            // One without a name is called as the field itself.
            let depth = self.path.len();
            self.path
                .extend((!option.name.is_empty()).then_some(option.name.as_str()));
            blocks.push(self.runs_of(|builder| builder.place(&option.kind))?);
            self.path.truncate(depth);
        }
        let bases = first..self.next_base;
        self.end_run(Then::Variant {
            tag: at,
            ranges,
            options: blocks,
            bases,
        });
        Ok(())
    }

    /// What `inner` places, as runs of their own.
    fn runs_of(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<(), MetadataError>,
    ) -> Result<Vec<Run>, MetadataError> {
        let (runs, open) = (std::mem::take(&mut self.runs), self.open.take());
        inner(self)?;
        self.close();
        self.open = open;
        Ok(std::mem::replace(&mut self.runs, runs))
    }

    /// Makes sure that the open run is at a multiple of `align`.
    fn align(&mut self, align: u32) -> Result<(), MetadataError> {
        if self.open.as_ref().is_none_or(|open| open.align < align) {
            // Where the run before ends is not known to that many bits: a new one begins.
            self.close();
            self.open = Some(Open {
                align,
                base: self.next_base,
                bits: 0,
            });
            self.next_base += 1;
        }
        if let Some(open) = &mut self.open {
            open.bits = open.bits.next_multiple_of(align.into());
            self.check_size()?;
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), MetadataError> {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.bits > LARGEST_RUN)
        {
            return Err(MetadataError::new(
                self.block,
                format!("`{}` is too large", self.path.join(".")),
            ));
        }
        Ok(())
    }

    /// Places something of fixed size.
    fn fixed(&mut self, kind: &'d Type, shape: Shape) -> Result<(), MetadataError> {
        self.note(kind, shape)?;
        if let (Some(open), Some(size)) = (&mut self.open, kind.size) {
            open.bits = open.bits.saturating_add(size);
        }
        self.check_size()
    }

    /// Notes where the next field begins.
    fn note(&mut self, kind: &'d Type, shape: Shape) -> Result<(), MetadataError> {
        self.align(kind.align)?;
        let name = self.path.join(".");
        self.spend(2 * name.len())?;
        if let Some(open) = &self.open {
            self.by_name.insert(name.clone(), self.fields.len());
            self.fields.push(Placed {
                name,
                base: open.base,
                // `check_size` keeps it far below the limit.
                offset: u32::try_from(open.bits).unwrap_or(u32::MAX),
                shape,
                kind,
                hidden: self.hidden,
            });
        }
        Ok(())
    }

    fn end_run(&mut self, then: Then) {
        let open = self.open.take().unwrap_or_else(|| {
            // A variant may follow something of unknown size directly.
            self.next_base += 1;
            Open {
                align: 1,
                base: self.next_base - 1,
                bits: 0,
            }
        });
        self.runs.push(Run {
            align: open.align,
            base: open.base,
            bits: open.bits,
            then,
        });
    }

    fn close(&mut self) {
        if self.open.is_some() {
            self.end_run(Then::Nothing);
        }
    }

    /// Ends the runs of the event header and says how many there are.
    pub fn close_header(&mut self) -> usize {
        self.close();
        self.runs.len()
    }

    pub fn finish(mut self) -> Vec<Run> {
        self.close();
        self.runs
    }

    /// Number of bases in use.
    pub fn bases(&self) -> usize {
        self.next_base as usize
    }

    fn big_endian(&self, order: Order) -> bool {
        let BigEndian(big) = order.unwrap_or(self.document.byte_order);
        big
    }

    fn int_of(&self, integer: &IntegerType) -> Int {
        Int {
            bits: integer.bits,
            signed: integer.signed,
            big_endian: self.big_endian(integer.order),
        }
    }

    fn array_shape(&self, element: &Type, length: Length) -> Shape {
        let stride = element
            .size
            .and_then(|size| size.checked_next_multiple_of(element.align.into()))
            .and_then(|stride| u32::try_from(stride).ok());
        match (element.as_integer(), stride) {
            (Some(integer), Some(stride)) => Shape::Array {
                element: self.int_of(integer),
                stride,
                text: integer.text && integer.bits == 8,
                length,
            },
            _ => Shape::Skipped,
        }
    }

    /// The integer that a tag or length names: a field of the same structure, of one
    /// around it, or a path from a scope.
    fn resolve(&self, reference: &Reference) -> Result<(IntAt, &'d Type), MetadataError> {
        let wanted = reference.path.join(".");
        let absolute = self.find(&wanted);
        // The path has the field itself, too.
        let over = reference.up + usize::from(reference.up > 0);
        let depths = self.path.len().saturating_sub(over);
        let found = (1..=depths)
            .rev()
            .find_map(|depth| self.find(&format!("{}.{wanted}", self.path[..depth].join("."))))
            .or(absolute);
        found
            .and_then(|placed| Some((int_at(placed)?, placed.kind)))
            .ok_or_else(|| {
                MetadataError::new(
                    reference.place,
                    format!("`{wanted}` is not an integer field before this"),
                )
            })
    }
}

/// A name without the `_` that keeps it apart from keywords.
fn bare(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}
