//! From an event of the reader to one of the analysis.

use stowplan_ctf::reader::Event;
use stowplan_ctf::{EventClassInfo, FieldRef};

use crate::ctf_table::{CLASSES, CREATED, Kind as K, Kind, SWITCHED_CPU, caret_original};
use crate::event::{Body, Switch};
use crate::new_recorder::NewRecorder;

mod services;

/// Most fields that are read of an event.
const MOST_FIELDS: usize = 5;

/// An event class of one trace with its fields resolved.
#[derive(Debug)]
pub(crate) struct Class {
    kind: Option<Kind>,
    provider: Provider,
    /// The fields that this trace has, with their places among those that are read.
    fields: Vec<(usize, FieldRef)>,
    /// When what the event tells of was made, where that is not the event's own time.
    created: Option<FieldRef>,
    /// Context `pid_ns`.
    pub pid_namespace: Option<FieldRef>,
}

/// What an event says, taken out of its packet.
#[derive(Debug, Clone)]
pub(crate) struct EventFields {
    kind: Option<Kind>,
    provider: Provider,
    numbers: [u64; MOST_FIELDS],
    /// Which of the numbers there are, one bit each.
    present: u8,
    /// Which of them are negative.
    negative: u8,
    held: Option<Box<RareFields>>,
}

/// What few events have: what they say that is no number, and who is new with them.
#[derive(Debug, Clone, Default)]
struct RareFields {
    new_recorder: Option<NewRecorder>,
    created_ns: Option<i64>,
    texts: [Option<String>; 2],
    lists: [Vec<u64>; 2],
    bytes: Option<Vec<u8>>,
}

/// Whose events those of a class are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// ROS 2's, CARET's or our own program's.
    Ros,
    /// The traced middleware's: they say something of messages of ROS 2.
    Middleware,
    /// The kernel's scheduler's.
    Scheduler,
    /// Others': they have no meaning here.
    Other,
}

/// Whether events of this name are those of ROS 2: its tracepoints, CARET's and our own program's.
pub(crate) fn is_of_ros(name: &str) -> bool {
    let providers = ["ros2:", "ros2_caret:", "stowplan:"];
    providers.iter().any(|provider| name.starts_with(provider))
}

impl Class {
    /// `middleware`: whether events from inside the middleware are to be used.
    pub fn new(info: &EventClassInfo, middleware: bool) -> Self {
        let named = |wanted: &str| CLASSES.iter().find(|(name, ..)| *name == wanted);
        let created = info.field(CREATED);
        let original = created.and_then(|_| named(&caret_original(&info.name)?));
        let known = original.or_else(|| named(&info.name));
        let known = known.filter(|class| middleware || class.1 != K::DdsWrite);
        let names = known.map_or(&[][..], |class| class.2).iter().enumerate();
        Self {
            kind: known.map(|class| class.1),
            provider: match known {
                _ if is_of_ros(&info.name) => Provider::Ros,
                Some((_, K::SchedSwitch | K::SchedOther, _)) => Provider::Scheduler,
                Some(_) => Provider::Middleware,
                None => Provider::Other,
            },
            fields: names
                .filter_map(|(at, name)| Some((at, info.field(name)?)))
                .collect(),
            created: created.filter(|_| original.is_some()),
            pid_namespace: info.context("pid_ns"),
        }
    }

    /// Takes what an event says out of its packet.
    #[inline]
    pub fn read(&self, event: &Event<'_>) -> EventFields {
        let mut said = EventFields {
            kind: self.kind,
            provider: self.provider,
            numbers: [0; MOST_FIELDS],
            present: 0,
            negative: 0,
            held: None,
        };
        for &(at, field) in &self.fields {
            if let Some(number) = event.u64(field) {
                said.numbers[at] = number;
                said.present |= 1 << at;
            } else if let Some(number) = event.i64(field) {
                said.numbers[at] = number.cast_unsigned();
                said.present |= 1 << at;
                said.negative |= 1 << at;
            }
        }
        if said.present.count_ones() as usize != self.fields.len() {
            said.held = self.held(event).map(Box::new);
        }
        if let (Some(K::SchedSwitch), Some(cpu)) = (self.kind, event.cpu) {
            said.numbers[SWITCHED_CPU] = cpu.into();
            said.present |= 1 << SWITCHED_CPU;
        }
        if let Some(created) = self.created {
            let held = said.held.get_or_insert_default();
            held.created_ns = event.i64(created).map(within_range);
        }
        said
    }

