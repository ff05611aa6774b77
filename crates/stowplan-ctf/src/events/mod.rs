//! The table of events: every class that Stowplan's recorder writes.

/// Declares one struct per event class, its [`Record`](crate::schema::Record)
/// and the list `CLASSES` of the module.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])+
        $id:literal $name:literal $type:ident $(<$life:lifetime>)? {
            $( $(#[doc = $field_doc:literal])+ $field:ident: $value:ty, )*
        }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[doc = concat!("\n\nStored as `", $name, "`.")]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $type $(<$life>)? {
                $( $(#[doc = $field_doc])+ pub $field: $value, )*
            }

            impl $(<$life>)? $crate::schema::Record for $type $(<$life>)? {
                const CLASS: $crate::schema::EventClass = $crate::schema::EventClass {
                    id: $id,
                    name: $name,
                    fields: &[$(
                        $crate::schema::Field {
                            name: stringify!($field),
                            kind: <$value as $crate::schema::FieldValue>::KIND,
                        },
                    )*],
                };

                #[inline(always)]
                fn size(&self) -> usize {
                    0 $( + $crate::schema::FieldValue::size(&self.$field) )*
                }

                #[inline(always)]
                fn encode(&self, out: &mut [u8]) {
                    // Underscores, because an event may have no fields.
                    let (_at, _out) = (0, out);
                    $( let _at = _at + $crate::schema::FieldValue::encode(&self.$field, &mut _out[_at..]); )*
                }
            }
        )+

        /// The classes of this module in the order of their numbers.
        pub const CLASSES: &[$crate::schema::EventClass] =
            &[$( <$type as $crate::schema::Record>::CLASS, )+];
    };
}

pub mod ros2;
pub mod stowplan;

use crate::schema::EventClass;

/// Number of event classes; their numbers are 0 to this, without gaps, so that
/// counters per class fit an array.
pub const CLASS_COUNT: usize = ros2::CLASSES.len() + stowplan::CLASSES.len();

/// All event classes in the order of their numbers.
pub fn classes() -> impl Iterator<Item = &'static EventClass> {
    ros2::CLASSES.iter().chain(stowplan::CLASSES)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_dense_and_names_unique() {
        let mut names = BTreeSet::new();
        for (index, class) in classes().enumerate() {
            assert_eq!(usize::from(class.id), index, "{}", class.name);
            assert!(names.insert(class.name), "{} twice", class.name);
        }
        assert_eq!(names.len(), CLASS_COUNT);
    }
}
