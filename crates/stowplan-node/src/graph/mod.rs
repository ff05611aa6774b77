//! What runs in a process: nodes, their callbacks, and the endpoints between them.

mod callback;
mod chains;
mod discovery;
mod implicit;
mod intra;
mod load;
mod process;
mod publisher;
mod silent;
mod subscription;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use callback::{Callback, restart_draws_at};
pub use discovery::Discovery;
pub use implicit::{container_node, launch_endpoints, load_client};
pub use load::{Loader, START_WORKING_SET, load_node, record_node};
pub use process::Process;
pub use publisher::Publisher;
pub use subscription::Subscription;

use crate::executor::timer::Release;
use callback::TimerEntity;
use implicit::IdleEndpoint;
use intra::IntraSubscription;

/// What a thread that executes callbacks keeps.
#[derive(Debug)]
pub struct ThreadContext {
    /// The message that was taken last.
    buffer: Vec<u8>,
}

impl ThreadContext {
    /// With room for messages of so many bytes, resident.
    #[must_use]
    pub fn new(message_bytes: usize) -> Self {
        let mut buffer = vec![0; message_bytes];
        buffer.fill(1);
        Self { buffer }
    }
}

/// Something that an executor can execute.
#[derive(Debug, Clone)]
pub enum Runnable {
    /// A timer.
    Timer(Arc<TimerEntity>),
    /// A subscription over DDS.
    Subscription(Arc<Subscription>),
    /// A subscription inside the process.
    Intra(Arc<IntraSubscription>),
    /// An endpoint that rclcpp creates and that gets no data here.
    Idle(Arc<IdleEndpoint>),
    /// Loads components.
    Loader(Arc<Loader>),
}

impl Runnable {
    /// The handle that events name it by.
    #[must_use]
    pub fn handle(&self) -> u64 {
        match self {
            Self::Timer(timer) => timer.handle(),
            Self::Subscription(subscription) => subscription.handle(),
            Self::Intra(intra) => intra.handle(),
            Self::Idle(idle) => idle.handle(),
            Self::Loader(loader) => loader.handle(),
        }
    }

    /// Whether there is something to execute now that its condition holds.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Intra(intra) => intra.is_ready(),
            Self::Timer(_) | Self::Subscription(_) | Self::Idle(_) | Self::Loader(_) => true,
        }
    }

    /// Executes it once; it was found to be due at `now_ns`.
    pub fn execute(&self, context: &mut ThreadContext, now_ns: u64, release: Option<Release>) {
        match self {
            Self::Timer(timer) => {
                if let Some(release) = release {
                    timer.execute(now_ns, release);
                }
            }
            Self::Subscription(subscription) => subscription.execute(context),
            Self::Intra(intra) => intra.execute(),
            Self::Idle(idle) => idle.execute(context),
            Self::Loader(loader) => loader.execute(),
        }
    }
}

/// A number that no other object of this process has; stands where ROS 2 has an address. It begins with
/// the process id, for tools that tell objects apart by address alone.
fn new_handle() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x10);
    (u64::from(std::process::id()) << 24) | NEXT.fetch_add(0x10, Ordering::Relaxed)
}
