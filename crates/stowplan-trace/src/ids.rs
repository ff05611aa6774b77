//! Compact numbers of the things in a trace. `Option` of each takes four bytes.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// A number that indexes one kind of [`Table`].
pub trait Id: Copy {
    /// The id of the entry at `index`.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits less one.
    fn new(index: usize) -> Self;

    /// The index of the entry.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl Id for $name {
            #[inline]
            fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
                Self(number.expect("a trace has fewer than 2^32 - 1 entries of a kind"))
            }

            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )+};
}

ids! {
    /// A process of the trace.
    ProcessId,
    /// A thread of the trace.
    ThreadId,
    /// A node.
    NodeId,
    /// A topic name.
    TopicId,
    /// A publisher.
    PublisherId,
    /// A subscription.
    SubscriptionId,
    /// A timer.
    TimerId,
    /// A service server.
    ServiceId,
    /// A callback.
    CallbackId,
    /// One execution of a callback.
    InstanceId,
    /// One publication of a message.
    PublicationId,
    /// One message taken by a subscription.
    TakeId,
}

/// Entries of one kind, found by their id.
#[derive(Debug, Clone)]
pub struct Table<I, T> {
    entries: Vec<T>,
    id: std::marker::PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    /// Adds an entry.
    pub(crate) fn push(&mut self, entry: T) -> I {
        let id = I::new(self.entries.len());
        self.entries.push(entry);
        id
    }

    /// The id that the next entry will get.
    pub(crate) fn next_id(&self) -> I {
        I::new(self.entries.len())
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries with their ids, in the order in which the trace first names them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.entries
            .iter()
            .enumerate()
            .map(|(index, entry)| (I::new(index), entry))
    }

    /// All ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.entries.len()).map(I::new)
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            id: std::marker::PhantomData,
        }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_id_takes_four_bytes() {
        assert_eq!(size_of::<Option<InstanceId>>(), 4);
    }

    #[test]
    fn ids_index_their_table() {
        let mut table = Table::<NodeId, &str>::default();
        let a = table.push("a");
        let b = table.push("b");
        assert_eq!((table[a], table[b]), ("a", "b"));
        assert_eq!(table.ids().collect::<Vec<_>>(), [a, b]);
    }
}
