//! Instants of several hosts: each host has one clock, and clocks of two hosts are two clocks.

use std::fmt;

/// A host by its name, as in locators and results.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub String);

/// An instant of a host's CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instant {
    /// Whose clock.
    pub host: HostId,
    /// Nanoseconds of it.
    pub ns: u64,
}

/// How far a host's clock is ahead of another's, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockOffset {
    /// The clock that is ahead.
    pub of: HostId,
    /// The other.
    pub from: HostId,
    /// By so much, nanoseconds.
    pub ns: i64,
    /// The offset is within so much of that, nanoseconds.
    pub uncertainty_ns: u64,
}

/// Two instants that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockError {
    hosts: [HostId; 2],
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.hosts;
        write!(
            f,
            "instants of '{a}' and '{b}' are of two clocks whose offset is not known"
        )
    }
}

impl std::error::Error for ClockError {}

impl Instant {
    /// Time from `earlier` to this, nanoseconds; negative where this is before it.
    ///
    /// # Errors
    /// When they are of two hosts.
    pub fn since(&self, earlier: &Self) -> Result<i64, ClockError> {
        if self.host == earlier.host {
            Ok(difference(self.ns, earlier.ns))
        } else {
            Err(self.apart(earlier))
        }
    }

    /// Time from `earlier` to this by an offset of their clocks, and how far it may be off, both nanoseconds.
    ///
    /// # Errors
    /// When the offset is not of their two hosts.
    pub fn since_across(
        &self,
        earlier: &Self,
        offset: &ClockOffset,
    ) -> Result<(i64, u64), ClockError> {
        let ahead_ns = if (&offset.of, &offset.from) == (&self.host, &earlier.host) {
            offset.ns
        } else if (&offset.from, &offset.of) == (&self.host, &earlier.host) {
            offset.ns.saturating_neg()
        } else {
            return Err(self.apart(earlier));
        };
        let apparent = difference(self.ns, earlier.ns);
        Ok((apparent.saturating_sub(ahead_ns), offset.uncertainty_ns))
    }

    fn apart(&self, other: &Self) -> ClockError {
        ClockError {
            hosts: [self.host.clone(), other.host.clone()],
        }
    }
}

impl ClockOffset {
    /// From one exchange: a request left `asked` at `asked_ns`, `told` answered at `told_ns` of its own clock, and the answer came
    /// back at `heard_ns`. The truth lies between the two ways (RFC 5905, section 8, with one of its servers' instants).
    #[must_use]
    pub fn of_exchange(asked: &Instant, told: &Instant, heard_ns: u64) -> Self {
        let way_ns = heard_ns.saturating_sub(asked.ns);
        let middle_ns = asked.ns.saturating_add(way_ns / 2);
        Self {
            of: told.host.clone(),
            from: asked.host.clone(),
            ns: difference(told.ns, middle_ns),
            uncertainty_ns: way_ns.div_ceil(2),
        }
    }
}

impl ClockOffset {
    /// What `of` reads when `from` reads this.
    #[must_use]
    pub fn read_at(&self, from_ns: u64) -> u64 {
        from_ns.saturating_add_signed(self.ns)
    }
}

fn difference(a: u64, b: u64) -> i64 {
    let apart = i64::try_from(a.abs_diff(b)).unwrap_or(i64::MAX);
    if a >= b { apart } else { -apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, ns: u64) -> Instant {
        Instant {
            host: HostId(host.to_owned()),
            ns,
        }
    }

    #[test]
    fn instants_of_one_clock_are_subtracted() {
        assert_eq!(at("a", 7).since(&at("a", 5)), Ok(2));
        assert_eq!(at("a", 5).since(&at("a", 7)), Ok(-2));
        assert_eq!(at("a", u64::MAX).since(&at("a", 0)), Ok(i64::MAX));
    }

    #[test]
    fn instants_of_two_clocks_need_an_offset_of_both() {
        let error = at("a", 7).since(&at("b", 5)).unwrap_err();
        let told = "instants of 'a' and 'b' are of two clocks whose offset is not known";
        assert_eq!(error.to_string(), told);
        let offset = ClockOffset::of_exchange(&at("a", 100), &at("b", 1_100), 120);
        // b is 990 ahead of a, within 10.
        assert_eq!((offset.ns, offset.uncertainty_ns), (990, 10));
        assert_eq!(
            at("b", 1_990).since_across(&at("a", 500), &offset),
            Ok((500, 10))
        );
        assert_eq!(
            at("a", 1_000).since_across(&at("b", 1_490), &offset),
            Ok((500, 10))
        );
        assert!(at("a", 1).since_across(&at("c", 1), &offset).is_err());
        assert_eq!(offset.read_at(500), 1_490);
    }

    /// Whatever each way took, the true offset is within the uncertainty.
    #[test]
    fn the_offset_is_within_its_uncertainty() {
        for (there, back) in [(0, 0), (0, 31), (17, 0), (4, 5), (1_000, 1)] {
            let (asked, ahead) = (50_u64, 777_u64);
            let told = at("b", asked + there + ahead);
            let offset = ClockOffset::of_exchange(&at("a", asked), &told, asked + there + back);
            let wrong = offset.ns.abs_diff(777);
            assert!(wrong <= offset.uncertainty_ns, "{there} {back} {offset:?}");
        }
    }
}
