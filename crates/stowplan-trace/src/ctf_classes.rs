//! From an event of the reader to one of the analysis.

use stowplan_ctf::reader::Event;
use stowplan_ctf::{EventClassInfo, FieldRef};

use crate::ctf_table::{CLASSES, CREATED, Kind as K, Kind, Needed, SWITCHED_CPU, caret_original};
use crate::event::{Body, Switch};

use numbers::Numbers;

mod numbers;

/// An event class of one trace with its fields resolved.
#[derive(Debug)]
pub(crate) struct Class {
    kind: Option<Kind>,
    pub provider: Provider,
    /// What is needed of its events.
    pub needed: Needed,
    pub publication: Publication,
    /// Whether all that it says are numbers.
    is_plain: bool,
    /// The fields that this trace has, with their places among those that are read.
    fields: Vec<(usize, FieldRef)>,
    /// When what the event tells of was made, where that is not the event's own time.
    created: Option<FieldRef>,
    /// Context `pid_ns`.
    pub pid_namespace: Option<FieldRef>,
}

/// What an event says, taken out of its packet.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// Numbers alone: so it is with all that happens often.
    Plain(Body<'static>),
    /// A field that every distribution has is missing.
    Unreadable,
    /// More than numbers, or when something else was.
    Rare(Box<EventFields>),
}

/// What an event says that does not consist of numbers alone.
#[derive(Debug, Clone)]
pub(crate) struct EventFields {
    kind: Option<Kind>,
    numbers: Numbers,
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

/// How much of a trace is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Every event: another trace may have the same, or nothing says who recorded them.
    Everything,
    /// Events with a meaning here; others are counted.
    #[default]
    Meaning,
    /// Entities and the calls of callbacks.
    Callbacks,
    /// What an [`Inventory`](crate::Inventory) needs.
    Inventory,
}

/// What an event says of the publication that its thread is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publication {
    /// The middleware has the message.
    Begins,
    /// Said from inside the middleware.
    GoesOn,
    /// The thread is beyond it.
    IsOver,
}

/// Whether events of this name are those of ROS 2: its tracepoints, CARET's and our own program's.
pub(crate) fn is_of_ros(name: &str) -> bool {
    let providers = ["ros2:", "ros2_caret:", "stowplan:"];
    providers.iter().any(|provider| name.starts_with(provider))
}

impl Class {
    /// `middleware`: whether events from inside the middleware are to be used.
    pub fn new(info: &EventClassInfo, middleware: bool, depth: Depth) -> Self {
        let named = |wanted: &str| CLASSES.iter().find(|(name, ..)| *name == wanted);
        let created = info.field(CREATED);
        let original = created.and_then(|_| named(&caret_original(&info.name)?));
        let known = original.or_else(|| named(&info.name));
        let known = known.filter(|class| middleware || class.1 != K::DdsWrite);
        let names = known.map_or(&[][..], |class| class.2).iter().enumerate();
        let kind = known.map(|class| class.1);
        let created = created.filter(|_| original.is_some());
        Self {
            kind,
            needed: match (depth, kind) {
                (Depth::Everything, _) => Needed::All,
                (_, None) => Needed::Count,
                (Depth::Meaning, Some(_)) => Needed::All,
                (_, Some(_)) if created.is_some() => Needed::All,
                (Depth::Callbacks, Some(kind)) if kind.is_of_calls() => Needed::All,
                (Depth::Callbacks | Depth::Inventory, Some(kind)) => kind.needed(),
            },
            publication: match kind {
                Some(K::RmwPublish) => Publication::Begins,
                Some(
                    K::DdsWrite
                    | K::CaretWrite
                    | K::CaretStamp
                    | K::CaretCopy
                    | K::MessageConstruct,
                ) => Publication::GoesOn,
                _ => Publication::IsOver,
            },
            is_plain: created.is_none() && kind.is_none_or(numbers::are_all),
            provider: match known {
                _ if is_of_ros(&info.name) => Provider::Ros,
                Some((_, K::SchedSwitch | K::SchedOther, _)) => Provider::Scheduler,
                Some(_) => Provider::Middleware,
                None => Provider::Other,
            },
            fields: names
                .filter_map(|(at, name)| Some((at, info.field(name)?)))
                .collect(),
            created,
            pid_namespace: info.context("pid_ns"),
        }
    }

