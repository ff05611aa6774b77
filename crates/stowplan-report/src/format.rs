//! Numbers of tables.

pub(crate) use stowplan_judge::format::{bytes, dash, difference, value};

/// A unit that a whole table uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeUnit {
    pub(crate) name: &'static str,
    ns: f64,
    decimals: usize,
}

impl TimeUnit {
    /// Milliseconds as in the papers, with more decimals where the values are small.
    pub(crate) fn latency(largest_ns: f64) -> Self {
        Self {
            name: "ms",
            ns: 1e6,
            decimals: if largest_ns < 10e6 { 3 } else { 2 },
        }
    }

    /// Seconds, or milliseconds where all is faster than a second.
    pub(crate) fn startup(largest_ns: f64) -> Self {
        if largest_ns < 1e9 {
            Self {
                name: "ms",
                ns: 1e6,
                decimals: 1,
            }
        } else {
            Self {
                name: "s",
                ns: 1e9,
                decimals: 3,
            }
        }
    }

    pub(crate) fn show(self, ns: f64) -> String {
        format!("{:.*}", self.decimals, ns / self.ns)
    }

    pub(crate) fn show_or(self, ns: Option<f64>) -> String {
        ns.map_or_else(dash, |ns| self.show(ns))
    }
}

/// A value with three digits that count, for a table that is read at a glance.
pub(crate) fn short_value(unit: &str, value: Option<f64>) -> String {
    let Some(v) = value else {
        return dash();
    };
    let scaled = |v: f64, unit: &str| format!("{} {unit}", three_digits(v));
    match unit {
        "ns" if v.abs() >= 1e9 => scaled(v / 1e9, "s"),
        "ns" if v.abs() >= 1e5 => scaled(v / 1e6, "ms"),
        "ns" => scaled(v / 1e3, "µs"),
        "bytes" if v.abs() >= 1e9 => scaled(v / 1_073_741_824.0, "GiB"),
        "bytes" => scaled(v / 1_048_576.0, "MiB"),
        "cpus" => format!("{v:.2}"),
        "share" => format!("{} %", three_digits(v * 100.0)),
        other => scaled(v, other),
    }
}

/// A difference likewise.
pub(crate) fn short_difference(relative: bool, unit: &str, value: Option<f64>) -> String {
    match value {
        None => dash(),
        Some(v) if relative || unit == "share" => {
            let percent = v * 100.0;
            let decimals = usize::from(percent.abs() < 9.95);
            format!("{percent:+.decimals$} %").replace('-', "−")
        }
        Some(v) => {
            let sign = if v < 0.0 { "−" } else { "+" };
            format!("{sign}{}", short_value(unit, Some(v.abs())))
        }
    }
}

fn three_digits(v: f64) -> String {
    let decimals = match v.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        _ => 2,
    };
    format!("{v:.decimals$}")
}

/// A share of a whole as a percentage.
pub(crate) fn share(value: f64) -> String {
    format!("{:.0} %", value * 100.0)
}

/// Large counts with thin groups of three: `1 234 567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_read_at_a_glance() {
        for (unit, value, shown) in [
            ("ns", 57_912_345.0, "57.9 ms"),
            ("ns", 1.194e9, "1.19 s"),
            ("ns", 99_960.0, "100 µs"),
            ("bytes", 250.4 * 1_048_576.0, "250 MiB"),
            ("cpus", 1.984, "1.98"),
            ("share", 0.4441, "44.4 %"),
        ] {
            assert_eq!(short_value(unit, Some(value)), shown);
        }
        assert_eq!(short_value("ns", None), "–");
        assert_eq!(short_difference(true, "ns", Some(-0.431)), "−43 %");
        assert_eq!(short_difference(true, "ns", Some(0.016)), "+1.6 %");
        assert_eq!(short_difference(false, "ns", Some(-2e6)), "−2.00 ms");
    }

    #[test]
    fn counts_have_groups_of_three() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
    }
}
