//! The conclusion of an experiment on a terminal: one screen, the answer first.

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table};
use stowplan_judge::Judgement;
use stowplan_judge::conclusion::{Conclusion, Overview, Repeated};
use stowplan_stats::Verdict;

use crate::format::{short_difference, short_value};
use crate::text::{LINES, push_wrapped};

/// Lines of a conclusion, at most.
const HEIGHT: usize = 40;

/// Deployments that are shown, at most: the others are in the report.
const DEPLOYMENTS: usize = 8;

/// Lines that one warning takes, at most: the report has all of it.
const PER_WARNING: usize = 2;

/// A terminal, as far as it matters.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Columns.
    pub width: usize,
    /// Whether verdicts have colours.
    pub colour: bool,
}

/// The conclusion on at most 40 lines. `report` ends it as it is: what was left out, and where the rest stands.
#[must_use]
pub fn conclusion(judgement: &Judgement, report: &str, screen: Screen) -> String {
    let said = judgement.conclusion();
    let against = said.against.as_ref().map(|against| answer(against, screen));
    let mut out = against.unwrap_or_default() + &answer(&said.answer, screen);
    let paragraph = |out: &mut String, text: &str| push_wrapped(out, text, screen.width, "");
    paragraph(&mut out, &said.advice);
    out.push('\n');
    out.push_str(&table(judgement, &said, screen));
    for line in notes(judgement, &said.overview) {
        paragraph(&mut out, &line);
    }
    out.push('\n');
    for text in said.why.iter().chain(&said.settle) {
        paragraph(&mut out, text);
    }
    // Paths stay whole, for people to copy.
    let end = format!("{report}\n");
    let room = HEIGHT.saturating_sub(out.lines().count() + end.lines().count() + 1);
    out.push_str(&warned(&said.warnings, room, screen.width));
    out + &end
}

/// The answer, in bold where there are colours.
fn answer(text: &str, screen: Screen) -> String {
    let mut wrapped = String::new();
    push_wrapped(&mut wrapped, text, screen.width, "");
    match screen.colour {
        true => {
            let lines = wrapped.lines();
            lines
                .map(|line| format!("\u{1b}[1m{line}\u{1b}[0m\n"))
                .collect()
        }
        false => wrapped,
    }
}

/// Deployments by what they came to. Where the terminal is narrow, each difference stands below its value, and columns
/// are left out from the right.
fn table(judgement: &Judgement, said: &Conclusion, screen: Screen) -> String {
    let all = said.overview.columns.len();
    let narrower = (1..=all).rev().map(|columns| (columns, "\n"));
    let mut forms = std::iter::once((all, " ")).chain(narrower);
    let fits = |form: &(usize, &str)| {
        let plain = drawn(judgement, &said.overview, *form, false);
        plain
            .lines()
            .all(|line| line.chars().count() <= screen.width)
    };
    let form = forms.find(fits).unwrap_or((all, "\n"));
    drawn(judgement, &said.overview, form, screen.colour)
}

