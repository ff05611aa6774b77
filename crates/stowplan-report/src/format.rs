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
    fn counts_have_groups_of_three() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
    }
}
