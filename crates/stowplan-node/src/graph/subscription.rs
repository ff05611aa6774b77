//! Subscriptions over DDS.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stowplan_ctf::events::ros2::{
    RclSubscriptionInit, RclTake, RclcppSubscriptionCallbackAdded, RclcppSubscriptionInit,
    RclcppTake, RmwSubscriptionInit, RmwTake,
};
use stowplan_ctf::events::stowplan::Message;
use stowplan_ctf::schema::{Gid, Handle};
use stowplan_wire::service::TopicPlan;

use super::callback::{Callback, ReceivedImage};
use super::intra::IntraHandles;
use super::{Process, ThreadContext, new_handle};
use crate::dds::{Condition, DdsError, Hooks, Reader};
use crate::payload::{HEAD_BYTES, Head, Origin};
use crate::record;

/// The handles of a subscription in events.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubscriptionHandles {
    /// The rcl subscription.
    pub rcl: u64,
    /// The rmw subscription.
    pub rmw: u64,
    /// The rclcpp subscription.
    pub rclcpp: u64,
}

impl SubscriptionHandles {
    pub(super) fn new() -> Self {
        Self {
            rcl: new_handle(),
            rmw: new_handle(),
            rclcpp: new_handle(),
        }
    }

    /// Records what rmw, rcl and rclcpp record of a new subscription, in their order.
    pub(super) fn record(
        self,
        node: u64,
        topic: &str,
        depth: u32,
        gid: [u8; 24],
        callback: u64,
        intra: Option<IntraHandles>,
    ) {
        record::event(&RmwSubscriptionInit {
            rmw_subscription_handle: Handle(self.rmw),
            gid: Gid(gid),
        });
        record::event(&RclSubscriptionInit {
            subscription_handle: Handle(self.rcl),
            node_handle: Handle(node),
            rmw_subscription_handle: Handle(self.rmw),
            topic_name: topic,
            queue_depth: u64::from(depth),
        });
        if let Some(intra) = intra {
            intra.record(self.rcl, depth, callback);
        }
        record::event(&RclcppSubscriptionInit {
            subscription_handle: Handle(self.rcl),
            subscription: Handle(self.rclcpp),
        });
        record::event(&RclcppSubscriptionCallbackAdded {
            subscription: Handle(self.rclcpp),
            callback: Handle(callback),
        });
    }
}

/// A subscription and the callback that it starts.
#[derive(Debug)]
pub struct Subscription {
    handles: SubscriptionHandles,
    /// Where messages may come by pointer.
    intra: Option<IntraHandles>,
    reader: Reader,
    /// Messages are of a real type and do not say where they come from.
    foreign: bool,
    callback: Arc<Callback>,
    /// Messages taken, over DDS and inside the process.
    pub(super) taken: Arc<AtomicU64>,
}

impl Subscription {
    /// Creates the subscription of a callback in a node.
    ///
    /// # Errors
    /// When CycloneDDS refuses its reader.
    pub fn new(
        process: &Process,
        node: u64,
        topic: &TopicPlan,
        expected_publishers: u32,
        callback: Arc<Callback>,
    ) -> Result<Self, DdsError> {
        let handles = SubscriptionHandles::new();
        let hooks = Hooks::leak(process.matching, handles.rmw, expected_publishers);
        let dds_topic = process.payload_topic(topic)?;
        let qos = super::process::qos_of(topic, topic.intra_process)?;
        let reader = Reader::new(
            &process.participant,
            dds_topic,
            &qos,
            Some(hooks),
            process.plan.record.then_some(handles.rmw),
        )?;
        let intra = topic.intra_process.then(IntraHandles::new);
        handles.record(
            node,
            &topic.name,
            topic.depth,
            reader.gid(),
            callback.handle(),
            intra,
        );
        Ok(Self {
            handles,
            intra,
            reader,
            foreign: topic.dds.is_some(),
            callback,
            taken: Arc::default(),
        })
    }

    /// The handle that executor events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.handles.rcl
    }

    pub(super) fn handles(&self) -> SubscriptionHandles {
        self.handles
    }

    /// The handles of the part that gets messages by pointer; `None` where none come that way.
    pub(super) fn intra(&self) -> Option<IntraHandles> {
        self.intra
    }

    /// The global identifier of its reader.
    pub(super) fn gid(&self) -> [u8; 24] {
        self.reader.gid()
    }

    pub(super) fn callback(&self) -> &Arc<Callback> {
        &self.callback
    }

    /// The condition that holds while there is a message.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.reader.condition()
    }

    /// Number of its callback in the stack.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.callback.id()
    }

    /// Messages taken so far.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Samples that DDS reported lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.reader.lost()
    }

    /// Takes the next message and runs the callback on it, in the order of rclcpp: the message is
    /// taken when it is executed, so a history of one gives the newest.
    pub fn execute(&self, context: &mut ThreadContext) {
        let buffer = &mut context.buffer[..];
        let taken = self.reader.take(buffer).ok().flatten();
        let head = taken
            .filter(|_| !self.foreign)
            .and_then(|taken| Head::decode(&buffer[..taken.size.min(buffer.len())]));
        let valid = head.is_some() || (self.foreign && taken.is_some());
        let now = record::now();
        let message = Handle(buffer.as_ptr().addr() as u64);
        record::event_at(
            now,
            &RmwTake {
                rmw_subscription_handle: Handle(self.handles.rmw),
                message,
                source_timestamp: taken.map_or(0, |taken| taken.source_timestamp),
                taken: i32::from(valid),
            },
        );
        if !valid {
            return;
        }
        record::event_at(now, &RclTake { message });
        record::event_at(now, &RclcppTake { message });
        if let Some(head) = &head {
            record_message(now, self.handles.rmw, head);
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        let origin = head.map_or(Origin::NONE, |head| head.origin);
        let size = taken.map_or(0, |taken| taken.size).min(buffer.len());
        let image = head.as_ref().filter(|_| self.callback.sees());
        let image = image.map(|head| ReceivedImage {
            head,
            pixels: &buffer[HEAD_BYTES..size],
        });
        self.callback.run(now, origin, false, image);
    }
}

/// Records what a message says of itself.
pub(super) fn record_message(now_ns: u64, rmw_subscription: u64, head: &Head) {
    record::event_at(
        now_ns,
        &Message {
            rmw_subscription_handle: Handle(rmw_subscription),
            publisher_id: head.publisher,
            sequence: head.sequence,
            origin_ns: head.origin.ns,
            stamp_ns: head.stamp_ns,
        },
    );
}
