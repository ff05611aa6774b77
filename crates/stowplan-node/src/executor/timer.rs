//! When a timer is due.

use stowplan_wire::service::DistributionPlan;

use super::recording::{Recorded, Recording};
use crate::draw::{Purpose, draw, whole};

/// The clock of one timer or source.
///
/// Release number n is due at base + n × period + jitter(n), where the period has the timer's rate error.
/// Releases that passed while the timer was not looked at are skipped, as `rcl_timer_call` does.
///
/// A source that replays is due at base + the recorded time of message n instead, once it was re-based. None is skipped: what
/// is late comes at once, as `ros2 bag play` does.
#[derive(Debug, Clone)]
pub struct TimerClock {
    /// Period in ns with its rate error.
    period_ns: f64,
    jitter_ns: DistributionPlan,
    seed: u64,
    callback: u32,
    phase_ns: Option<u64>,
    base_ns: u64,
    number: u64,
    next_ns: u64,
    replay: Option<Recording>,
    replays: bool,
}

/// No release is due any more: far from now, and as good as a time-out.
const NEVER_NS: u64 = i64::MAX.cast_unsigned();

/// A release that is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// When it was due, CLOCK_MONOTONIC nanoseconds.
    pub expected_ns: u64,
    /// Its number since the timer's base.
    pub number: u64,
    /// Size of the recorded message, where one is replayed.
    pub bytes: Option<u64>,
}

/// What a timer is like.
#[derive(Debug, Clone, Copy)]
pub struct TimerSpec {
    /// Nominal period in ns.
    pub period_ns: u64,
    /// Jitter per release in ns.
    pub jitter_ns: DistributionPlan,
    /// Relative rate error.
    pub rate_error: f64,
    /// Offset from the arming instant; `None` keeps the phase of its own start.
    pub phase_ns: Option<u64>,
    /// Seed of its draws.
    pub seed: u64,
    /// Callback that it starts.
    pub callback: u32,
}

impl TimerClock {
    /// A timer made at `now_ns`: first due one period later, as in rcl.
    #[must_use]
    pub fn new(spec: &TimerSpec, now_ns: u64) -> Self {
        let mut clock = Self {
            // A period of zero would be due for ever.
            period_ns: (spec.period_ns as f64 * (1.0 + spec.rate_error)).max(1.0),
            jitter_ns: spec.jitter_ns,
            seed: spec.seed,
            callback: spec.callback,
            phase_ns: spec.phase_ns,
            base_ns: now_ns,
            number: 1,
            next_ns: 0,
            replay: None,
            replays: false,
        };
        clock.next_ns = clock.due_ns();
        clock
    }

    /// The same clock, which replays this from when it is re-based.
    #[must_use]
    pub fn replaying(self, replay: Option<Recording>) -> Self {
        Self { replay, ..self }
    }

    /// When it is due next.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Begins anew at `t_arm_ns` plus its phase with release 0; a timer of natural phase goes on.
    pub fn rebase(&mut self, t_arm_ns: u64) {
        if self.replay.is_some() {
            (self.base_ns, self.number, self.replays) = (t_arm_ns, 0, true);
            self.next_ns = self.recorded_ns();
        } else if let Some(phase) = self.phase_ns {
            self.base_ns = t_arm_ns + phase;
            self.number = 0;
            self.next_ns = self.due_ns();
        }
    }

    /// Executes the release that is due at `now_ns`; `None` if none is.
    pub fn call(&mut self, now_ns: u64) -> Option<Release> {
        if self.next_ns > now_ns {
            return None;
        }
        let release = Release {
            expected_ns: self.next_ns,
            number: self.number,
            bytes: self.recorded().map(|message| message.bytes),
        };
        self.number += 1;
        if self.replays {
            self.next_ns = self.recorded_ns();
            return Some(release);
        }
        let nominal = self.nominal_ns();
        if now_ns > nominal {
            let behind = ((now_ns - nominal) as f64 / self.period_ns).ceil();
            self.number += whole(behind);
        }
        self.next_ns = self.due_ns();
        Some(release)
    }

