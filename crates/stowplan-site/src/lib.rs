//! What a run asks of a host, wherever that is: behind a pipe, or made up in a test. Instants of hosts know their clock.

mod clock;
mod site;

pub use clock::{ClockError, ClockOffset, HostId, Instant};
pub use site::{Armed, Site, Watched};
