//! Messages that are handed over, or described, by other events than those of rcl
//! and rmw: ring buffers inside a process, the middleware's own, CARET's.

use super::{Slot, Tracker};
use crate::event::{Address, Body, TraceEvent};
use crate::graph::Owner;
use crate::ids::{CallbackId, Id};
use crate::record::{Confidence, Link, LinkMethod, MaybeNs};
use crate::registry::Registry;

impl Tracker {
    /// Takes what an event from inside the middleware says of the publication that the
    /// thread is in.
    pub(super) fn middleware_event(&mut self, event: &TraceEvent<'_>) {
        let state = &mut self.threads[event.thread.index()];
        let of_message = |message| {
            let publishing = state.publishing.filter(|p| p.is_of(message));
            publishing.map(|p| p.id).or(state.unfollowed)
        };
        let (target, stamp, method) = match event.body {
            Body::DdsWrite { timestamp } => {
                (state.unfollowed, Some(timestamp), LinkMethod::DdsWrite)
            }
            Body::CaretWrite { message, stamp } => (of_message(message), stamp, LinkMethod::Caret),
            Body::MessageCopy { from, to } => {
                self.copied(event, from, to);
                return;
            }
            Body::CaretStamp { message, stamp } => {
                (of_message(message), Some(stamp), LinkMethod::Caret)
            }
            _ => return,
        };
        if let Some(id) = target
            && let Some(publication) = self.records.publications.get_mut(id)
        {
            if publication.rmw_ns == MaybeNs::NONE {
                publication.rmw_ns = Some(event.time_ns).into();
            }
            let until = self.lost_until_ns.get(&event.process);
            // What was lost may be the publication that this belongs to.
            let lost = until.is_some_and(|&until_ns| until_ns >= event.time_ns);
            if publication.stamp == MaybeNs::NONE && stamp.is_some() && !lost {
                publication.stamp = stamp.into();
                publication.stamp_by = method;
            }
        }
    }

    /// The middleware or rclcpp has made another message of one.
    fn copied(&mut self, event: &TraceEvent<'_>, from: Address, to: Address) {
        if let Some(publishing) = &mut self.threads[event.thread.index()].publishing
            && publishing.is_of(from)
        {
            publishing.copy = Some(to);
        }
        if let Some(&publication) = self.handed.get(&(event.process, from)) {
            self.handed.insert((event.process, to), publication);
        }
    }

    /// Where no takes are recorded, the start of a subscription's callback stands for one.
    pub(super) fn infer_take(
        &mut self,
        registry: &Registry,
        event: &TraceEvent<'_>,
        callback: CallbackId,
        intra: bool,
    ) {
        let graph = &registry.graph;
        // What came inside the process left no trace at its publisher.
        if graph.processes[event.process].kinds.takes || intra {
            return;
        }
        if let Owner::Subscription(subscription) = graph.callbacks[callback].owner {
            let id = self.take(event, subscription, None, None);
            self.records.takes[id].inferred = true;
        }
    }

    /// CARET's word that a subscription hands a message to its callback.
    pub(super) fn dispatch(&mut self, registry: &mut Registry, event: &TraceEvent<'_>) {
        let (Body::Dispatch { callback, .. } | Body::DispatchIntra { callback, .. }) = event.body
        else {
            return;
        };
        let callback = registry.callback(event.process, callback);
        let Owner::Subscription(subscription) = registry.graph.callbacks[callback].owner else {
            self.records.gaps.takes_without_subscription += 1;
            return;
        };
        match event.body {
            Body::Dispatch { stamp, .. } => {
                let taken = self.threads[event.thread.index()].take;
                let known = taken.and_then(|id| self.records.takes.get(id));
                if known.is_none_or(|take| take.subscription != subscription) {
                    self.take(event, subscription, Some(stamp), None);
                }
            }
            Body::DispatchIntra { message, .. } => {
                let handed = self.handed.get(&(event.process, message)).copied();
                let doubt = handed.is_some_and(|handed| self.lost_since(event.process, handed.1));
                let id = self.take(event, subscription, None, None);
                let link = handed.map(|(publication, _)| Link {
                    publication,
                    method: LinkMethod::MessageAddress,
                    confidence: Confidence::Probable,
                });
                self.records.takes[id].set_link(link, doubt);
            }
            _ => {}
        }
    }

    pub(super) fn ring(&mut self, registry: &Registry, event: &TraceEvent<'_>) {
        match event.body {
            Body::RingEnqueue {
                buffer,
                index,
                overwritten,
            } => {
                let Some(publishing) = self.threads[event.thread.index()].publishing else {
                    return;
                };
                let slot = (event.process, buffer, index);
                let replaced = self.slots.insert(
                    slot,
                    Slot {
                        publication: publishing.id,
                        enqueued_ns: event.time_ns,
                    },
                );
                if let (true, Some(replaced), Some(subscription)) = (
                    overwritten,
                    replaced,
                    registry.buffer_subscription(event.process, buffer),
                ) {
                    self.records
                        .ring_overwrites
                        .push((subscription, replaced.publication));
                }
            }
            Body::RingDequeue { buffer, index } => {
                let Some(subscription) = registry.buffer_subscription(event.process, buffer) else {
                    self.records.gaps.takes_without_subscription += 1;
                    return;
                };
                let slot = self.slots.remove(&(event.process, buffer, index));
                self.take(event, subscription, None, slot);
            }
            Body::RingClear { buffer } => {
                self.slots.retain(|&(process, address, _), _| {
                    (process, address) != (event.process, buffer)
                });
            }
            _ => {}
        }
    }
}
