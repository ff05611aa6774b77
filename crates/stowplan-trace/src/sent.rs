//! What links need of publications that are settled.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::ids::{CallbackId, Id, PublicationId, PublisherId};

/// What links need of a publication that is settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sent {
    pub publisher: PublisherId,
    pub time_ns: i64,
    pub callback: Option<CallbackId>,
}

/// Those that may still be taken.
///
/// Nearly all that are asked for were published shortly before, so these lie in the order of their ids. The few that
/// are kept for longer, such as a latched map, must not keep what came after them.
#[derive(Debug, Default)]
pub(crate) struct SentTable {
    /// The id of the first of the recent ones.
    first: usize,
    recent: VecDeque<Option<Sent>>,
    old: FxHashMap<PublicationId, Sent>,
}

impl SentTable {
    /// Adds a publication; ids ascend.
    pub fn insert(&mut self, id: PublicationId, sent: Sent) {
        if self.recent.is_empty() {
            self.first = id.index();
        }
        let at = id.index() - self.first;
        self.recent.resize(at, None);
        self.recent.push_back(Some(sent));
    }

    /// A publication, unless it was removed.
    #[inline]
    pub fn get(&self, id: PublicationId) -> Option<&Sent> {
        match id.index().checked_sub(self.first) {
            Some(at) => self.recent.get(at)?.as_ref(),
            None => self.old.get(&id),
        }
    }

    /// It will not be asked for again.
    #[inline]
    pub fn remove(&mut self, id: PublicationId) {
        match id.index().checked_sub(self.first) {
            Some(at) => {
                if let Some(sent) = self.recent.get_mut(at) {
                    *sent = None;
                }
            }
            None => {
                self.old.remove(&id);
            }
        }
    }

    /// Those before a time are no longer recent.
    pub fn age(&mut self, before_ns: i64) {
        while let Some(sent) = self.recent.front()
            && sent.is_none_or(|sent| sent.time_ns < before_ns)
        {
            if let Some(sent) = *sent {
                self.old.insert(PublicationId::new(self.first), sent);
            }
            self.recent.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(time_ns: i64) -> Sent {
        Sent {
            publisher: PublisherId::new(0),
            time_ns,
            callback: None,
        }
    }

    #[test]
    fn a_publication_is_there_until_it_is_removed_however_old_it_is() {
        let id = PublicationId::new;
        let mut table = SentTable::default();
        for at in [3, 4, 7, 8] {
            table.insert(id(at), sent(at as i64));
        }
        let known = |table: &SentTable| {
            let ids = (0..12).filter(|&at| table.get(id(at)).is_some());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(known(&table), [3, 4, 7, 8]);
        table.remove(id(4));
        table.age(8);
        assert_eq!(known(&table), [3, 7, 8]);
        assert_eq!((table.recent.len(), table.old.len()), (1, 2));
        table.remove(id(3));
        table.age(100);
        table.remove(id(8));
        table.insert(id(11), sent(11));
        assert_eq!(known(&table), [7, 11]);
        assert_eq!(table.get(id(11)), Some(&sent(11)));
    }
}
