//! From an event of the reader to one of the analysis.

use std::borrow::Cow;

use stowplan_ctf::reader::Event;
use stowplan_ctf::{EventClassInfo, FieldRef};

use crate::ctf_table::{CLASSES, Kind as K, Kind};
use crate::event::Body;

/// Most fields that are read of an event.
const MOST_FIELDS: usize = 5;

/// An event class of one trace with its fields resolved.
#[derive(Debug)]
pub(crate) struct Class {
    kind: Option<Kind>,
    foreign: bool,
    fields: [Option<FieldRef>; MOST_FIELDS],
    /// Context `pid_ns`.
    pub pid_namespace: Option<FieldRef>,
    /// Events read of it.
    pub count: u64,
}

/// Texts and lists of an event, kept while its [`Body`] borrows them.
#[derive(Debug, Default)]
pub(crate) struct Held<'e> {
    texts: [Option<Cow<'e, str>>; 2],
    lists: [Vec<u64>; 2],
}

impl Held<'_> {
    fn text(&self, index: usize) -> Option<&str> {
        self.texts[index].as_deref()
    }
}

impl Class {
    /// `middleware`: whether events from inside the middleware are to be used.
    pub fn new(info: &EventClassInfo, middleware: bool) -> Self {
        let known = CLASSES.iter().find(|(name, ..)| *name == info.name);
        let known = known.filter(|class| middleware || class.1 != K::DdsWrite);
        let mut fields = [None; MOST_FIELDS];
        for (slot, name) in fields.iter_mut().zip(known.map_or(&[][..], |k| k.2)) {
            *slot = info.field(name);
        }
        Self {
            kind: known.map(|k| k.1),
            foreign: !["ros2:", "stowplan:"]
                .iter()
                .any(|provider| info.name.starts_with(provider)),
            fields,
            pid_namespace: info.context("pid_ns"),
            count: 0,
        }
    }

    /// The texts and lists that [`Class::body`] needs.
    #[inline]
    pub fn held<'e>(&self, event: &Event<'e>) -> Held<'e> {
        match self.kind {
            Some(
                K::CallbackStart | K::CallbackEnd | K::RclPublish | K::RclcppPublish | K::RmwTake,
            )
            | None => Held::default(),
            Some(kind) => self.read_held(kind, event),
        }
    }

    fn read_held<'e>(&self, kind: Kind, event: &Event<'e>) -> Held<'e> {
        let text = |index: usize| event.text(self.fields[index]);
        let list = |index: usize| {
            let elements = event.integers(self.fields[index]);
            elements.map(Iterator::collect).unwrap_or_default()
        };
        let texts = match kind {
            K::NodeInit | K::LifecycleTransition => [text(1), text(2)],
            K::PublisherInit | K::SubscriptionInit => [text(3), None],
            K::ServiceInit => [text(2), None],
            K::CallbackRegister | K::ClientInit => [text(1), None],
            K::NodeLoaded => [text(0), text(1)],
            K::RclInit | K::NodeLoadBegin | K::LaunchReady => [text(0), None],
            _ => [None, None],
        };
        let lists = match kind {
            K::MessageLinkAsync | K::MessageLinkSync => [list(0), list(1)],
            _ => [Vec::new(), Vec::new()],
        };
        Held { texts, lists }
    }

    /// The event as the analysis takes it; `None` if a field that every
    /// distribution has is missing.
    pub fn body<'t>(&self, event: &Event<'t>, held: &'t Held<'_>) -> Option<Body<'t>> {
        let Some(kind) = self.kind else {
            return Some(if self.foreign {
                Body::Foreign
            } else {
                Body::Other
            });
        };
        let read = Reader {
            event,
            fields: &self.fields,
        };
        match kind {
            // The most frequent first.
            K::CallbackStart => Some(Body::CallbackStart {
                callback: read.u64(0)?,
                intra: read.i64(1).is_some_and(|intra| intra != 0),
            }),
            K::CallbackEnd => Some(Body::CallbackEnd {
                callback: read.u64(0)?,
            }),
            K::ExecutorExecute => Some(Body::ExecutorExecute),
            K::RmwTake
            | K::RclcppPublish
            | K::IntraPublish
            | K::RclPublish
            | K::RmwPublish
            | K::Arrival
            | K::Message => message_body(kind, &read),
            K::MessageLinkAsync | K::MessageLinkSync => Some(Body::MessageLink {
                subscriptions: &held.lists[0],
                publishers: &held.lists[1],
                synchronised: kind == K::MessageLinkSync,
            }),
            K::DdsWrite | K::CaretWrite | K::CaretStamp | K::Dispatch | K::DispatchIntra => {
                middleware_body(kind, &read)
            }
            K::RingEnqueue
            | K::RingDequeue
            | K::RingClear
            | K::IpbToSubscription
            | K::BufferToIpb => buffer_body(kind, &read),
            K::RclInit
            | K::NodeInit
            | K::RmwPublisherInit
            | K::PublisherInit
            | K::SubscriptionInit
            | K::ServiceInit
            | K::ClientInit => entity_body(kind, &read, held),
            K::RclcppSubscriptionInit
            | K::SubscriptionCallbackAdded
            | K::ServiceCallbackAdded
            | K::TimerInit
            | K::TimerCallbackAdded
            | K::TimerLinkNode
            | K::CallbackRegister
            | K::LifecycleInit
            | K::LifecycleTransition => link_body(kind, &read, held),
            _ => own_body(kind, &read, held),
        }
    }
}

