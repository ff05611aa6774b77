//! What happened: instances of callbacks, publications and takes.

use std::fmt;

use crate::ids::{
    CallbackId, InstanceId, PublicationId, PublisherId, SubscriptionId, TakeId, ThreadId,
};

/// A time in nanoseconds, or none, in eight bytes: an analysis keeps millions of them, and `Option<i64>` takes
/// sixteen. No clock of a trace reaches `i64::MIN`, which stands for none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MaybeNs(i64);

impl MaybeNs {
    /// No time.
    pub const NONE: Self = Self(i64::MIN);

    /// The time, if there is one.
    #[inline]
    #[must_use]
    pub fn get(self) -> Option<i64> {
        (self != Self::NONE).then_some(self.0)
    }
}

impl From<Option<i64>> for MaybeNs {
    #[inline]
    fn from(time: Option<i64>) -> Self {
        time.map_or(Self::NONE, Self)
    }
}

impl fmt::Debug for MaybeNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// One execution of a callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The callback.
    pub callback: CallbackId,
    /// Where it ran.
    pub thread: ThreadId,
    /// `callback_start`, nanoseconds.
    pub start_ns: i64,
    /// `callback_end`; `None` if the trace ends before it.
    pub end_ns: MaybeNs,
    /// The message that it got.
    pub take: Option<TakeId>,
    /// When its timer should have started it, or the sensor's data became
    /// available; `None` where the trace does not say.
    pub release_ns: MaybeNs,
    /// First of its publications; the others follow by [`Publication::next`].
    pub first_publication: Option<PublicationId>,
    /// Last of its publications.
    pub last_publication: Option<PublicationId>,
}

/// One publication of a message: the same message to readers inside and
/// outside the process is one publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The publisher.
    pub publisher: PublisherId,
    /// Where it happened.
    pub thread: ThreadId,
    /// The callback instance that it happened in.
    pub instance: Option<InstanceId>,
    /// When the publication entered rclcpp (or rcl, where nothing is above), nanoseconds.
    pub time_ns: i64,
    /// When it entered the middleware; `None` if only readers inside the process got it.
    pub rmw_ns: MaybeNs,
    /// Source timestamp, CLOCK_REALTIME nanoseconds, where the trace has it (Jazzy
    /// on, or by the events of a traced middleware).
    pub stamp: MaybeNs,
    /// What a link by [`stamp`](Self::stamp) is called: which events gave it.
    pub stamp_by: LinkMethod,
    /// Its `rmw_publish` gives 0 for the source timestamp, as rmw_cyclonedds does for
    /// loaned messages.
    pub unstamped: bool,
    /// First event of the thread after it: the source timestamp lies before.
    pub followed_ns: MaybeNs,
    /// Its number among the publications of its publisher.
    pub ordinal: u32,
    /// Next publication of the same callback instance.
    pub next: Option<PublicationId>,
}

/// How a message's publication was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkMethod {
    /// By the slot of the ring buffer inside the process.
    RingBuffer,
    /// By topic and source timestamp, which both sides recorded.
    SourceTimestamp,
    /// By topic and the time in which the source timestamp must have been
    /// taken, because the publishing side did not record it.
    TopicAndTime,
    /// By topic and source timestamp, which the middleware's own events
    /// (`dds:write`) give for the publishing side.
    DdsWrite,
    /// By topic and source timestamp, which CARET's events give for one side or both.
    Caret,
    /// By the message's address inside the process, from CARET's events.
    MessageAddress,
    /// The trace has no takes: the latest publication before the callback that no
    /// other callback of the subscription got.
    LatestBeforeCallback,
}

impl LinkMethod {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RingBuffer => "ring_buffer",
            Self::SourceTimestamp => "source_timestamp",
            Self::TopicAndTime => "topic_and_time",
            Self::DdsWrite => "dds_write",
            Self::Caret => "caret",
            Self::MessageAddress => "message_address",
            Self::LatestBeforeCallback => "latest_before_callback",
        }
    }
}

/// How sure a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// The trace lacks what would tell: see [`LinkMethod::LatestBeforeCallback`].
    Guessed,
    /// Several publications fit; the order of publication decided.
    Ambiguous,
    /// One publication fits, found by time.
    Probable,
    /// The trace itself names the publication.
    Certain,
}

impl Confidence {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Guessed => "guessed",
            Self::Ambiguous => "ambiguous",
            Self::Probable => "probable",
            Self::Certain => "certain",
        }
    }
}

/// Which publication a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The publication.
    pub publication: PublicationId,
    /// How it was found.
    pub method: LinkMethod,
    /// How sure it is.
    pub confidence: Confidence,
}

/// What a message says of itself, for checks only: links never rest on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// Number of the publisher in the plan.
    pub publisher_id: u32,
    /// Number of the message from this publisher.
    pub sequence: u64,
    /// Release of the sensor data that it rests on, nanoseconds.
    pub origin_ns: i64,
    /// When it was published, nanoseconds.
    pub stamp_ns: i64,
}

/// One message taken by a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Where it happened.
    pub thread: ThreadId,
    /// When, nanoseconds.
    pub time_ns: i64,
    /// Source timestamp, CLOCK_REALTIME nanoseconds; `None` for messages handed
    /// over inside the process.
    pub stamp: MaybeNs,
    /// The publication it came from.
    pub link: Option<Link>,
    /// The publication that would be its link, had no events been discarded that may be of
    /// another one: what rests on it is invalid.
    pub doubtful: Option<Link>,
    /// It has no link, and its publication may be among the discarded events.
    pub maybe_discarded: bool,
    /// When the sample was in the reader's cache (inside a process: in its ring
    /// buffer), nanoseconds; `None` where the trace does not have it.
    pub arrival_ns: MaybeNs,
    /// The callback instance that got it.
    pub instance: Option<InstanceId>,
    /// What the message says of itself.
    pub payload: Option<Box<Payload>>,
    /// The trace records no takes: this one stands for the start of its callback.
    pub inferred: bool,
}

impl Take {
    /// Takes a link over; `doubt`: whether events may be missing that are of another publication.
    pub(crate) fn set_link(&mut self, link: Option<Link>, doubt: bool) {
        self.link = link.filter(|_| !doubt);
        self.doubtful = link.filter(|_| doubt);
        self.maybe_discarded = doubt;
    }
}

/// A sample in a reader's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Source timestamp of the sample, CLOCK_REALTIME nanoseconds.
    pub stamp: i64,
    /// When, nanoseconds.
    pub time_ns: i64,
    /// The take that got it.
    pub take: Option<TakeId>,
}