    #[cold]
    fn held(&self, event: &Event<'_>) -> Option<RareFields> {
        let field = |at: usize| self.fields.iter().find(|field| field.0 == at);
        let text = |at: usize| Some(event.text(field(at)?.1)?.into_owned());
        let list = |at: usize| {
            let elements = field(at).and_then(|field| event.integers(field.1));
            elements.map(Iterator::collect).unwrap_or_default()
        };
        let mut held = RareFields::default();
        match self.kind? {
            K::NodeInit | K::LifecycleTransition => held.texts = [text(1), text(2)],
            K::PublisherInit | K::SubscriptionInit => held.texts[0] = text(3),
            K::ServiceInit => held.texts[0] = text(2),
            K::SchedSwitch => held.texts[0] = text(3),
            K::CallbackRegister | K::ClientInit => held.texts[0] = text(1),
            K::NodeLoaded => held.texts = [text(0), text(1)],
            K::RclInit | K::NodeLoadBegin | K::LaunchReady | K::CaretInit => {
                held.texts[0] = text(0)
            }
            K::RmwPublisherInit | K::RmwClientInit | K::TakeRequest | K::SendResponse => {
                let bytes = field(1).and_then(|field| event.bytes(field.1));
                held.bytes = bytes.map(<[u8]>::to_vec);
            }
            K::MessageLinkAsync | K::MessageLinkSync => held.lists = [list(0), list(1)],
            _ => return None,
        }
        Some(held)
    }
}

impl EventFields {
    /// Adds that who recorded it is new.
    #[cold]
    pub fn introduce(&mut self, new_recorder: NewRecorder) {
        self.held.get_or_insert_default().new_recorder = Some(new_recorder);
    }

    /// When what it tells of was made, nanoseconds of its trace's clock, where that is not its own time.
    #[inline]
    pub fn created_ns(&self) -> Option<i64> {
        self.held.as_ref()?.created_ns
    }

    /// Whose event it is.
    #[inline]
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Who is new with it.
    #[inline]
    pub fn new_recorder(&self) -> Option<&NewRecorder> {
        self.held.as_ref()?.new_recorder.as_ref()
    }

    /// The event as the analysis takes it; `None` if a field that every
    /// distribution has is missing.
    pub fn body(&self) -> Option<Body<'_>> {
        let Some(kind) = self.kind else {
            return Some(Body::Other);
        };
        match kind {
            // The most frequent first.
            K::CallbackStart => Some(Body::CallbackStart {
                callback: self.u64(0)?,
                intra: self.i64(1).is_some_and(|intra| intra != 0),
            }),
            K::CallbackEnd => Some(Body::CallbackEnd {
                callback: self.u64(0)?,
            }),
            K::ExecutorExecute => Some(Body::ExecutorExecute),
            K::RmwTake
            | K::RclcppPublish
            | K::IntraPublish
            | K::RclPublish
            | K::RmwPublish
            | K::Arrival
            | K::Message => message_body(kind, self),
            K::MessageLinkAsync | K::MessageLinkSync => Some(Body::MessageLink {
                subscriptions: self.list(0),
                publishers: self.list(1),
                synchronised: kind == K::MessageLinkSync,
            }),
            K::DdsWrite
            | K::CaretInit
            | K::CaretWrite
            | K::CaretStamp
            | K::CaretCopy
            | K::MessageConstruct
            | K::Dispatch
            | K::DispatchIntra => middleware_body(kind, self),
            K::RingEnqueue
            | K::RingDequeue
            | K::RingClear
            | K::IpbToSubscription
            | K::BufferToIpb => buffer_body(kind, self),
            K::RclInit
            | K::NodeInit
            | K::RmwPublisherInit
            | K::PublisherInit
            | K::SubscriptionInit
            | K::ServiceInit
            | K::ClientInit => entity_body(kind, self),
            K::RclcppSubscriptionInit
            | K::SubscriptionCallbackAdded
            | K::ServiceCallbackAdded
            | K::TimerInit
            | K::TimerCallbackAdded
            | K::TimerLinkNode
            | K::CallbackRegister
            | K::LifecycleInit
            | K::LifecycleTransition => link_body(kind, self),
            K::RmwClientInit
            | K::SendRequest
            | K::TakeRequest
            | K::SendResponse
            | K::TakeResponse => services::body(kind, self),
            K::SchedSwitch => Some(Body::SchedSwitch(self.switch()?)),
            K::SchedOther => Some(Body::Other),
            _ => own_body(kind, self),
        }
    }

    fn switch(&self) -> Option<Switch<'_>> {
        // What has no bit for a reason to sleep could go on; the bit above those says "preempted"
        // (`TASK_REPORT_MAX`, since Linux 4.14).
        const REASONS: i64 = 0xff;
        Some(Switch {
            cpu: self.u64(SWITCHED_CPU)?,
            from: self.i64(0)?,
            preempts: self.i64(1)? & REASONS == 0,
            to: self.i64(2)?,
            name: self.text(0)?.trim_end_matches('\0'),
        })
    }

    #[inline]
    fn u64(&self, at: usize) -> Option<u64> {
        let there = self.present & !self.negative & (1 << at) != 0;
        there.then_some(self.numbers[at])
    }

    #[inline]
    fn i64(&self, at: usize) -> Option<i64> {
        let there = self.present & (1 << at) != 0;
        let number = self.numbers[at].cast_signed();
        let is_negative = self.negative & (1 << at) != 0;
        // A positive number may be too large.
        (there && is_negative == (number < 0)).then_some(number)
    }

    /// A time of the trace's own clock.
    fn time(&self, at: usize) -> Option<i64> {
        self.i64(at).map(within_range)
    }

    fn text(&self, at: usize) -> Option<&str> {
        self.held.as_ref()?.texts[at].as_deref()
    }

    fn list(&self, at: usize) -> &[u64] {
        self.held.as_ref().map_or(&[], |held| &held.lists[at])
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.held.as_ref()?.bytes.as_deref()
    }
}