/// Differences of two times stay within 64 bits, whatever a broken trace says.
pub(crate) fn within_range(time_ns: i64) -> i64 {
    const LIMIT: i64 = 1 << 61;
    time_ns.clamp(-LIMIT, LIMIT)
}

struct Reader<'r, 't> {
    event: &'r Event<'t>,
    fields: &'r [Option<FieldRef>; MOST_FIELDS],
}

impl<'t> Reader<'_, 't> {
    #[inline]
    fn u64(&self, index: usize) -> Option<u64> {
        self.event.u64(self.fields[index])
    }

    #[inline]
    fn i64(&self, index: usize) -> Option<i64> {
        self.event.i64(self.fields[index])
    }

    /// A time of the trace's own clock.
    fn time(&self, index: usize) -> Option<i64> {
        self.i64(index).map(within_range)
    }

    fn bytes(&self, index: usize) -> Option<&'t [u8]> {
        self.event.bytes(self.fields[index])
    }
}

fn message_body<'t>(kind: Kind, read: &Reader<'_, 't>) -> Option<Body<'t>> {
    Some(match kind {
        K::RmwTake => Body::RmwTake {
            rmw_subscription: read.u64(0)?,
            message: read.u64(1)?,
            source_timestamp: read.i64(2)?,
            taken: read.i64(3)? != 0,
        },
        K::RclcppPublish => Body::RclcppPublish {
            message: read.u64(0)?,
        },
        K::IntraPublish => Body::IntraPublish {
            publisher: read.u64(0)?,
            message: read.u64(1)?,
        },
        K::RclPublish => Body::RclPublish {
            publisher: read.u64(0)?,
            message: read.u64(1)?,
        },
        K::RmwPublish => Body::RmwPublish {
            message: read.u64(0)?,
            timestamp: read.i64(1),
        },
        K::Arrival => Body::Arrival {
            rmw_subscription: read.u64(0)?,
            source_timestamp: read.i64(1)?,
        },
        K::Message => Body::Message {
            rmw_subscription: read.u64(0)?,
            publisher_id: u32::try_from(read.u64(1)?).ok()?,
            sequence: read.u64(2)?,
            origin_ns: read.time(3)?,
            stamp_ns: read.time(4)?,
        },
        _ => return None,
    })
}

/// Events that some have built into the middleware or rclcpp.
fn middleware_body<'t>(kind: Kind, read: &Reader<'_, 't>) -> Option<Body<'t>> {
    Some(match kind {
        K::DdsWrite => Body::DdsWrite {
            timestamp: read.i64(0)?,
        },
        K::CaretWrite => Body::CaretWrite {
            message: read.u64(0)?,
        },
        K::CaretStamp => Body::CaretStamp {
            message: read.u64(0)?,
            stamp: read.i64(1)?,
        },
        K::Dispatch => Body::Dispatch {
            callback: read.u64(0)?,
            stamp: read.i64(1)?,
        },
        K::DispatchIntra => Body::DispatchIntra {
            callback: read.u64(0)?,
            message: read.u64(1)?,
        },
        _ => return None,
    })
}

fn buffer_body<'t>(kind: Kind, read: &Reader<'_, 't>) -> Option<Body<'t>> {
    Some(match kind {
        K::RingEnqueue => Body::RingEnqueue {
            buffer: read.u64(0)?,
            index: read.u64(1)?,
            overwritten: read.i64(2)? != 0,
        },
        K::RingDequeue => Body::RingDequeue {
            buffer: read.u64(0)?,
            index: read.u64(1)?,
        },
        K::RingClear => Body::RingClear {
            buffer: read.u64(0)?,
        },
        K::IpbToSubscription => Body::IpbToSubscription {
            ipb: read.u64(0)?,
            object: read.u64(1)?,
        },
        K::BufferToIpb => Body::BufferToIpb {
            buffer: read.u64(0)?,
            ipb: read.u64(1)?,
        },
        _ => return None,
    })
}

