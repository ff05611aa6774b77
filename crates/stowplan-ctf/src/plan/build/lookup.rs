//! Finding what was placed: by name, and by what it is for.

use super::{Builder, Placed, bare};
use crate::bits::Int;
use crate::plan::field::{FieldInfo, FieldRef, IntAt, Length, Shape};
use crate::tsdl::types::{ClockName, Role};

impl<'d> Builder<'d> {
    pub(super) fn find(&self, name: &str) -> Option<&Placed<'d>> {
        self.fields.get(*self.by_name.get(name)?)
    }

    /// The integer of this full name.
    pub fn int(&self, name: &str) -> Option<IntAt> {
        self.find(name).and_then(int_at)
    }

    /// The field for something: that with its role, or in CTF 1.8 that of this full name.
    fn wanted(&self, role: Role, name: &str) -> Option<&Placed<'d>> {
        if self.document.has_roles {
            let mut fields = self.fields.iter();
            return fields.find(|placed| placed.kind.roles.has(role) && !placed.hidden);
        }
        self.find(name)
    }

    /// The integer for something.
    pub fn int_for(&self, role: Role, name: &str) -> Option<IntAt> {
        self.wanted(role, name).and_then(int_at)
    }

    /// Integers with a role.
    fn ints_with(&self, role: Role) -> Vec<IntAt> {
        let fields = self.fields.iter();
        fields
            .filter(|placed| placed.kind.roles.has(role) && !placed.hidden)
            .filter_map(int_at)
            .collect()
    }

    /// Integers that may hold the number of an event's class.
    pub fn class_numbers(&self) -> Vec<IntAt> {
        if self.document.has_roles {
            self.ints_with(Role::EventClass)
        } else {
            self.ints_ending("id")
        }
    }

    /// The place of `length` bytes for something.
    pub fn bytes_for(&self, role: Role, name: &str, length: u64) -> Option<(u32, u32)> {
        let placed = self.wanted(role, name)?;
        match placed.shape {
            Shape::Array {
                element: Int { bits: 8, .. },
                stride: 8,
                length: Length::Fixed(found),
                ..
            } if found == length => Some((placed.base, placed.offset)),
            _ => None,
        }
    }

    /// Integers whose last name is this.
    fn ints_ending(&self, name: &str) -> Vec<IntAt> {
        self.fields
            .iter()
            .filter(|placed| placed.name.rsplit('.').next() == Some(name))
            .filter_map(int_at)
            .collect()
    }

    /// The clock that the first clock reading is of.
    pub fn clock_name(&self) -> Option<&'d ClockName> {
        self.fields
            .iter()
            .find_map(|placed| placed.kind.as_integer()?.clock.as_ref())
    }

    /// Integers that are mapped to a clock, or else those named `timestamp`.
    pub fn clock_readings(&self) -> Vec<IntAt> {
        if self.document.has_roles {
            return self.ints_with(Role::Timestamp);
        }
        let mapped: Vec<IntAt> = self
            .fields
            .iter()
            .filter(|placed| {
                placed
                    .kind
                    .as_integer()
                    .is_some_and(|integer| integer.clock.is_some())
            })
            .filter_map(int_at)
            .collect();
        if mapped.is_empty() {
            self.ints_ending("timestamp")
        } else {
            mapped
        }
    }

    /// The fields of a scope as users see them.
    pub fn public(&self, scope: &str, class: u32) -> Vec<FieldInfo> {
        let in_scope = |placed: &&Placed<'_>| !placed.hidden;
        let verbatim = self.document.has_roles;
        let shown = |name: &str| match verbatim {
            true => name.to_owned(),
            false => name.split('.').map(bare).collect::<Vec<_>>().join("."),
        };
        self.fields
            .iter()
            .filter(in_scope)
            .filter_map(|placed| {
                let name = placed.name.strip_prefix(scope)?.strip_prefix('.')?;
                Some(FieldInfo {
                    name: shown(name),
                    field: FieldRef {
                        class,
                        base: placed.base,
                        offset: placed.offset,
                        shape: placed.shape,
                    },
                })
            })
            .collect()
    }
}

pub(super) fn int_at(placed: &Placed<'_>) -> Option<IntAt> {
    match placed.shape {
        Shape::Int(int) => Some(IntAt {
            base: placed.base,
            offset: placed.offset,
            int,
        }),
        _ => None,
    }
}