/// Differences of two times stay within 64 bits, whatever a broken trace says.
pub(crate) fn within_range(time_ns: i64) -> i64 {
    const LIMIT: i64 = 1 << 61;
    time_ns.clamp(-LIMIT, LIMIT)
}

fn message_body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
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
fn middleware_body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
    Some(match kind {
        K::DdsWrite => Body::DdsWrite {
            timestamp: read.i64(0)?,
        },
        K::CaretInit => Body::CaretInit {
            distribution: read.text(0)?,
        },
        K::CaretWrite => Body::CaretWrite {
            message: read.u64(0)?,
            stamp: read.i64(1),
        },
        K::CaretCopy | K::MessageConstruct => Body::MessageCopy {
            from: read.u64(0)?,
            to: read.u64(1)?,
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

fn buffer_body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
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

fn entity_body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
    Some(match kind {
        K::RclInit => Body::RclInit {
            version: read.text(0),
        },
        K::NodeInit => Body::NodeInit {
            node: read.u64(0)?,
            name: read.text(0)?,
            namespace: read.text(1)?,
        },
        K::RmwPublisherInit => Body::RmwPublisherInit {
            rmw_publisher: read.u64(0)?,
            gid: read.bytes()?,
        },
        K::PublisherInit => Body::PublisherInit {
            publisher: read.u64(0)?,
            node: read.u64(1)?,
            rmw_publisher: read.u64(2)?,
            topic: read.text(0)?,
            depth: read.u64(4)?,
        },
        K::SubscriptionInit => Body::SubscriptionInit {
            subscription: read.u64(0)?,
            node: read.u64(1)?,
            rmw_subscription: read.u64(2)?,
            topic: read.text(0)?,
            depth: read.u64(4)?,
        },
        K::ServiceInit => Body::ServiceInit {
            service: read.u64(0)?,
            node: read.u64(1)?,
            rmw_service: read.u64(3),
            name: read.text(0)?,
        },
        K::ClientInit => Body::ClientInit {
            node: read.u64(0)?,
            rmw_client: read.u64(2),
            name: read.text(0)?,
        },
        _ => return None,
    })
}

fn link_body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
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
            symbol: read.text(0)?,
        },
        K::LifecycleInit => Body::LifecycleInit {
            node: read.u64(0)?,
            state_machine: read.u64(1)?,
        },
        K::LifecycleTransition => Body::LifecycleTransition {
            state_machine: read.u64(0)?,
            start: read.text(0)?,
            goal: read.text(1)?,
        },
        _ => return None,
    })
}

/// Events of Stowplan's own node program.
fn own_body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
    Some(match kind {
        K::ProcessStart => Body::ProcessStart {
            host_monotonic_ns: read.time(0)?,
        },
        K::NodeLoadBegin => Body::NodeLoadBegin {
            node: read.text(0)?,
        },
        K::NodeLoaded => Body::NodeLoaded {
            node: read.text(0)?,
            module: read.text(1)?,
        },
        K::LaunchReady => Body::LaunchReady {
            service: read.text(0)?,
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
