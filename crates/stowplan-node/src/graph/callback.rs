//! Callbacks: counted work between two events, then publications.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stowplan_ctf::events::ros2::{
    CallbackEnd, CallbackStart, RclTimerInit, RclcppCallbackRegister, RclcppTimerCallbackAdded,
    RclcppTimerLinkNode,
};
use stowplan_ctf::events::stowplan::{CallbackCpu, SourceRelease, TimerRelease};
use stowplan_ctf::schema::Handle;
use stowplan_wire::announce::{Age, TagCounts};
use stowplan_wire::service::{CallbackPlan, DistributionPlan};

use super::chains::Chains;
use super::{Publisher, new_handle};
use crate::draw::{Purpose, draw, whole};
use crate::executor::timer::Release;
use crate::payload::{Head, Origin};
use crate::record;
use crate::vision::TagDetector;
use crate::work::WorkingSet;

/// Arming instant, CLOCK_MONOTONIC nanoseconds.
static ARMED_AT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Whether the process was asked to arm: from then on nothing of the protocol is said until the window is over.
pub(super) fn is_armed() -> bool {
    ARMED_AT.load(Ordering::Acquire) != u64::MAX
}

/// From this instant on, every callback counts its calls from zero, so that what is drawn by call number
/// is equal in every deployment, however long each took to start.
pub fn restart_draws_at(t_arm_ns: u64) {
    ARMED_AT.store(t_arm_ns, Ordering::Release);
}

/// The newest data that a callback has stored in its node.
#[derive(Debug, Clone, Copy)]
struct Stored {
    at_ns: u64,
    origin: Origin,
}

/// An image that a message brought.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedImage<'a> {
    /// What its message says of itself.
    pub head: &'a Head,
    /// RGB, a byte each, row by row.
    pub pixels: &'a [u8],
}

/// What a call of a callback is on.
#[derive(Debug, Default, Clone, Copy)]
struct Input<'a> {
    /// Topic and size of a replayed message: what is published on that topic has that size.
    replayed: Option<(u32, u64)>,
    image: Option<ReceivedImage<'a>>,
}

/// A callback of a node.
#[derive(Debug)]
pub struct Callback {
    handle: u64,
    id: u32,
    seed: u64,
    record_cpu: bool,
    iterations: DistributionPlan,
    work: WorkingSet,
    /// What looks for tags in the images of its topic; `None` where that has none.
    detector: Option<TagDetector>,
    publishers: Vec<Arc<Publisher>>,
    calls: AtomicU64,
    armed: AtomicBool,
    age_count: AtomicU64,
    age_sum_ns: AtomicU64,
    /// Whether another callback of the node uses its data.
    used: bool,
    stored: Mutex<Option<Stored>>,
    chains: Chains,
}

impl Callback {
    /// A callback of the node `node` that has not been called. Its symbol in the trace is `NODE::CALLBACK`.
    #[must_use]
    pub fn new(
        node: &str,
        plan: &CallbackPlan,
        seed: u64,
        record_cpu: bool,
        used: bool,
        publishers: Vec<Arc<Publisher>>,
        chains: Chains,
    ) -> Self {
        let callback = Self {
            handle: new_handle(),
            id: plan.id,
            seed,
            record_cpu,
            iterations: plan.iterations,
            work: WorkingSet::new(plan.working_set_bytes),
            detector: None,
            publishers,
            calls: AtomicU64::new(0),
            armed: AtomicBool::new(false),
            age_count: AtomicU64::new(0),
            age_sum_ns: AtomicU64::new(0),
            used,
            stored: Mutex::new(None),
            chains,
        };
        record::event(&RclcppCallbackRegister {
            callback: Handle(callback.handle),
            symbol: &format!("{node}::{}", plan.name),
        });
        callback
    }

    /// The same, with what looks for tags in the images that it gets.
    #[must_use]
    pub fn with_detector(self, detector: Option<TagDetector>) -> Self {
        Self { detector, ..self }
    }

