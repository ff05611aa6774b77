//! Events that consist of numbers alone: all that happens often.

use crate::ctf_classes::within_range;
use crate::ctf_table::{Kind as K, Kind};
use crate::event::Body;

/// Most fields that are read of an event.
const MOST_FIELDS: usize = 5;

/// The numbers of an event, by their places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    numbers: [u64; MOST_FIELDS],
    /// Which of the numbers there are, one bit each.
    present: u8,
    /// Which of them are negative.
    negative: u8,
}

impl Numbers {
    /// Puts a number of 64 bits in two's complement at its place.
    #[inline]
    pub fn set(&mut self, at: usize, number: u64, is_negative: bool) {
        self.numbers[at] = number;
        self.present |= 1 << at;
        self.negative |= u8::from(is_negative) << at;
    }

    #[inline]
    pub fn u64(&self, at: usize) -> Option<u64> {
        let there = self.present & !self.negative & (1 << at) != 0;
        there.then_some(self.numbers[at])
    }

    #[inline]
    pub fn i64(&self, at: usize) -> Option<i64> {
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
}

/// Whether the events of a kind say nothing but numbers.
pub(super) fn are_all(kind: Kind) -> bool {
    !matches!(
        kind,
        K::RclInit
            | K::NodeInit
            | K::RmwPublisherInit
            | K::PublisherInit
            | K::SubscriptionInit
            | K::ServiceInit
            | K::ClientInit
            | K::CallbackRegister
            | K::LifecycleTransition
            | K::MessageLinkAsync
            | K::MessageLinkSync
            | K::CaretInit
            | K::NodeLoadBegin
            | K::NodeLoaded
            | K::LaunchReady
            | K::RmwClientInit
            | K::TakeRequest
            | K::SendResponse
            | K::SchedSwitch
    )
}

/// The event as the analysis takes it; `None` if a field that every distribution has is missing.
#[inline]
pub(super) fn body(kind: Option<Kind>, read: &Numbers) -> Option<Body<'static>> {
    let Some(kind) = kind else {
        return Some(Body::Other);
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
        K::SchedOther => Some(Body::Other),
        K::RmwTake
        | K::RclcppPublish
        | K::IntraPublish
        | K::RclPublish
        | K::RmwPublish
        | K::Arrival
        | K::Message => message_body(kind, read),
        K::DdsWrite
        | K::CaretWrite
        | K::CaretStamp
        | K::CaretCopy
        | K::MessageConstruct
        | K::Dispatch
        | K::DispatchIntra => middleware_body(kind, read),
        K::RingEnqueue | K::RingDequeue | K::RingClear | K::IpbToSubscription | K::BufferToIpb => {
            buffer_body(kind, read)
        }
        K::RclcppSubscriptionInit
        | K::SubscriptionCallbackAdded
        | K::ServiceCallbackAdded
        | K::TimerInit
        | K::TimerCallbackAdded
        | K::TimerLinkNode
        | K::LifecycleInit => link_body(kind, read),
        K::SendRequest => Some(Body::SendRequest {
            rmw_client: read.u64(0)?,
            sequence: read.i64(1)?,
        }),
        K::TakeResponse => Some(Body::TakeResponse {
            rmw_client: read.u64(0)?,
            sequence: read.i64(1)?,
            taken: read.i64(2)? != 0,
        }),
        _ => own_body(kind, read),
    }
}

fn message_body(kind: Kind, read: &Numbers) -> Option<Body<'static>> {
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
fn middleware_body(kind: Kind, read: &Numbers) -> Option<Body<'static>> {
    Some(match kind {
        K::DdsWrite => Body::DdsWrite {
            timestamp: read.i64(0)?,
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

fn buffer_body(kind: Kind, read: &Numbers) -> Option<Body<'static>> {
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

fn link_body(kind: Kind, read: &Numbers) -> Option<Body<'static>> {
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
        K::LifecycleInit => Body::LifecycleInit {
            node: read.u64(0)?,
            state_machine: read.u64(1)?,
        },
        _ => return None,
    })
}

/// Events of Stowplan's own node program.
fn own_body(kind: Kind, read: &Numbers) -> Option<Body<'static>> {
    Some(match kind {
        K::ProcessStart => Body::ProcessStart {
            host_monotonic_ns: read.time(0)?,
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
