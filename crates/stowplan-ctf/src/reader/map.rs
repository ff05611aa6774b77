//! What becomes of an event on the thread that decodes it.

use super::event::Event;

/// What is made of events, on the thread that decodes them.
///
/// Every function that takes an event is one that keeps all of them.
pub trait EventMap {
    /// What is made of an event.
    type Made;

    /// Whether something is to be made of an event. If not, the caller never sees it, and its stream goes on with the next
    /// one. It is asked of all but the first event of a stream, in the order of the stream.
    fn keeps(&mut self, event: &Event<'_>) -> bool;

    /// Makes it.
    fn map(&mut self, event: &Event<'_>) -> Self::Made;

    /// There are no more events.
    fn end(&mut self);
}

impl<T, F: FnMut(&Event<'_>) -> T> EventMap for F {
    type Made = T;

    #[inline]
    fn keeps(&mut self, _event: &Event<'_>) -> bool {
        true
    }

    #[inline]
    fn map(&mut self, event: &Event<'_>) -> T {
        self(event)
    }

    fn end(&mut self) {}
}
