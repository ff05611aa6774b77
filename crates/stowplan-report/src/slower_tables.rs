//! Against an earlier result, and what got slower, as text.

use stowplan_results::{Comparisons, Growth, Slower};

use crate::difference_tables::{change, difference_name, outcome, printed};
use crate::format::{dash, difference, value};
use crate::text_table::TextTable;
use stowplan_judge::{deployment_of, is_regression};

/// Label of a deployment, or its id where there is none.
pub(crate) type Label<'a> = dyn Fn(&str) -> String + 'a;

/// The verdicts against an earlier result, then what got slower.
pub(crate) fn against(verdicts: &Comparisons, label: &Label<'_>) -> Vec<TextTable> {
    let earlier = verdicts.against.as_ref();
    let mut table = TextTable::new(
        format!(
            "Against {}",
            earlier.map_or("an earlier result", |e| &*e.result)
        ),
        match earlier {
            Some(earlier) if earlier.measured_again => {
                "Each deployment and itself as it was, measured again in the same blocks and paired by them, with the 95 % \
                 interval; * primary metric, Holm-corrected, all else is exploratory. ! a regression. n: blocks."
            }
            _ => {
                "How each deployment's difference from the reference changed since, with the 95 % interval; * primary metric, \
                 Holm-corrected, all else is exploratory. ! a regression. n: blocks of the smaller result."
            }
        },
        &["Metric", "Deployment"],
        &["Change", "95 % interval", "n", "Verdict"],
    );
    let shown = verdicts.comparisons.iter();
    for c in shown.filter(|c| printed(c) || is_regression(c)) {
        let marks = match (c.primary, is_regression(c)) {
            (true, true) => " * !",
            (true, false) => " *",
            (false, true) => " !",
            (false, false) => "",
        };
        let name = format!("{}{marks}", difference_name(c));
        let mut row = vec![name, label(&c.candidate)];
        row.extend(outcome(c));
        table.rows.push(row);
    }
    vec![table, slower(&verdicts.slower, label)]
}

/// What grew most in every chain that is worse: a part of its latency, and a callback.
pub(crate) fn slower(all: &[Slower], label: &Label<'_>) -> TextTable {
    let mut table = TextTable::new(
        "What got slower",
        "Of each chain that is worse: the part of its latency that grew most, and the callback (its service) whose calls did. \
         Mean per run, with the 95 % interval of the growth; exploratory. A callback whose CPU time did not grow waited for a CPU.",
        &["Chain", "What"],
        &["Before", "After", "Growth", "95 % interval"],
    );
    for one in all {
        let (from, to) = (label(&one.reference), label(&one.candidate));
        let pair = if from == to { to } else { change(&from, &to) };
        let mut push = |what: String, growth: &Growth| {
            let mut row = vec![format!("{}, {pair}", one.chain), what];
            row.extend(cells(growth));
            table.rows.push(row);
        };
        if let Some(part) = one.parts.first() {
            push(part.part.clone(), &part.growth);
        }
        let Some(callback) = one.callbacks.first() else {
            continue;
        };
        let service = callback.service.as_ref();
        let service = service.map_or_else(String::new, |name| format!(" ({name})"));
        push(format!("{}{service}", callback.callback), &callback.wall);
        if let Some(cpu) = &callback.cpu {
            push("its CPU time".to_owned(), cpu);
        }
    }
    table
}

fn cells(growth: &Growth) -> [String; 4] {
    let ns = |v: f64| value("ns", Some(v));
    let change = |v: f64| difference(false, "ns", Some(v));
    let interval = match (growth.low_ns, growth.high_ns) {
        (Some(low), Some(high)) => format!("{} … {}", change(low), change(high)),
        _ => dash(),
    };
    [
        ns(growth.before_ns),
        ns(growth.after_ns),
        change(growth.difference_ns),
        interval,
    ]
}

/// Comparisons that say that something got worse, a line each: what has no value any more first, then the largest change.
#[must_use]
pub fn regressions(verdicts: &Comparisons) -> Vec<String> {
    let worse = verdicts.comparisons.iter().filter(|c| is_regression(c));
    let mut worse: Vec<_> = worse.collect();
    let size = |change: Option<f64>| change.map_or(f64::INFINITY, f64::abs);
    worse.sort_by(|a, b| size(b.difference).total_cmp(&size(a.difference)));
    let lines = worse.into_iter().map(|c| {
        let what = format!("{} on {}", difference_name(c), deployment_of(&c.candidate));
        match c.difference {
            Some(_) => {
                let [change, interval, ..] = outcome(c);
                format!("{what}: {change} ({interval})")
            }
            None => format!("{what}: {}", c.verdict_reason),
        }
    });
    lines.collect()
}

/// What grew most in each chain that is worse, a line each.
#[must_use]
pub fn slower_lines(all: &[Slower]) -> Vec<String> {
    let lines = all.iter().map(|one| {
        let grown = |growth: &Growth| {
            let [.., change, interval] = cells(growth);
            format!("{change} ({interval})")
        };
        let mut line = format!("{} on {}: ", one.chain, deployment_of(&one.candidate));
        line += &match one.parts.first() {
            Some(part) => format!("{} grew most, {}", part.part, grown(&part.growth)),
            None => "its parts are not known in both".to_owned(),
        };
        if let Some(callback) = one.callbacks.first() {
            let service = callback.service.as_ref();
            let of = service.map_or_else(String::new, |name| format!(" of service '{name}'"));
            let wall = grown(&callback.wall);
            line += &format!("; callback {}{of}, {wall}", callback.callback);
            if let Some(cpu) = &callback.cpu {
                line += &format!(", its CPU time {}", grown(cpu));
            }
        }
        line
    });
    lines.collect()
}