    /// As [`Event::recorder`], where that is all there is to know of who recorded an event.
    #[inline]
    pub fn short_recorder(&self, event: &Event<'_>) -> Option<u64> {
        match self.pid_namespace {
            None => event.recorder(),
            Some(_) => None,
        }
    }

    /// Its first field as a number.
    pub fn first_number(&self, event: &Event<'_>) -> Option<u64> {
        event.u64(self.fields.first()?.1)
    }

    /// Takes what an event says out of its packet.
    #[inline]
    pub fn read(&self, event: &Event<'_>) -> Said {
        let mut read = Numbers::default();
        for &(at, field) in &self.fields {
            if let Some((number, is_negative)) = event.integer(field) {
                read.set(at, number, is_negative);
            }
        }
        if self.is_plain {
            return numbers::body(self.kind, &read).map_or(Said::Unreadable, Said::Plain);
        }
        Said::Rare(Box::new(self.rest(event, read)))
    }

    #[cold]
    fn rest(&self, event: &Event<'_>, mut numbers: Numbers) -> EventFields {
        if let (Some(K::SchedSwitch), Some(cpu)) = (self.kind, event.cpu) {
            numbers.set(SWITCHED_CPU, cpu.into(), false);
        }
        let mut said = EventFields {
            kind: self.kind,
            numbers,
            created_ns: self
                .created
                .and_then(|created| event.i64(created))
                .map(within_range),
            texts: [None, None],
            lists: [Vec::new(), Vec::new()],
            bytes: None,
        };
        let field = |at: usize| self.fields.iter().find(|field| field.0 == at);
        let text = |at: usize| Some(event.text(field(at)?.1)?.into_owned());
        let list = |at: usize| {
            let elements = field(at).and_then(|field| event.integers(field.1));
            elements.map(Iterator::collect).unwrap_or_default()
        };
        match self.kind {
            Some(K::NodeInit | K::LifecycleTransition) => said.texts = [text(1), text(2)],
            Some(K::PublisherInit | K::SubscriptionInit | K::SchedSwitch) => {
                said.texts[0] = text(3)
            }
            Some(K::ServiceInit) => said.texts[0] = text(2),
            Some(K::CallbackRegister | K::ClientInit) => said.texts[0] = text(1),
            Some(K::NodeLoaded) => said.texts = [text(0), text(1)],
            Some(K::RclInit | K::NodeLoadBegin | K::LaunchReady | K::CaretInit) => {
                said.texts[0] = text(0)
            }
            Some(K::RmwPublisherInit | K::RmwClientInit | K::TakeRequest | K::SendResponse) => {
                let bytes = field(1).and_then(|field| event.bytes(field.1));
                said.bytes = bytes.map(<[u8]>::to_vec);
            }
            Some(K::MessageLinkAsync | K::MessageLinkSync) => said.lists = [list(0), list(1)],
            _ => {}
        }
        said
    }
}

impl Said {
    /// The event as the analysis takes it; `None` if a field that every
    /// distribution has is missing.
    #[inline]
    pub fn body(&self) -> Option<Body<'_>> {
        match self {
            Self::Plain(body) => Some(*body),
            Self::Unreadable => None,
            Self::Rare(fields) => fields.body(),
        }
    }

    /// When what it tells of was made, nanoseconds of its trace's clock, where that is not its own time.
    #[inline]
    pub fn created_ns(&self) -> Option<i64> {
        match self {
            Self::Plain(_) | Self::Unreadable => None,
            Self::Rare(fields) => fields.created_ns,
        }
    }
}

