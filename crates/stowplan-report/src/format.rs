//! Numbers for people.

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

/// What stands where a figure is not known.
pub(crate) fn dash() -> String {
    "–".to_owned()
}

/// A value in the unit of a metric.
pub(crate) fn value(unit: &str, value: Option<f64>) -> String {
    let Some(value) = value else {
        return dash();
    };
    match unit {
        "ns" => {
            if value.abs() >= 1e9 {
                format!("{:.3} s", value / 1e9)
            } else if value.abs() >= 1e5 {
                let decimals = if value.abs() < 10e6 { 3 } else { 2 };
                format!("{:.decimals$} ms", value / 1e6)
            } else {
                format!("{:.2} µs", value / 1e3)
            }
        }
        "bytes" => bytes(value),
        "cpus" => format!("{value:.3}"),
        "share" => format!("{:.2} %", value * 100.0),
        _ => format!("{value:.3}"),
    }
}

/// A share of a whole as a percentage.
pub(crate) fn share(value: f64) -> String {
    format!("{:.0} %", value * 100.0)
}

/// Bytes with a binary unit.
pub(crate) fn bytes(value: f64) -> String {
    let mut value = value;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value.abs() < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" {
        format!("{value:.0} B")
    } else {
        format!("{value:.1} {unit}")
    }
}

/// A difference: a signed percentage where relative, else signed in the unit.
pub(crate) fn difference(relative: bool, unit: &str, value: Option<f64>) -> String {
    match (value, relative || unit == "share") {
        (None, _) => dash(),
        (Some(v), true) => format!("{:+.1} %", v * 100.0),
        (Some(v), false) => {
            let sign = if v < 0.0 { "−" } else { "+" };
            format!("{sign}{}", self::value(unit, Some(v.abs())))
        }
    }
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
    fn units_fit_the_values() {
        assert_eq!(value("ns", Some(13.6e9)), "13.600 s");
        assert_eq!(value("ns", Some(178.73e6)), "178.73 ms");
        assert_eq!(value("ns", Some(0.25e6)), "0.250 ms");
        assert_eq!(value("ns", Some(40_000.0)), "40.00 µs");
        assert_eq!(value("bytes", Some(3.0 * 1_048_576.0)), "3.0 MiB");
        assert_eq!(value("bytes", Some(12.0)), "12 B");
        assert_eq!(value("cpus", None), "–");
        assert_eq!(difference(true, "ns", Some(-0.0812)), "-8.1 %");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
    }
}
