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
    /// A service client.
    ClientId,
    /// A callback.
    CallbackId,
    /// One execution of a callback.
    InstanceId,
    /// One publication of a message.
    PublicationId,
    /// One message taken by a subscription.
    TakeId,
}

/// Entries in one allocation.
const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 12;

/// Entries of one kind, found by their id.
///
/// They lie in chunks, so that a reader of long traces can forget those that it
/// has done with: memory then follows what is open, not the length of the trace.
#[derive(Debug, Clone)]
pub struct Table<I, T> {
    chunks: Vec<Option<Chunk<T>>>,
    len: usize,
    id: std::marker::PhantomData<I>,
}

#[derive(Debug, Clone)]
struct Chunk<T> {
    entries: Vec<T>,
    forgotten: usize,
}

impl<I: Id, T> Table<I, T> {
    /// Adds an entry.
    pub(crate) fn push(&mut self, entry: T) -> I {
        let id = I::new(self.len);
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Some(Chunk {
                entries: Vec::new(),
                forgotten: 0,
            }));
        }
        if let Some(Some(chunk)) = self.chunks.last_mut() {
            chunk.entries.push(entry);
        }
        self.len += 1;
        id
    }

    /// The id that the next entry will get.
    pub(crate) fn next_id(&self) -> I {
        I::new(self.len)
    }

    /// Number of entries, forgotten ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An entry, unless it was forgotten.
    #[inline]
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        let (chunk, at) = place(id);
        self.chunks.get(chunk)?.as_ref()?.entries.get(at)
    }

    /// An entry, unless it was forgotten.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let (chunk, at) = place(id);
        self.chunks.get_mut(chunk)?.as_mut()?.entries.get_mut(at)
    }

    /// Says that an entry is no longer needed; to be said once of each. Its memory
    /// is free when this was said of all of its chunk.
    pub(crate) fn forget(&mut self, id: I) {
        let (at, _) = place(id);
        if let Some(slot) = self.chunks.get_mut(at)
            && let Some(chunk) = slot
        {
            chunk.forgotten += 1;
            if chunk.forgotten == CHUNK {
                *slot = None;
            }
        }
    }

    /// All entries with their ids, in the order in which the trace first names
    /// them. Nothing of a finished analysis is forgotten.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        (0..self.len).map(|index| {
            let id = I::new(index);
            (id, &self[id])
        })
    }

    /// All ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.len).map(I::new)
    }
}

/// Chunk and place in it.
#[inline]
fn place<I: Id>(id: I) -> (usize, usize) {
    let index = id.index();
    (index >> CHUNK_BITS, index & (CHUNK - 1))
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
            id: std::marker::PhantomData,
        }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        self.get(id).expect("an entry that is not forgotten")
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).expect("an entry that is not forgotten")
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

    #[test]
    fn forgotten_chunks_are_gone_and_others_stay() {
        let mut table = Table::<NodeId, usize>::default();
        let ids: Vec<_> = (0..CHUNK + 10).map(|value| table.push(value)).collect();
        for &id in &ids[1..] {
            table.forget(id);
        }
        // One entry of the first chunk is still wanted.
        assert_eq!(table.get(ids[5]), Some(&5));
        table.forget(ids[0]);
        assert_eq!(table.get(ids[5]), None);
        assert_eq!(table.get(ids[CHUNK]), Some(&CHUNK));
        assert_eq!(table.len(), CHUNK + 10);
    }
}