impl EventFields {
    fn body(&self) -> Option<Body<'_>> {
        let numbers = &self.numbers;
        Some(match self.kind? {
            K::MessageLinkAsync | K::MessageLinkSync => Body::MessageLink {
                subscriptions: &self.lists[0],
                publishers: &self.lists[1],
                synchronised: self.kind == Some(K::MessageLinkSync),
            },
            K::RmwClientInit => Body::RmwClientInit {
                rmw_client: numbers.u64(0)?,
                gid: self.bytes()?,
            },
            K::TakeRequest => Body::TakeRequest {
                rmw_service: numbers.u64(0)?,
                client_gid: self.bytes()?,
                sequence: numbers.i64(2)?,
                taken: numbers.i64(3)? != 0,
            },
            K::SendResponse => Body::SendResponse {
                rmw_service: numbers.u64(0)?,
                client_gid: self.bytes()?,
                sequence: numbers.i64(2)?,
            },
            K::CaretInit => Body::CaretInit {
                distribution: self.text(0)?,
            },
            K::CallbackRegister => Body::CallbackRegister {
                callback: numbers.u64(0)?,
                symbol: self.text(0)?,
            },
            K::LifecycleTransition => Body::LifecycleTransition {
                state_machine: numbers.u64(0)?,
                start: self.text(0)?,
                goal: self.text(1)?,
            },
            K::NodeLoadBegin => Body::NodeLoadBegin {
                node: self.text(0)?,
            },
            K::NodeLoaded => Body::NodeLoaded {
                node: self.text(0)?,
                module: self.text(1)?,
            },
            K::LaunchReady => Body::LaunchReady {
                service: self.text(0)?,
            },
            K::SchedSwitch => Body::SchedSwitch(self.switch()?),
            _ => return self.entity(),
        })
    }

    fn switch(&self) -> Option<Switch<'_>> {
        // What has no bit for a reason to sleep could go on; the bit above those says "preempted"
        // (`TASK_REPORT_MAX`, since Linux 4.14).
        const REASONS: i64 = 0xff;
        Some(Switch {
            cpu: self.numbers.u64(SWITCHED_CPU)?,
            from: self.numbers.i64(0)?,
            preempts: self.numbers.i64(1)? & REASONS == 0,
            to: self.numbers.i64(2)?,
            name: self.text(0)?.trim_end_matches('\0'),
        })
    }

    fn entity(&self) -> Option<Body<'_>> {
        let numbers = &self.numbers;
        Some(match self.kind? {
            K::RclInit => Body::RclInit {
                version: self.text(0),
            },
            K::NodeInit => Body::NodeInit {
                node: numbers.u64(0)?,
                name: self.text(0)?,
                namespace: self.text(1)?,
            },
            K::RmwPublisherInit => Body::RmwPublisherInit {
                rmw_publisher: numbers.u64(0)?,
                gid: self.bytes()?,
            },
            K::PublisherInit => Body::PublisherInit {
                publisher: numbers.u64(0)?,
                node: numbers.u64(1)?,
                rmw_publisher: numbers.u64(2)?,
                topic: self.text(0)?,
                depth: numbers.u64(4)?,
            },
            K::SubscriptionInit => Body::SubscriptionInit {
                subscription: numbers.u64(0)?,
                node: numbers.u64(1)?,
                rmw_subscription: numbers.u64(2)?,
                topic: self.text(0)?,
                depth: numbers.u64(4)?,
            },
            K::ServiceInit => Body::ServiceInit {
                service: numbers.u64(0)?,
                node: numbers.u64(1)?,
                rmw_service: numbers.u64(3),
                name: self.text(0)?,
            },
            K::ClientInit => Body::ClientInit {
                node: numbers.u64(0)?,
                rmw_client: numbers.u64(2),
                name: self.text(0)?,
            },
            // As numbers, where it was made before the event.
            _ => return numbers::body(self.kind, numbers),
        })
    }

    fn text(&self, at: usize) -> Option<&str> {
        self.texts[at].as_deref()
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }
}

/// Differences of two times stay within 64 bits, whatever a broken trace says.
pub(crate) fn within_range(time_ns: i64) -> i64 {
    const LIMIT: i64 = 1 << 61;
    time_ns.clamp(-LIMIT, LIMIT)
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