/// So many columns, with this between a value and its difference.
fn drawn(
    judgement: &Judgement,
    overview: &Overview,
    (columns, between): (usize, &str),
    colour: bool,
) -> String {
    let mut table = Table::new();
    table
        .load_style(LINES)
        .set_content_arrangement(ContentArrangement::Disabled);
    match colour {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    let heads = overview
        .columns
        .iter()
        .take(columns)
        .map(|column| &*column.name);
    table.set_header(["Deployment"].into_iter().chain(heads));
    for (deployment, cells) in shown(judgement, overview) {
        let mut row = vec![Cell::new(judgement.figures.label(deployment))];
        for (cell, column) in cells.iter().zip(&overview.columns).take(columns) {
            let mut text = short_value(&column.unit, cell.value);
            if let Some(verdict) = cell.verdict {
                let change = short_difference(column.relative, &column.unit, cell.difference);
                text += &format!("{between}{change} {}", mark(verdict));
            }
            let drawn = Cell::new(text).set_alignment(CellAlignment::Right);
            row.push(match cell.verdict.and_then(shade) {
                Some(shade) if colour => drawn.fg(shade),
                _ => drawn,
            });
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for column in 0..=columns {
        if let Some(column) = table.column_mut(column).filter(|_| column > 0) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// The reference and the best by the first column that has differences, in the order of the experiment.
fn shown<'a>(
    judgement: &Judgement,
    overview: &'a Overview,
) -> Vec<(&'a str, &'a [stowplan_judge::conclusion::Cell])> {
    let reference = judgement.figures.experiment.reference_id();
    let key = |index: usize| {
        let (id, cells) = &overview.rows[index];
        let value = cells.get(overview.main).and_then(|cell| cell.value);
        (Some(&**id) != reference, value.unwrap_or(f64::INFINITY))
    };
    let mut order: Vec<usize> = (0..overview.rows.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (key(*a), key(*b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    order.truncate(DEPLOYMENTS);
    order.sort_unstable();
    let rows = order.into_iter().map(|index| {
        let (id, cells) = &overview.rows[index];
        (&**id, &cells[..])
    });
    rows.collect()
}

/// How the table is read.
fn notes(judgement: &Judgement, overview: &Overview) -> Vec<String> {
    let mut notes = Vec::new();
    let marks: Vec<Verdict> = overview
        .rows
        .iter()
        .flat_map(|(_, cells)| cells.iter().filter_map(|cell| cell.verdict))
        .collect();
    let words = ALL.into_iter().filter(|v| marks.contains(v));
    let words: Vec<String> = words.map(|v| format!("{} {v}", mark(v))).collect();
    let mut first = String::from("Means over the blocks");
    if let Some(reference) = judgement
        .figures
        .experiment
        .reference_id()
        .filter(|_| !words.is_empty())
    {
        first += &format!("; differences from {}", judgement.figures.label(reference));
    }
    first += ".";
    if !words.is_empty() {
        first += &format!(" {}.", words.join(", "));
    }
    if let Some(chain) = &overview.chain {
        first += &format!(" Chain {chain}.");
    }
    match overview.other_chains {
        0 => {}
        1 => first += " Another chain is in the report.",
        n => first += &format!(" {n} other chains are in the report."),
    }
    notes.push(first);
    let hidden = overview.rows.len().saturating_sub(DEPLOYMENTS);
    if hidden > 0 {
        notes.push(format!("{hidden} more deployments are in the report."));
    }
    notes
}

const ALL: [Verdict; 6] = [
    Verdict::Better,
    Verdict::Worse,
    Verdict::Equivalent,
    Verdict::Inconclusive,
    Verdict::NoControl,
    Verdict::LostInputsDiffer,
];

fn mark(verdict: Verdict) -> char {
    match verdict {
        Verdict::Better => '✓',
        Verdict::Worse => '✗',
        Verdict::Equivalent => '=',
        Verdict::Inconclusive => '?',
        Verdict::NoControl => '!',
        Verdict::LostInputsDiffer => '≠',
    }
}

const fn shade(verdict: Verdict) -> Option<Color> {
    match verdict {
        Verdict::Better => Some(Color::Green),
        Verdict::Worse => Some(Color::Red),
        Verdict::Equivalent => Some(Color::Cyan),
        Verdict::NoControl | Verdict::LostInputsDiffer => Some(Color::Yellow),
        Verdict::Inconclusive => None,
    }
}

/// As many warnings as there is room for, the most important first.
fn warned(warnings: &[Repeated], room: usize, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (told, warning) in warnings.iter().enumerate() {
        let mut text = String::new();
        push_wrapped(
            &mut text,
            &format!("warning: {}", warning.text),
            width,
            "  ",
        );
        let mut own: Vec<String> = text.lines().map(str::to_owned).collect();
        if own.len() > PER_WARNING {
            own.truncate(PER_WARNING);
            if let Some(last) = own.last_mut() {
                *last = last
                    .chars()
                    .take(width.saturating_sub(2))
                    .collect::<String>()
                    + " …";
            }
        }
        let is_last = told + 1 == warnings.len();
        if lines.len() + own.len() + usize::from(!is_last) > room {
            lines.push(match warnings.len() - told {
                1 => "1 more warning is in the report.".to_owned(),
                n => format!("{n} more warnings are in the report."),
            });
            break;
        }
        lines.extend(own);
    }
    lines.into_iter().map(|line| line + "\n").collect()
}
