//! Messages handed over by pointer inside a process, as rclcpp's intra-process manager does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use stowplan_ctf::events::ros2::{
    RclcppBufferToIpb, RclcppConstructRingBuffer, RclcppIpbToSubscription, RclcppRingBufferDequeue,
    RclcppRingBufferEnqueue, RclcppSubscriptionCallbackAdded, RclcppSubscriptionInit,
};
use stowplan_ctf::schema::Handle;

use super::callback::ReceivedImage;
use super::subscription::{Subscription, SubscriptionHandles, record_message};
use super::{Callback, new_handle};
use crate::dds::{Condition, DdsError, Guard, Participant};
use crate::payload::Head;
use crate::record;

/// A message that is handed over by pointer.
#[derive(Debug)]
pub struct IntraMessage {
    /// What it says of itself.
    pub head: Head,
    /// Its image, where it is one.
    pub image: Option<Box<[u8]>>,
}

/// Subscriptions of a process to one topic.
#[derive(Debug, Default)]
pub struct IntraTopic {
    subscriptions: RwLock<Vec<Arc<IntraSubscription>>>,
}

impl IntraTopic {
    /// Adds a subscription.
    pub fn add(&self, subscription: Arc<IntraSubscription>) {
        self.subscriptions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(subscription);
    }

    /// Whether somebody in this process listens.
    pub fn has_subscriptions(&self) -> bool {
        let all = self.subscriptions.read();
        !all.unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Hands a message to every subscription.
    pub fn deliver(&self, message: &Arc<IntraMessage>) {
        let all = self.subscriptions.read();
        for subscription in all.unwrap_or_else(PoisonError::into_inner).iter() {
            subscription.enqueue(Arc::clone(message));
        }
    }
}

/// The handles, in events, of the part of a subscription that gets messages by pointer.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntraHandles {
    /// The ring buffer.
    buffer: u64,
    /// The intra-process buffer around it.
    ipb: u64,
    /// rclcpp's own object for this part of the subscription.
    object: u64,
}

impl IntraHandles {
    pub(super) fn new() -> Self {
        Self {
            buffer: new_handle(),
            ipb: new_handle(),
            object: new_handle(),
        }
    }

    /// Records what the constructor of rclcpp's `SubscriptionIntraProcess` records, in its order:
    /// which subscription the object is of comes last.
    pub(super) fn record(self, rcl_subscription: u64, depth: u32, callback: u64) {
        let (buffer, ipb, subscription) =
            (Handle(self.buffer), Handle(self.ipb), Handle(self.object));
        record::event(&RclcppConstructRingBuffer {
            buffer,
            capacity: capacity(depth) as u64,
        });
        record::event(&RclcppBufferToIpb { buffer, ipb });
        record::event(&RclcppIpbToSubscription { ipb, subscription });
        record::event(&RclcppSubscriptionCallbackAdded {
            subscription,
            callback: Handle(callback),
        });
        record::event(&RclcppSubscriptionInit {
            subscription_handle: Handle(rcl_subscription),
            subscription,
        });
    }
}

/// Messages that the ring buffer of a subscription with this history holds.
fn capacity(depth: u32) -> usize {
    depth.max(1) as usize
}

/// The part of a subscription that gets messages by pointer.
#[derive(Debug)]
pub struct IntraSubscription {
    handles: SubscriptionHandles,
    buffer_handle: u64,
    guard: Guard,
    ring: Mutex<RingBuffer>,
    callback: Arc<Callback>,
    taken: Arc<AtomicU64>,
}

impl IntraSubscription {
    /// For a subscription with a history of `depth`, whose part this is.
    ///
    /// # Errors
    /// When CycloneDDS refuses its guard condition.
    pub(super) fn new(
        participant: &Participant,
        subscription: &Subscription,
        part: IntraHandles,
        depth: u32,
    ) -> Result<Self, DdsError> {
        Ok(Self {
            handles: subscription.handles(),
            buffer_handle: part.buffer,
            guard: Guard::new(participant)?,
            ring: Mutex::new(RingBuffer::new(capacity(depth))),
            callback: Arc::clone(subscription.callback()),
            taken: Arc::clone(&subscription.taken),
        })
    }