    /// The message that is replayed next.
    fn recorded(&self) -> Option<Recorded> {
        self.replay.filter(|_| self.replays)?.get(self.number)
    }

    fn recorded_ns(&self) -> u64 {
        let next = self.recorded();
        next.map_or(NEVER_NS, |message| self.base_ns + message.due_ns)
    }

    fn nominal_ns(&self) -> u64 {
        self.base_ns + whole(self.number as f64 * self.period_ns)
    }

    fn due_ns(&self) -> u64 {
        let jitter = draw(
            self.seed,
            Purpose::Jitter,
            self.callback,
            self.number,
            &self.jitter_ns,
        );
        self.nominal_ns() + whole(jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(phase_ns: Option<u64>) -> TimerSpec {
        TimerSpec {
            period_ns: 100,
            jitter_ns: DistributionPlan::Constant(0.0),
            rate_error: 0.0,
            phase_ns,
            seed: 1,
            callback: 1,
        }
    }

    #[test]
    fn missed_releases_are_skipped() {
        let mut timer = TimerClock::new(&spec(None), 1_000);
        assert_eq!(timer.call(1_099), None);
        let expected_ns = 1_100;
        assert_eq!(
            timer.call(1_100),
            Some(Release {
                expected_ns,
                number: 1,
                bytes: None,
            })
        );
        // Late by two and a half periods: executed once, then in phase again.
        assert_eq!(timer.call(1_450).unwrap().expected_ns, 1_200);
        assert_eq!(timer.next_ns(), 1_500);
        // Exactly at a release: that one is still to come.
        assert_eq!(timer.call(1_600).unwrap().expected_ns, 1_500);
        assert_eq!(timer.call(1_600).unwrap().expected_ns, 1_600);
    }

    #[test]
    fn arming_sets_the_phase() {
        let mut timer = TimerClock::new(&spec(Some(30)), 0);
        timer.rebase(5_000);
        assert_eq!(timer.next_ns(), 5_030);
        assert_eq!(timer.call(5_031).unwrap().number, 0);
        let mut natural = TimerClock::new(&spec(None), 7);
        natural.rebase(5_000);
        assert_eq!(natural.next_ns(), 107);
    }

    #[test]
    fn a_replayed_source_is_due_as_it_was_recorded() {
        let recording = Recording::of(&[[0, 10], [250, 7], [260, 8], [1_000, 9]]);
        let mut source = TimerClock::new(&spec(Some(30)), 0).replaying(Some(recording));
        // Until the measurement begins it goes by its period, with sizes of its own.
        assert_eq!(source.call(100).unwrap().bytes, None);
        source.rebase(5_000);
        assert_eq!(source.call(4_999), None);
        let release = |expected_ns, number, bytes| {
            Some(Release {
                expected_ns,
                number,
                bytes: Some(bytes),
            })
        };
        assert_eq!(source.call(5_000), release(5_000, 0, 10));
        assert_eq!(source.next_ns(), 5_250);
        // Late by more than one message: all come, one after the other.
        assert_eq!(source.call(5_900), release(5_250, 1, 7));
        assert_eq!(source.call(5_900), release(5_260, 2, 8));
        assert_eq!(source.call(5_900), None);
        assert_eq!(source.call(6_000), release(6_000, 3, 9));
        assert_eq!(source.next_ns(), NEVER_NS);
        assert_eq!(source.call(u64::MAX / 4), None);
        // A natural phase does not keep a recording from its beginning.
        let mut natural = TimerClock::new(&spec(None), 0).replaying(Some(recording));
        natural.rebase(700);
        assert_eq!(natural.next_ns(), 700);
    }

    #[test]
    fn rate_errors_add_up_without_rounding() {
        let off = TimerSpec {
            rate_error: 0.001,
            ..spec(Some(0))
        };
        let mut timer = TimerClock::new(&off, 0);
        timer.rebase(0);
        for _ in 0..1_000 {
            timer.call(timer.next_ns()).unwrap();
        }
        assert_eq!(timer.next_ns(), 100_100);
    }
}