fn entity_body<'t>(kind: Kind, read: &Reader<'_, 't>, held: &'t Held<'_>) -> Option<Body<'t>> {
    Some(match kind {
        K::RclInit => Body::RclInit {
            version: held.text(0)?,
        },
        K::NodeInit => Body::NodeInit {
            node: read.u64(0)?,
            name: held.text(0)?,
            namespace: held.text(1)?,
        },
        K::RmwPublisherInit => Body::RmwPublisherInit {
            rmw_publisher: read.u64(0)?,
            gid: read.bytes(1)?,
        },
        K::PublisherInit => Body::PublisherInit {
            publisher: read.u64(0)?,
            node: read.u64(1)?,
            rmw_publisher: read.u64(2)?,
            topic: held.text(0)?,
            depth: read.u64(4)?,
        },
        K::SubscriptionInit => Body::SubscriptionInit {
            subscription: read.u64(0)?,
            node: read.u64(1)?,
            rmw_subscription: read.u64(2)?,
            topic: held.text(0)?,
            depth: read.u64(4)?,
        },
        K::ServiceInit => Body::ServiceInit {
            service: read.u64(0)?,
            node: read.u64(1)?,
            name: held.text(0)?,
        },
        K::ClientInit => Body::ClientInit {
            node: read.u64(0)?,
            name: held.text(0)?,
        },
        _ => return None,
    })
}

fn link_body<'t>(kind: Kind, read: &Reader<'_, 't>, held: &'t Held<'_>) -> Option<Body<'t>> {
    Some(match kind {
        K::RclcppSubscriptionInit => Body::RclcppSubscriptionInit {
            subscription: read.u64(0)?,
            object: read.u64(1)?,
        },
        K::SubscriptionCallbackAdded => Body::SubscriptionCallbackAdded {
            object: read.u64(0)?,
            callback: read.u64(1)?,
        },
        K::ServiceCallbackAdded => Body::ServiceCallbackAdded {
            service: read.u64(0)?,
            callback: read.u64(1)?,
        },
        K::TimerInit => Body::TimerInit {
            timer: read.u64(0)?,
            period_ns: read.i64(1)?,
        },
        K::TimerCallbackAdded => Body::TimerCallbackAdded {
            timer: read.u64(0)?,
            callback: read.u64(1)?,
        },
        K::TimerLinkNode => Body::TimerLinkNode {
            timer: read.u64(0)?,
            node: read.u64(1)?,
        },
        K::CallbackRegister => Body::CallbackRegister {
            callback: read.u64(0)?,
            symbol: held.text(0)?,
        },
        K::LifecycleInit => Body::LifecycleInit {
            node: read.u64(0)?,
            state_machine: read.u64(1)?,
        },
        K::LifecycleTransition => Body::LifecycleTransition {
            state_machine: read.u64(0)?,
            start: held.text(0)?,
            goal: held.text(1)?,
        },
        _ => return None,
    })
}

/// Events of Stowplan's own node program.
fn own_body<'t>(kind: Kind, read: &Reader<'_, 't>, held: &'t Held<'_>) -> Option<Body<'t>> {
    Some(match kind {
        K::ProcessStart => Body::ProcessStart {
            host_monotonic_ns: read.time(0)?,
        },
        K::NodeLoadBegin => Body::NodeLoadBegin {
            node: held.text(0)?,
        },
        K::NodeLoaded => Body::NodeLoaded {
            node: held.text(0)?,
            module: held.text(1)?,
        },
        K::LaunchReady => Body::LaunchReady {
            service: held.text(0)?,
        },
        K::EndpointsMatched => Body::EndpointsMatched {
            count: u32::try_from(read.u64(0)?).ok()?,
        },
        K::TimerRelease => Body::TimerRelease {
            callback: read.u64(0)?,
            expected_ns: read.time(1)?,
        },
        K::SourceRelease => Body::SourceRelease {
            callback: read.u64(0)?,
            sequence: read.u64(1)?,
            release_ns: read.time(2)?,
        },
        K::Armed => Body::Armed {
            t_arm_ns: read.time(0)?,
        },
        K::Disarmed => Body::Disarmed,
        K::CallbackCpu => Body::CallbackCpu {
            callback: read.u64(0)?,
            cpu_ns: read.u64(1)?,
            iterations: read.u64(2)?,
        },
        K::SampleLost => Body::SampleLost {
            rmw_subscription: read.u64(0)?,
            total: read.u64(1)?,
        },
        K::DatagramsDropped => Body::DatagramsDropped {
            total: read.u64(0)?,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_of_our_own_recorder_is_read_or_known_not_to_matter() {
        let not_needed = [
            "ros2:rmw_subscription_init",
            "ros2:rcl_take",
            "ros2:rclcpp_take",
            "ros2:rclcpp_executor_get_next_ready",
            "ros2:rclcpp_executor_wait_for_work",
            "ros2:rclcpp_construct_ring_buffer",
        ];
        for class in stowplan_ctf::events::classes() {
            match CLASSES.iter().find(|(name, ..)| *name == class.name) {
                None => assert!(not_needed.contains(&class.name), "{}", class.name),
                Some((_, _, fields)) => {
                    for field in *fields {
                        assert!(
                            class.fields.iter().any(|f| f.name == *field),
                            "{} has no field {field}",
                            class.name
                        );
                    }
                }
            }
        }
    }
}
