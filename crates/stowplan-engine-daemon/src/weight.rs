//! A CPU weight through an API that has shares.

use stowplan_host::cgroup::{Layout, shares_of};
use stowplan_wire::deployment::LimitsPlan;

use crate::runtime::said_version;

/// The most shares that cgroup v1 has (`MAX_SHARES` in the kernel).
const MOST_SHARES: u64 = 262_144;
/// The least.
const LEAST_SHARES: u64 = 2;

/// What becomes of shares on the way to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conversion {
    /// The kernel has them: cgroup v1.
    #[default]
    Same,
    /// `1 + (shares - 2) × 9999 / 262142`, cut off (runc up to 1.3.1, `ConvertCPUSharesToCgroupV2Value`; crun up to 1.22).
    Linear,
    /// `10^((l² + 125 l) / 612 - 7 / 34)` of `l = log2(shares)`, rounded up, so that 1024 shares are a weight of 100: the
    /// defaults (runc from 1.3.2, by opencontainers/cgroups#20; crun from 1.23, by containers/crun#1767).
    Quadratic,
}

impl Conversion {
    /// That of the runtime with this program, a path or a name, which is only looked for where there is something to convert. An
    /// unknown runtime is taken for one with the older formula; what the kernel has is read back anyway.
    #[must_use]
    pub fn of(layout: Layout, program: impl FnOnce() -> Option<String>) -> Self {
        match layout {
            Layout::V1 | Layout::Hybrid => Self::Same,
            Layout::V2 => {
                let said = program().and_then(|program| said_version(&program));
                said.map_or(Self::Linear, |said| Self::by(&said.name, &said.version))
            }
        }
    }

    fn by(name: &str, version: &str) -> Self {
        let first: &[u64] = match name {
            "runc" => &[1, 3, 2],
            "crun" => &[1, 23],
            _ => return Self::Linear,
        };
        if numbers(version).as_slice() >= first {
            Self::Quadratic
        } else {
            Self::Linear
        }
    }

    fn shares(self, weight: u32) -> u64 {
        match self {
            Self::Same => shares_of(weight),
            Self::Linear => {
                LEAST_SHARES + ((u64::from(weight.max(1)) - 1) * 262_142).div_ceil(9_999)
            }
            Self::Quadratic => fewest_of_at_least(f64::from(weight) - 0.5),
        }
    }
}

/// The weight that comes of shares by the quadratic formula, before it is rounded up.
fn quadratic(shares: u64) -> f64 {
    let log = (shares as f64).log2();
    10_f64.powf((log * log + 125.0 * log) / 612.0 - 7.0 / 34.0)
}

/// The fewest shares of which at least this weight comes by the quadratic formula. For a weight between two whole ones, no rounding
/// of another library's makes another of them.
fn fewest_of_at_least(weight: f64) -> u64 {
    let (mut low, mut high) = (LEAST_SHARES, MOST_SHARES);
    while low < high {
        let middle = u64::midpoint(low, high);
        if quadratic(middle) < weight {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The numbers that a version begins with; what distributions and candidates add does not count.
fn numbers(version: &str) -> Vec<u64> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    let numbers = version[..end.unwrap_or(version.len())].split('.');
    numbers.map_while(|number| number.parse().ok()).collect()
}

/// The shares of a service's weight, which is on cgroup v2's scale.
#[must_use]
pub fn shares(limits: &LimitsPlan, conversion: Conversion) -> Option<i64> {
    let shares = conversion.shares(limits.cpu_weight?);
    Some(i64::try_from(shares).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What runc and crun make of shares, in their own words.
    fn made(conversion: Conversion, shares: u64) -> u64 {
        match conversion {
            Conversion::Same => shares,
            Conversion::Linear => 1 + (shares - 2) * 9_999 / 262_142,
            Conversion::Quadratic if shares <= 2 => 1,
            Conversion::Quadratic if shares >= 262_144 => 10_000,
            Conversion::Quadratic => quadratic(shares).ceil() as u64,
        }
    }

    #[test]
    fn shares_become_the_weights_that_the_runtimes_tests_and_users_tell() {
        // opencontainers/cgroups, `TestConvertCPUSharesToCgroupV2Value`; opencontainers/runc#4896.
        let quadratic = [(2, 1), (1_024, 100), (2_000, 170), (262_144, 10_000)];
        for (shares, weight) in quadratic {
            assert_eq!(made(Conversion::Quadratic, shares), weight, "{shares}");
        }
        let linear = [(2, 1), (1_024, 39), (2_000, 77), (262_144, 10_000)];
        for (shares, weight) in linear {
            assert_eq!(made(Conversion::Linear, shares), weight, "{shares}");
        }
    }

    #[test]
    fn every_weight_comes_back_from_its_shares() {
        for conversion in [Conversion::Linear, Conversion::Quadratic] {
            for weight in 1..=10_000 {
                let shares = conversion.shares(weight);
                assert_eq!(made(conversion, shares), u64::from(weight), "{shares}");
            }
        }
        let limits = LimitsPlan {
            cpu_weight: Some(300),
            ..LimitsPlan::default()
        };
        assert_eq!(shares(&limits, Conversion::Same), Some(3_072));
        assert_eq!(shares(&LimitsPlan::default(), Conversion::Linear), None);
    }

    #[test]
    fn the_formula_is_that_of_the_runtimes_version() {
        for (name, version, expected) in [
            ("runc", "1.1.5+ds1", Conversion::Linear),
            ("runc", "1.3.1", Conversion::Linear),
            ("runc", "1.3.2", Conversion::Quadratic),
            ("runc", "1.3.3-0ubuntu1~24.04.3", Conversion::Quadratic),
            ("runc", "1.4.0-rc.1", Conversion::Quadratic),
            ("runc", "1.10", Conversion::Quadratic),
            ("crun", "1.8.1", Conversion::Linear),
            ("crun", "1.22.1", Conversion::Linear),
            ("crun", "1.23", Conversion::Quadratic),
            ("crun", "1.23.1-dirty", Conversion::Quadratic),
            ("crun", "UNKNOWN", Conversion::Linear),
            ("kata-runtime", "3.2.0", Conversion::Linear),
        ] {
            assert_eq!(Conversion::by(name, version), expected, "{name} {version}");
        }
    }

    #[test]
    fn a_runtime_is_asked_for_where_there_is_something_to_convert() {
        let unasked = || -> Option<String> { panic!("nothing to convert") };
        assert_eq!(Conversion::of(Layout::V1, unasked), Conversion::Same);
        assert_eq!(Conversion::of(Layout::Hybrid, unasked), Conversion::Same);
        assert_eq!(Conversion::of(Layout::V2, || None), Conversion::Linear);
    }
}
