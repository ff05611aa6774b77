//! From readings of a clock to nanoseconds since the epoch.

use crate::metadata::Clock;
use crate::plan::IntAt;

/// Converts readings of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    frequency_hz: u64,
    pub offset_ns: i64,
}

const NS: u64 = 1_000_000_000;

impl Scale {
    /// A stream without clock counts nanoseconds from 0.
    pub fn new(clock: Option<&Clock>) -> Self {
        Self {
            frequency_hz: clock.map_or(NS, |clock| clock.frequency_hz),
            offset_ns: clock.map_or(0, |clock| clock.offset_ns),
        }
    }

    /// Times beyond the years 1677 to 2262 stop at the end of the range.
    #[inline]
    pub fn epoch_ns(self, reading: u64) -> i64 {
        let ns = if self.frequency_hz == NS {
            i64::try_from(reading).unwrap_or(i64::MAX)
        } else {
            let ns = u128::from(reading) * u128::from(NS) / u128::from(self.frequency_hz);
            i64::try_from(ns).unwrap_or(i64::MAX)
        };
        ns.saturating_add(self.offset_ns)
    }
}

/// The clock after a reading of `bits` bits that says `value`: the reading gives the
/// low bits, and one that is less than those before has wrapped once (CTF 1.8.3, 8).
#[inline]
pub(super) fn update(clock: u64, field: IntAt, value: u64) -> u64 {
    let bits = u32::from(field.int.bits);
    if bits >= 64 {
        return value;
    }
    let mask = (1u64 << bits) - 1;
    let value = value & mask;
    let carry = if value < clock & mask {
        1u64 << bits
    } else {
        0
    };
    (clock & !mask).wrapping_add(carry) | value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Int;

    fn field(bits: u8) -> IntAt {
        IntAt {
            base: 0,
            offset: 0,
            int: Int {
                bits,
                signed: false,
                big_endian: false,
            },
        }
    }

    #[test]
    fn short_readings_wrap_forward() {
        let clock = 0x1_0fff_fff0;
        assert_eq!(update(clock, field(27), 0x7ff_fff1), 0x1_0fff_fff1);
        assert_eq!(update(clock, field(27), 0x5), 0x1_1000_0005);
        assert_eq!(update(clock, field(32), 0x5), 0x2_0000_0005);
        assert_eq!(update(clock, field(64), 0x5), 0x5);
    }

    #[test]
    fn any_frequency_gives_nanoseconds() {
        let mut clock = Clock {
            name: "c".into(),
            uuid: None,
            frequency_hz: 3,
            offset_ns: -1,
        };
        assert_eq!(Scale::new(Some(&clock)).epoch_ns(3), 999_999_999);
        assert_eq!(Scale::new(Some(&clock)).epoch_ns(u64::MAX), i64::MAX - 1);
        clock.frequency_hz = NS;
        assert_eq!(Scale::new(Some(&clock)).epoch_ns(3), 2);
    }
}
