//! How far hosts' clocks are apart.

use stowplan_site::{ClockOffset, HostId, Instant, Site};

use crate::error::RunError;

/// Exchanges of which the shortest counts.
const EXCHANGES: usize = 8;

/// A clock that is known no better is warned of: start-ups of hosts cannot be told apart by less.
const WELL_KNOWN_NS: u64 = 1_000_000;

/// How far the clock of `other` is ahead of that of `lead`: of several exchanges the one that took the least time.
pub(super) fn offset(lead: &dyn Site, other: &dyn Site) -> Result<ClockOffset, RunError> {
    let mut best: Option<ClockOffset> = None;
    for _ in 0..EXCHANGES {
        let asked = read(lead)?;
        let told = read(other)?;
        let heard = lead.clock()?;
        let one = ClockOffset::of_exchange(&asked, &told, heard);
        if best
            .as_ref()
            .is_none_or(|best| one.uncertainty_ns < best.uncertainty_ns)
        {
            best = Some(one);
        }
    }
    best.ok_or_else(|| RunError::new("no clocks were compared"))
}

/// What to warn of a clock that is not known well.
pub(super) fn warning(offset: &ClockOffset) -> Option<String> {
    let is_known = offset.uncertainty_ns <= WELL_KNOWN_NS;
    (!is_known).then(|| {
        format!(
            "the clock of {} against that of {} is known within {:.1} ms only",
            offset.of,
            offset.from,
            offset.uncertainty_ns as f64 / 1e6
        )
    })
}

fn read(site: &dyn Site) -> Result<Instant, RunError> {
    Ok(Instant {
        host: HostId(site.id()),
        ns: site.clock()?,
    })
}