    /// The handle that events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.handle
    }

    /// Its number in the stack.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Number of a call that is made at `now_ns`.
    fn number(&self, now_ns: u64) -> u64 {
        if now_ns >= ARMED_AT.load(Ordering::Acquire) && !self.armed.swap(true, Ordering::AcqRel) {
            self.calls.store(0, Ordering::Release);
        }
        self.calls.fetch_add(1, Ordering::AcqRel)
    }

    /// Runs once on data of this origin. `now_ns` is when it was found to be due.
    pub fn run(
        &self,
        now_ns: u64,
        origin: Origin,
        intra_process: bool,
        image: Option<ReceivedImage<'_>>,
    ) {
        let input = Input {
            image,
            ..Input::default()
        };
        self.run_on(now_ns, origin, intra_process, input);
    }

    fn run_on(&self, now_ns: u64, origin: Origin, intra_process: bool, input: Input<'_>) {
        let call = self.number(now_ns);
        let origin = Origin {
            chains: self.chains.along(origin.chains),
            ..origin
        };
        let iterations = whole(draw(
            self.seed,
            Purpose::Work,
            self.id,
            call,
            &self.iterations,
        ));
        let cpu = self.record_cpu.then(record::thread_cpu);
        record::event(&CallbackStart {
            callback: Handle(self.handle),
            is_intra_process: i32::from(intra_process),
        });
        self.work.run(iterations);
        if let (Some(detector), Some(image)) = (&self.detector, input.image) {
            detector.look(image.head, image.pixels);
        }
        for publisher in &self.publishers {
            let replayed = input.replayed;
            let bytes = replayed.and_then(|(topic, bytes)| publisher.is_on(topic).then_some(bytes));
            publisher.publish(origin, call, bytes);
        }
        let end_ns = record::now();
        record::event_at(
            end_ns,
            &CallbackEnd {
                callback: Handle(self.handle),
            },
        );
        self.add_age(origin, end_ns);
        self.chains.output(origin.chains);
        if let Some(begin) = cpu {
            record::event(&CallbackCpu {
                callback: Handle(self.handle),
                cpu_ns: record::thread_cpu() - begin,
                iterations,
            });
        }
        if !self.used {
            return;
        }
        // After the end event: who reads this begins later than the callback ended.
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stored {
            at_ns: record::now(),
            origin,
        });
    }

    fn add_age(&self, origin: Origin, end_ns: u64) {
        if origin.ns >= ARMED_AT.load(Ordering::Acquire) {
            self.age_count.fetch_add(1, Ordering::Relaxed);
            let age_ns = end_ns.saturating_sub(origin.ns);
            self.age_sum_ns.fetch_add(age_ns, Ordering::Relaxed);
        }
    }

    /// Ages of the data that it has used since arming.
    #[must_use]
    pub fn age(&self) -> Age {
        Age {
            count: self.age_count.load(Ordering::Acquire),
            sum_ns: self.age_sum_ns.load(Ordering::Acquire),
        }
    }

    /// What has come of looking for tags; `None` where it gets no images.
    #[must_use]
    pub fn tags(&self) -> Option<TagCounts> {
        self.detector.as_ref().map(TagDetector::counts)
    }

    /// Whether it needs the images that messages bring.
    #[must_use]
    pub fn sees(&self) -> bool {
        self.detector.is_some()
    }

    fn stored(&self) -> Option<Stored> {
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A timer and the callback that it starts.
#[derive(Debug)]
pub struct TimerEntity {
    handle: u64,
    callback: Arc<Callback>,
    /// Callbacks of the node whose newest data it uses; a source uses none.
    uses: Vec<Arc<Callback>>,
    /// Topic, as the plan numbers them, whose messages have the sizes of those that are replayed.
    replays_on: Option<u32>,
}

impl TimerEntity {
    /// A timer of a node; records what rcl and rclcpp record of one.
    #[must_use]
    pub fn new(
        node: u64,
        period_ns: u64,
        callback: Arc<Callback>,
        uses: Vec<Arc<Callback>>,
        replays_on: Option<u32>,
    ) -> Self {
        let handle = new_handle();
        record::event(&RclTimerInit {
            timer_handle: Handle(handle),
            period: period_ns.cast_signed(),
        });
        record::event(&RclcppTimerCallbackAdded {
            timer_handle: Handle(handle),
            callback: Handle(callback.handle()),
        });
        record::event(&RclcppTimerLinkNode {
            timer_handle: Handle(handle),
            node_handle: Handle(node),
        });
        Self {
            handle,
            callback,
            uses,
            replays_on,
        }
    }

    /// The handle that events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.handle
    }

    /// Runs the callback for a release.
    pub fn execute(&self, now_ns: u64, release: Release) {
        let callback = Handle(self.callback.handle());
        if self.uses.is_empty() {
            record::event(&SourceRelease {
                callback,
                sequence: release.number,
                release_ns: release.expected_ns,
            });
            let origin = Origin {
                ns: release.expected_ns,
                callback: self.callback.id(),
                chains: 0,
            };
            let input = Input {
                replayed: self.replays_on.zip(release.bytes),
                ..Input::default()
            };
            self.callback.run_on(now_ns, origin, false, input);
            return;
        }
        record::event(&TimerRelease {
            callback,
            expected_ns: release.expected_ns,
        });
        let stored = || self.uses.iter().filter_map(|used| used.stored());
        let newest = stored().max_by_key(|stored| stored.at_ns);
        let origin = newest.map_or(Origin::NONE, |stored| stored.origin);
        // A chain may come through data that is not the newest.
        let chains = stored().fold(0, |chains, stored| chains | stored.origin.chains);
        self.callback
            .run(now_ns, Origin { chains, ..origin }, false, None);
    }
}
