//! What a recording thread keeps for itself.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use stowplan_ctf::schema::Record;
use stowplan_ctf::writer::{EventContext, PacketWriter};
use stowplan_wire::ring::{THREADS, ThreadCounters};

use super::buffer::Buffer;

/// A thread with a slot.
struct Writer {
    slot: u32,
    counters: &'static ThreadCounters,
    context: EventContext,
    packet: Option<PacketWriter<'static>>,
    sequence: u64,
    last_ns: u64,
}

enum State {
    New,
    Writing(Writer),
    /// All slots are taken.
    Orphan,
}

thread_local! {
    static STATE: RefCell<State> = const { RefCell::new(State::New) };
}

pub(super) fn event<R: Record>(buffer: &Buffer, time_ns: u64, record: &R) {
    STATE.with_borrow_mut(|state| match state {
        State::Writing(writer) => writer.event(buffer, time_ns, record),
        State::Orphan => orphan::<R>(buffer),
        State::New => {
            *state = Writer::claim(buffer);
            match state {
                State::Writing(writer) => writer.event(buffer, time_ns, record),
                _ => orphan::<R>(buffer),
            }
        }
    });
}

#[cold]
fn orphan<R: Record>(buffer: &Buffer) {
    buffer.live().orphans[usize::from(R::CLASS.id)].fetch_add(1, Ordering::Relaxed);
}

/// Adds one to a counter that only this thread writes.
#[inline(always)]
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}

impl Writer {
    #[cold]
    fn claim(buffer: &Buffer) -> State {
        let live = buffer.live();
        let slot = live.next_thread.fetch_add(1, Ordering::AcqRel);
        if slot as usize >= THREADS {
            return State::Orphan;
        }
        let counters = &live.threads[slot as usize];
        let vtid = rustix::thread::gettid().as_raw_nonzero().get();
        counters.vtid.store(vtid.cast_unsigned(), Ordering::Release);
        State::Writing(Self {
            slot,
            counters,
            context: buffer.context(vtid),
            packet: None,
            sequence: 0,
            last_ns: 0,
        })
    }

    #[inline]
    fn event<R: Record>(&mut self, buffer: &Buffer, time_ns: u64, record: &R) {
        let class = usize::from(R::CLASS.id);
        // A packet must not begin before the one before it has ended.
        let time_ns = time_ns.max(self.last_ns);
        self.last_ns = time_ns;
        let wrote = self
            .packet
            .as_mut()
            .is_some_and(|packet| packet.event(time_ns, &self.context, record))
            || self.event_in_next(buffer, time_ns, record);
        if wrote {
            count(&self.counters.recorded[class]);
        } else {
            count(&self.counters.discarded[class]);
            self.counters
                .lost_until_ns
                .store(time_ns, Ordering::Release);
        }
    }

    /// Ends the full packet and goes on in another, if there is one.
    #[cold]
    fn event_in_next<R: Record>(&mut self, buffer: &Buffer, time_ns: u64, record: &R) -> bool {
        let Some(mut next) = buffer.take_packet(self.slot, self.sequence, time_ns) else {
            return false;
        };
        let wrote = next.event(time_ns, &self.context, record);
        self.sequence += 1;
        if let Some(full) = self.packet.replace(next) {
            full.finish(time_ns);
        }
        wrote
    }
}
