//! The tables of benchmarks as text.

use comfy_table::{CellAlignment, Table};
use stowplan_bench::{BenchTable, Cell, FLOOR_LIMIT, Floor, TableRow};
use stowplan_results::Better;
use stowplan_stats::Verdict;

use crate::table;

/// The rows that a short table has, of the reference and of the containers.
pub fn short(all: &BenchTable) -> String {
    let others: Vec<usize> = (1..all.places.len()).collect();
    let containers: Vec<usize> = others
        .iter()
        .copied()
        .filter(|at| !all.plain[*at])
        .collect();
    let columns = if containers.is_empty() {
        others
    } else {
        containers
    };
    let has_room = columns.len() == 1;
    let reference = all.places.first().map_or("", |label| label);
    let percent = format!("% of {reference}");
    let mut header = vec!["", reference, "n"];
    for at in &columns {
        header.push(&all.places[*at]);
        if has_room {
            header.push(&percent);
        }
    }
    header.push("floor");
    let mut drawn = table::new(header);
    for row in all.rows.iter().filter(|row| row.shown) {
        let mut cells = vec![label(row), value(row, row.cells.first()), blocks(row)];
        for at in &columns {
            let cell = &row.cells[*at];
            if has_room {
                cells.push(value(row, Some(cell)));
            }
            cells.push(compared(row, cell, has_room));
        }
        cells.push(floor(row.floor.as_ref()));
        drawn.add_row(cells);
    }
    right(&mut drawn);
    [text(&drawn), legend()].join("\n")
}

/// Our benchmarks beside the tools that they are made after.
pub fn ratios(all: &BenchTable) -> String {
    let mut drawn = table::new(vec!["ours / tool", "place", "n", "ratio"]);
    for ratio in &all.ratios {
        let interval = ratio
            .interval
            .map_or_else(String::new, |[low, high]| format!(" [{low:.2}, {high:.2}]"));
        drawn.add_row(vec![
            ratio.name.clone(),
            ratio.place.clone(),
            ratio.n.to_string(),
            format!("{:.2}{interval}", ratio.ratio),
        ]);
    }
    format!(
        "{}\nGeometric means over the blocks with 95 % intervals; the reference stands twice.\n",
        text(&drawn)
    )
}

fn legend() -> String {
    format!(
        "+ better, − worse, = equivalent within 2 %, ? inconclusive; ↓ less is better. Intervals are of 95 %.\n\
         floor: largest difference of the reference from itself, * where a verdict is below it; high: above {:.0} %;\n\
         not held: by half of the pairs. --full has every figure at every place, and what moved the bytes of files.",
        FLOOR_LIMIT * 100.0
    )
}

/// Every figure, place by place.
pub fn full(all: &BenchTable) -> String {
    let reference = all.places.first().map_or("", |label| label);
    let mut parts = Vec::new();
    for at in 1..all.places.len().max(2) {
        let Some(place) = all.places.get(at) else {
            parts.push(alone(all, reference));
            break;
        };
        let mut drawn = table::new([
            "",
            reference,
            "n",
            place,
            "n",
            "% of it",
            "verdict",
            "floor",
            "disk",
            "from the device",
        ]);
        for row in &all.rows {
            let (own, cell) = (&row.cells[0], &row.cells[at]);
            drawn.add_row([
                label(row),
                value(row, Some(own)),
                own.n.to_string(),
                value(row, Some(cell)),
                cell.n.to_string(),
                compared(row, cell, true),
                verdict(cell),
                floor(row.floor.as_ref()),
                disk(cell),
                device(cell),
            ]);
        }
        right(&mut drawn);
        parts.push(text(&drawn));
    }
    parts.join("\n\n")
}

/// The reference alone, where there is no other place.
fn alone(all: &BenchTable, reference: &str) -> String {
    let mut drawn = table::new(["", reference, "n", "floor", "disk", "from the device"]);
    for row in &all.rows {
        let cell = &row.cells[0];
        drawn.add_row([
            label(row),
            value(row, Some(cell)),
            cell.n.to_string(),
            floor(row.floor.as_ref()),
            disk(cell),
            device(cell),
        ]);
    }
    right(&mut drawn);
    text(&drawn)
}

/// Our shares, and below them the papers' figures of the same kind, each with its table and machine.
pub fn published(all: &BenchTable) -> String {
    let figures = stowplan_bench::published();
    let mut drawn = table::new(["", "source", "figures"]);
    for row in &all.rows {
        let of_row: Vec<_> = figures
            .iter()
            .filter(|figure| figure.is_of(&row.metric, row.subject.as_deref()))
            .collect();
        if of_row.is_empty() {
            continue;
        }
        let own = row.cells.iter().zip(&all.places);
        let own: Vec<String> = own
            .map(|(cell, place)| own_figure(row, cell, place))
            .collect();
        drawn.add_row([label(row), "here".to_owned(), own.join(", ")]);
        let mut at = 0;
        while at < of_row.len() {
            let first = of_row[at];
            let same = of_row[at..].iter();
            let same = same.take_while(|f| {
                (f.table, f.machine, f.row) == (first.table, first.machine, first.row)
            });
            let line: Vec<String> = same
                .map(|f| format!("{} {:.2}", f.column, f.value))
                .collect();
            let source = format!("{}, {}", first.table, first.machine);
            at += line.len();
            drawn.add_row([
                format!("  {}, {}", first.row, first.unit),
                source,
                line.join(", "),
            ]);
        }
    }
    format!(
        "Published figures, of other machines and programs: compare shapes, not values.\n{}",
        text(&drawn)
    )
}

