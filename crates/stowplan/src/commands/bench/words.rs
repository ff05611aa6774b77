//! What stands in a cell of a table of benchmarks.

use stowplan_bench::{Cell, Floor, TableRow};
use stowplan_results::Better;
use stowplan_stats::Verdict;

pub fn label(row: &TableRow) -> String {
    let arrow = if row.better == Better::Lower {
        " ↓"
    } else {
        ""
    };
    format!("{}{arrow}", row.label)
}

/// Blocks of a row: one number where all places have it.
pub fn blocks(row: &TableRow) -> String {
    let all = || row.cells.iter().map(|cell| cell.n);
    match (all().min(), all().max()) {
        (Some(least), Some(most)) if least < most => format!("{least}–{most}"),
        (_, most) => most.unwrap_or(0).to_string(),
    }
}

pub fn value(row: &TableRow, cell: Option<&Cell>) -> String {
    let value = cell.and_then(|cell| cell.value);
    value.map_or_else(|| "–".to_owned(), |value| figure(&row.unit, value))
}

/// With three digits that count.
fn figure(unit: &str, value: f64) -> String {
    let (value, unit) = match unit {
        "ns" if value >= 1e6 => (value / 1e6, "ms"),
        "ns" => (value / 1e3, "µs"),
        other => (value, other),
    };
    let decimals = match value.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// The share with its interval and the sign of the verdict; why there is none, where there is none.
pub fn compared(row: &TableRow, cell: &Cell, with_interval: bool) -> String {
    let Some(share) = cell.share.map(|share| share * 100.0) else {
        return uncompared(row, cell);
    };
    let sign = match cell.verdict {
        Some(Verdict::Better) => marked(row, share / 100.0, "+", "+*"),
        Some(Verdict::Worse) => marked(row, share / 100.0, "−", "−*"),
        Some(Verdict::Equivalent) => "=",
        Some(Verdict::NoControl) => "no control",
        _ => "?",
    };
    match cell.interval.map(|ends| ends.map(|end| end * 100.0)) {
        Some(ends) if with_interval => {
            let [low, high] = ends.map(percent);
            format!("{} [{low}, {high}] {sign}", percent(share))
        }
        _ => format!("{} {sign}", percent(share)),
    }
}

/// A sign, or another one where the reference differs as much from itself.
fn marked(row: &TableRow, share: f64, sign: &'static str, below: &'static str) -> &'static str {
    let covers = row.floor.is_some_and(|floor| floor.covers(share));
    if covers { below } else { sign }
}

/// A percentage; what is not known at all is not written out.
fn percent(value: f64) -> String {
    match value {
        value if value < 999.95 => format!("{value:.1}"),
        value if value < 99_999.5 => format!("{value:.0}"),
        _ => "> 99999".to_owned(),
    }
}

/// Two media beside each other, or what stands in the way of a figure.
fn uncompared(row: &TableRow, cell: &Cell) -> String {
    let reference = row.cells.first().and_then(|first| first.medium);
    match (cell.medium, reference) {
        (Some(own), Some(other)) if own != other => format!("{own} ≠ {other}"),
        _ => cell.reason.clone().unwrap_or_else(|| "–".to_owned()),
    }
}

pub fn verdict(cell: &Cell) -> String {
    match (cell.verdict, &cell.reason) {
        (Some(verdict), _) => verdict.to_string(),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "–".to_owned(),
    }
}

/// The floor, and what is wrong with it.
pub fn floor(floor: Option<&Floor>) -> String {
    let Some(floor) = floor else {
        return "–".to_owned();
    };
    let percent = match floor.share * 100.0 {
        percent if percent < 999.5 => format!("{percent:.1} %"),
        _ => "> 999 %".to_owned(),
    };
    let high = if floor.is_high() { " high" } else { "" };
    let held = if floor.held { "" } else { " not held" };
    format!("{percent}{high}{held}")
}

pub fn disk(cell: &Cell) -> String {
    match (&cell.storage, cell.medium) {
        (Some(storage), Some(medium)) => format!("{storage}, {medium}"),
        _ => String::new(),
    }
}

pub fn device(cell: &Cell) -> String {
    let share = cell.device_share;
    share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_says_what_is_wrong_with_it() {
        let of = |share, held| {
            floor(Some(&Floor {
                share,
                held,
                pairs: 3,
                held_against: 3,
            }))
        };
        assert_eq!(of(0.012, true), "1.2 %");
        assert_eq!(of(0.073, true), "7.3 % high");
        assert_eq!(of(12.0, true), "> 999 % high");
        assert_eq!(of(0.012, false), "1.2 % not held");
        assert_eq!(of(0.12, false), "12.0 % high not held");
    }

    #[test]
    fn an_interval_that_says_nothing_stays_short() {
        assert_eq!(percent(98.76), "98.8");
        assert_eq!(percent(1961.3), "1961");
        assert_eq!(percent(1.2e17), "> 99999");
    }
}