    /// The handle that executor events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.handles.rcl
    }

    /// Holds after a message was handed over.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.guard.condition()
    }

    fn ring(&self) -> MutexGuard<'_, RingBuffer> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets the condition and says whether there is a message.
    pub fn is_ready(&self) -> bool {
        self.guard.reset();
        self.ring().size > 0
    }

    fn enqueue(&self, message: Arc<IntraMessage>) {
        {
            // The event is recorded under the lock, as in rclcpp: the order of events is that of slots.
            let mut ring = self.ring();
            let (index, overwritten) = ring.enqueue(message);
            record::event(&RclcppRingBufferEnqueue {
                buffer: Handle(self.buffer_handle),
                index: index as u64,
                size: ring.size as u64,
                overwritten: i32::from(overwritten),
            });
        }
        self.guard.trigger();
    }

    /// Runs the callback on the oldest message.
    pub fn execute(&self) {
        let (message, more) = {
            let mut ring = self.ring();
            let Some((index, message)) = ring.dequeue() else {
                return;
            };
            record::event(&RclcppRingBufferDequeue {
                buffer: Handle(self.buffer_handle),
                index: index as u64,
                size: ring.size as u64,
            });
            (message, ring.size > 0)
        };
        if more {
            self.guard.trigger();
        }
        let now = record::now();
        let head = &message.head;
        record_message(now, self.handles.rmw, head);
        self.taken.fetch_add(1, Ordering::AcqRel);
        let image = message.image.as_deref();
        let image = image.map(|pixels| ReceivedImage { head, pixels });
        self.callback.run(now, head.origin, true, image);
    }
}

/// rclcpp's `RingBufferImplementation`: the newest messages, the oldest first.
#[derive(Debug)]
struct RingBuffer {
    slots: Box<[Option<Arc<IntraMessage>>]>,
    write: usize,
    read: usize,
    size: usize,
}

impl RingBuffer {
    fn new(capacity: usize) -> Self {
        Self {
            slots: vec![None; capacity].into_boxed_slice(),
            write: capacity - 1,
            read: 0,
            size: 0,
        }
    }

    /// Slot of the message, and whether the oldest gave way.
    fn enqueue(&mut self, message: Arc<IntraMessage>) -> (usize, bool) {
        let capacity = self.slots.len();
        self.write = (self.write + 1) % capacity;
        self.slots[self.write] = Some(message);
        let full = self.size == capacity;
        if full {
            self.read = (self.read + 1) % capacity;
        } else {
            self.size += 1;
        }
        (self.write, full)
    }

    fn dequeue(&mut self) -> Option<(usize, Arc<IntraMessage>)> {
        if self.size == 0 {
            return None;
        }
        let index = self.read;
        let message = self.slots[index].take();
        self.read = (self.read + 1) % self.slots.len();
        self.size -= 1;
        message.map(|message| (index, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Origin;

    fn message(sequence: u64) -> Arc<IntraMessage> {
        let head = Head {
            stamp_ns: 0,
            origin: Origin::NONE,
            sequence,
            publisher: 0,
        };
        Arc::new(IntraMessage { head, image: None })
    }

    #[test]
    fn a_full_buffer_gives_up_its_oldest() {
        let mut ring = RingBuffer::new(2);
        assert_eq!(ring.enqueue(message(1)), (0, false));
        assert_eq!(ring.enqueue(message(2)), (1, false));
        assert_eq!(ring.enqueue(message(3)), (0, true));
        let order: Vec<(usize, u64)> = std::iter::from_fn(|| ring.dequeue())
            .map(|(index, message)| (index, message.head.sequence))
            .collect();
        assert_eq!(order, [(1, 2), (0, 3)]);
        assert_eq!(ring.enqueue(message(4)), (1, false));
    }
}