fn own_figure(row: &TableRow, cell: &Cell, place: &str) -> String {
    match cell.share {
        Some(share) => format!("{place} {:.2} %", share * 100.0),
        None => format!("{place} {}", value(row, Some(cell))),
    }
}

fn label(row: &TableRow) -> String {
    let arrow = if row.better == Better::Lower {
        " ↓"
    } else {
        ""
    };
    format!("{}{arrow}", row.label)
}

/// Blocks of a row: one number where all places have it.
fn blocks(row: &TableRow) -> String {
    let all = || row.cells.iter().map(|cell| cell.n);
    match (all().min(), all().max()) {
        (Some(least), Some(most)) if least < most => format!("{least}–{most}"),
        (_, most) => most.unwrap_or(0).to_string(),
    }
}

fn value(row: &TableRow, cell: Option<&Cell>) -> String {
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
fn compared(row: &TableRow, cell: &Cell, with_interval: bool) -> String {
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

fn verdict(cell: &Cell) -> String {
    match (cell.verdict, &cell.reason) {
        (Some(verdict), _) => verdict.to_string(),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "–".to_owned(),
    }
}

/// The floor, and what is wrong with it.
fn floor(floor: Option<&Floor>) -> String {
    let Some(floor) = floor else {
        return "–".to_owned();
    };
    let percent = match floor.share * 100.0 {
        percent if percent < 999.5 => format!("{percent:.1} %"),
        _ => "> 999 %".to_owned(),
    };
    match (floor.is_high(), floor.held) {
        (false, true) => percent,
        (true, true) => format!("{percent} high"),
        (_, false) => format!("{percent} not held"),
    }
}

fn disk(cell: &Cell) -> String {
    match (&cell.storage, cell.medium) {
        (Some(storage), Some(medium)) => format!("{storage}, {medium}"),
        _ => String::new(),
    }
}

fn device(cell: &Cell) -> String {
    let share = cell.device_share;
    share.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0))
}

fn right(drawn: &mut Table) {
    for (number, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn text(drawn: &Table) -> String {
    let lines = drawn.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use stowplan_bench::Medium;

    use super::*;

    fn cell(value: f64) -> Cell {
        Cell {
            value: Some(value),
            n: 6,
            medium: None,
            storage: None,
            device_share: None,
            share: None,
            interval: None,
            verdict: None,
            reason: None,
        }
    }

    fn row(number: usize, cells: Vec<Cell>) -> TableRow {
        TableRow {
            label: format!("Benchmark {number:02}, with words"),
            metric: "m".to_owned(),
            subject: None,
            unit: "MB/s".to_owned(),
            better: Better::Higher,
            shown: true,
            cells,
            floor: None,
        }
    }

    fn table(rows: Vec<TableRow>) -> BenchTable {
        BenchTable {
            places: ["bare:flat", "bare:grouped", "oci"]
                .map(str::to_owned)
                .into(),
            plain: vec![true, true, false],
            rows,
            ratios: Vec::new(),
        }
    }

    #[test]
    fn a_short_table_has_at_most_forty_lines_of_a_hundred_columns() {
        let compared = Cell {
            share: Some(0.9876),
            interval: Some([0.9712, 1.0039]),
            verdict: Some(Verdict::Equivalent),
            ..cell(12_345.6)
        };
        let rows =
            (0..28).map(|number| row(number, vec![cell(12_500.0), cell(1.0), compared.clone()]));
        let text = short(&table(rows.collect()));
        assert!(text.lines().count() + 4 <= 40, "{text}");
        assert!(text.contains("98.8 [97.1, 100.4] ="), "{text}");
        assert!(!text.contains("bare:grouped"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 110, "{line}");
        }
    }

    #[test]
    fn two_media_stand_beside_each_other_without_a_share() {
        let own = Cell {
            medium: Some(Medium::PageCache),
            ..cell(1009.0)
        };
        let other = Cell {
            medium: Some(Medium::Device),
            reason: Some("not compared".to_owned()),
            ..cell(41.6)
        };
        let text = short(&table(vec![row(1, vec![own.clone(), own, other])]));
        assert!(text.contains("device ≠ page cache"), "{text}");
    }

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
    }

    #[test]
    fn a_verdict_below_the_floor_is_marked() {
        let of = |floor: f64| {
            let worse = Cell {
                share: Some(0.9),
                interval: Some([0.88, 0.92]),
                verdict: Some(Verdict::Worse),
                ..cell(90.0)
            };
            let floor = Floor {
                share: floor,
                held: true,
                pairs: 3,
                held_against: 3,
            };
            let mut row = row(1, vec![cell(100.0), cell(100.0), worse]);
            row.floor = Some(floor);
            short(&table(vec![row]))
        };
        assert!(of(0.02).contains("90.0 [88.0, 92.0] − "), "{}", of(0.02));
        assert!(of(0.2).contains("90.0 [88.0, 92.0] −*"), "{}", of(0.2));
    }

    #[test]
    fn an_interval_that_says_nothing_stays_short() {
        assert_eq!(percent(98.76), "98.8");
        assert_eq!(percent(1961.3), "1961");
        assert_eq!(percent(1.2e17), "> 99999");
    }

    #[test]
    fn published_figures_name_their_table_and_machine() {
        let mut own = row(1, vec![cell(1.0), cell(1.0), cell(1.0)]);
        own.metric = "dhrystone".to_owned();
        let text = published(&table(vec![own]));
        assert!(text.contains("wen2023 III, Desktop"), "{text}");
        assert!(text.contains("Docker 96.97"), "{text}");
    }
}
