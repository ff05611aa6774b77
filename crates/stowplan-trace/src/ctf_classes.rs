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
}

/// Texts of an event, kept while its [`Body`] borrows them.
pub(crate) type Texts<'e> = [Option<Cow<'e, str>>; 2];

impl Class {
    pub fn new(info: &EventClassInfo) -> Self {
        let known = CLASSES.iter().find(|(name, ..)| *name == info.name);
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
        }
    }

    /// The texts that [`Class::body`] needs.
    pub fn texts<'e>(&self, event: &Event<'e>) -> Texts<'e> {
        let text = |index: usize| event.text(self.fields[index]);
        match self.kind {
            Some(K::NodeInit | K::LifecycleTransition) => [text(1), text(2)],
            Some(K::PublisherInit | K::SubscriptionInit) => [text(3), None],
            Some(K::ServiceInit) => [text(2), None],
            Some(K::CallbackRegister | K::ClientInit) => [text(1), None],
            Some(K::NodeLoaded) => [text(0), text(1)],
            Some(K::RclInit | K::NodeLoadBegin | K::LaunchReady) => [text(0), None],
            _ => [None, None],
        }
    }

    /// The event as the analysis takes it; `None` if a field that every
    /// distribution has is missing.
    pub fn body<'t>(&self, event: &Event<'t>, texts: &'t Texts<'_>) -> Option<Body<'t>> {
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
            | K::ClientInit => entity_body(kind, &read, texts),
            K::RclcppSubscriptionInit
            | K::SubscriptionCallbackAdded
            | K::ServiceCallbackAdded
            | K::TimerInit
            | K::TimerCallbackAdded
            | K::TimerLinkNode
            | K::CallbackRegister
            | K::LifecycleInit
            | K::LifecycleTransition => link_body(kind, &read, texts),
            _ => own_body(kind, &read, texts),
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

fn entity_body<'t>(kind: Kind, read: &Reader<'_, 't>, texts: &'t Texts<'_>) -> Option<Body<'t>> {
    Some(match kind {
        K::RclInit => Body::RclInit {
            version: texts[0].as_deref()?,
        },
        K::NodeInit => Body::NodeInit {
            node: read.u64(0)?,
            name: texts[0].as_deref()?,
            namespace: texts[1].as_deref()?,
        },
        K::RmwPublisherInit => Body::RmwPublisherInit {
            rmw_publisher: read.u64(0)?,
            gid: read.bytes(1)?,
        },
        K::PublisherInit => Body::PublisherInit {
            publisher: read.u64(0)?,
            node: read.u64(1)?,
            rmw_publisher: read.u64(2)?,
            topic: texts[0].as_deref()?,
            depth: read.u64(4)?,
        },
        K::SubscriptionInit => Body::SubscriptionInit {
            subscription: read.u64(0)?,
            node: read.u64(1)?,
            rmw_subscription: read.u64(2)?,
            topic: texts[0].as_deref()?,
            depth: read.u64(4)?,
        },
        K::ServiceInit => Body::ServiceInit {
            service: read.u64(0)?,
            node: read.u64(1)?,
            name: texts[0].as_deref()?,
        },
        K::ClientInit => Body::ClientInit {
            node: read.u64(0)?,
            name: texts[0].as_deref()?,
        },
        _ => return None,
    })
}

fn link_body<'t>(kind: Kind, read: &Reader<'_, 't>, texts: &'t Texts<'_>) -> Option<Body<'t>> {
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
            symbol: texts[0].as_deref()?,
        },
        K::LifecycleInit => Body::LifecycleInit {
            node: read.u64(0)?,
            state_machine: read.u64(1)?,
        },
        K::LifecycleTransition => Body::LifecycleTransition {
            state_machine: read.u64(0)?,
            start: texts[0].as_deref()?,
            goal: texts[1].as_deref()?,
        },
        _ => return None,
    })
}

/// Events of Stowplan's own node program.
fn own_body<'t>(kind: Kind, read: &Reader<'_, 't>, texts: &'t Texts<'_>) -> Option<Body<'t>> {
    Some(match kind {
        K::ProcessStart => Body::ProcessStart {
            host_monotonic_ns: read.time(0)?,
        },
        K::NodeLoadBegin => Body::NodeLoadBegin {
            node: texts[0].as_deref()?,
        },
        K::NodeLoaded => Body::NodeLoaded {
            node: texts[0].as_deref()?,
            module: texts[1].as_deref()?,
        },
        K::LaunchReady => Body::LaunchReady {
            service: texts[0].as_deref()?,
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
