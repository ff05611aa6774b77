//! Quantities as people write them: `64KiB`, `20ms`, `10Hz`, and back.

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a {what}, write for example {example}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before the cast"
)]
fn whole(value: f64) -> Option<u64> {
    (0.0..9.0e18).contains(&value).then(|| value.round() as u64)
}

/// Reads a size in bytes: `4096`, `1kB` (1000), `64KiB` (65,536), `1.5MB`.
///
/// # Errors
/// When the text has no number, a sign, or a unit that is not one of B, kB, KB, KiB, MB, MiB, GB, GiB.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let parsed = split(text).and_then(|(number, unit)| {
        let factor = match unit {
            "" | "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        whole(number * factor)
    });
    parsed.ok_or(UnitError {
        text: text.to_owned(),
        what: "size",
        example: "'512', '64KiB' or '1.5MB'",
    })
}

/// Reads a duration in nanoseconds: `20ms`, `1.5s`, `300us`, `2min`. A unit is required.
///
/// # Errors
/// When the text has no number or no unit of ns, us, µs, ms, s, min, h.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let parsed = split(text).and_then(|(number, unit)| {
        let factor = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        whole(number * factor)
    });
    parsed.ok_or(UnitError {
        text: text.to_owned(),
        what: "duration",
        example: "'20ms', '1.5s' or '10min'",
    })
}

/// Reads a share above 0 and at most 1: `3%`, `0.03`.
///
/// # Errors
/// When the text is not one.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let parsed = split(text).and_then(|(number, unit)| {
        let share = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return None,
        };
        (share > 0.0 && share <= 1.0).then_some(share)
    });
    parsed.ok_or(UnitError {
        text: text.to_owned(),
        what: "share above 0 and at most 1",
        example: "'3%' or '0.03'",
    })
}

/// Reads how often something happens, as a period in nanoseconds: a rate (`10Hz`, `2kHz`) or a
/// duration (`20ms`).
///
/// # Errors
/// When the text is neither, or a rate that is not above zero.
pub fn parse_period_ns(text: &str) -> Result<u64, UnitError> {
    let parsed = split(text).and_then(|(number, unit)| {
        let hertz = match unit {
            "Hz" => number,
            "kHz" => number * 1e3,
            _ => return parse_duration_ns(text).ok(),
        };
        (hertz > 0.0).then(|| whole(1e9 / hertz)).flatten()
    });
    parsed.ok_or(UnitError {
        text: text.to_owned(),
        what: "rate above zero or a period",
        example: "'10Hz' or '20ms'",
    })
}

/// Reads a count: `250000`, `250_000`, `250k`, `1.5M`, `2G`.
///
/// # Errors
/// When the text has no number, a sign, or a unit that is not one of k, M, G.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let parsed = split(text).and_then(|(number, unit)| {
        let factor = match unit {
            "" => 1.0,
            "k" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            _ => return None,
        };
        whole(number * factor)
    });
    parsed.ok_or(UnitError {
        text: text.to_owned(),
        what: "count",
        example: "'250000', '250k' or '1.5M'",
    })
}

/// Work as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkAmount {
    /// Iterations of the work kernel.
    Iterations(u64),
    /// Execution time in nanoseconds.
    Nanoseconds(u64),
}

/// Reads work: a count (`250k`) or an execution time (`5ms`). Minutes are none: `5m` is too near to `5M`.
///
/// # Errors
/// When the text is neither a count nor a time in ns, us, µs, ms or s.
pub fn parse_work(text: &str) -> Result<WorkAmount, UnitError> {
    if let Ok(iterations) = parse_count(text) {
        return Ok(WorkAmount::Iterations(iterations));
    }
    let unit = split(text).map(|(_, unit)| unit);
    let in_time = matches!(unit, Some("ns" | "us" | "µs" | "ms" | "s"));
    let time = in_time.then(|| parse_duration_ns(text).ok()).flatten();
    time.map(WorkAmount::Nanoseconds).ok_or(UnitError {
        text: text.to_owned(),
        what: "number of iterations or an execution time",
        example: "'250k', '1.5M' or '5ms'",
    })
}

/// A number of nanoseconds for people: three significant digits and a unit.
#[must_use]
pub fn show_ns(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        x if x >= 1e9 => (ns / 1e9, "s"),
        x if x >= 1e6 => (ns / 1e6, "ms"),
        x if x >= 1e3 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A number of bytes for people, in powers of 1000.
#[must_use]
pub fn show_bytes(bytes: f64) -> String {
    let (value, unit) = match bytes.abs() {
        x if x >= 1e9 => (bytes / 1e9, "GB"),
        x if x >= 1e6 => (bytes / 1e6, "MB"),
        x if x >= 1e3 => (bytes / 1e3, "kB"),
        _ => (bytes, "B"),
    };
    format!("{} {unit}", three_digits(value))
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percentages() {
        assert_eq!(parse_share("3%"), Ok(0.03));
        assert_eq!(parse_share(" 2.5 % "), Ok(0.025));
        assert_eq!(parse_share("0.03"), Ok(0.03));
        assert_eq!(parse_share("100%"), Ok(1.0));
        for wrong in ["0", "0%", "-3%", "101%", "3", "3ms", "%", ""] {
            let told = parse_share(wrong).unwrap_err().to_string();
            assert!(told.contains("'3%' or '0.03'"), "{told}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("512", 512),
            ("64KiB", 65_536),
            ("1.5 MB", 1_500_000),
            ("1_000B", 1000),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "x", "-1", "1 parsec", "1e400"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ns) in [
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("300us", 300_000),
            ("60m", 3_600_000_000_000),
        ] {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
        assert!(
            parse_duration_ns("20").is_err(),
            "a duration needs its unit"
        );
    }

    #[test]
    fn rates_are_periods() {
        assert_eq!(parse_period_ns("10Hz"), Ok(100_000_000));
        assert_eq!(parse_period_ns("2 kHz"), Ok(500_000));
        assert_eq!(parse_period_ns("20ms"), Ok(20_000_000));
        for text in ["0Hz", "-10Hz", "10", "10 hertz"] {
            assert!(parse_period_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts() {
        for (text, count) in [
            ("250_000", 250_000),
            ("1.5M", 1_500_000),
            ("2G", 2_000_000_000),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        assert!(parse_count("5 iterations").is_err());
    }

    #[test]
    fn work_is_a_count_or_a_time() {
        for (text, work) in [
            ("250k", WorkAmount::Iterations(250_000)),
            ("5M", WorkAmount::Iterations(5_000_000)),
            ("5ms", WorkAmount::Nanoseconds(5_000_000)),
            ("1.5 s", WorkAmount::Nanoseconds(1_500_000_000)),
            ("300us", WorkAmount::Nanoseconds(300_000)),
        ] {
            assert_eq!(parse_work(text), Ok(work), "{text}");
        }
        for text in ["5m", "5min", "5 msec", "-5ms", "ms", ""] {
            let told = parse_work(text).unwrap_err().to_string();
            assert!(told.contains("'5ms'"), "{told}");
        }
    }

    #[test]
    fn people_get_three_digits() {
        assert_eq!(show_ns(1_234_567.0), "1.23 ms");
        assert_eq!(show_ns(999.0), "999 ns");
        assert_eq!(show_bytes(65_536.0), "65.5 kB");
    }
}
