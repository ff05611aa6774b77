//! Figures with their units, as the reasons of verdicts and every view have them.

/// What stands where a figure is not known.
#[must_use]
pub fn dash() -> String {
    "–".to_owned()
}

/// A value in the unit of a metric.
#[must_use]
pub fn value(unit: &str, value: Option<f64>) -> String {
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
        other if value.abs() >= 1e3 => format!("{value:.0} {other}"),
        other => format!("{value:.3} {other}"),
    }
}

/// A share as a percentage, with a decimal where it has one.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from((percent - percent.round()).abs() > 0.05);
    format!("{percent:.decimals$} %")
}

/// Bytes with a binary unit.
#[must_use]
pub fn bytes(value: f64) -> String {
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
#[must_use]
pub fn difference(relative: bool, unit: &str, value: Option<f64>) -> String {
    match (value, relative || unit == "share") {
        (None, _) => dash(),
        (Some(v), true) => format!("{:+.1} %", v * 100.0),
        (Some(v), false) => {
            let sign = if v < 0.0 { "−" } else { "+" };
            format!("{sign}{}", self::value(unit, Some(v.abs())))
        }
    }
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
        assert_eq!([percent(0.02), percent(0.025)], ["2 %", "2.5 %"]);
    }
}
