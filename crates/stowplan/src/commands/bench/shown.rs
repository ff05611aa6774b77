//! The tables of benchmarks as text.

use comfy_table::{CellAlignment, Table};
use stowplan_bench::{BenchTable, Cell, FLOOR_LIMIT, Published, TableRow};
use stowplan_model::units::show_bytes;
use stowplan_results::Experiment;

use super::words::{blocks, compared, floor, label, value};
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

/// As much of a reason as keeps a line of ratios within a terminal; the report has all of it.
const REASON_CHARS: usize = 60;

/// What ratios are, and what their signs say.
pub const ABOUT_RATIOS: &str = "Geometric means over the blocks with 95 % intervals; the reference stands twice.\n\
     = equivalent within 2 %, ≠ different, ? inconclusive.";

/// Our benchmarks beside the tools that they are made after.
pub fn ratios(all: &BenchTable) -> String {
    let mut drawn = table::new(vec!["ours / tool", "place", "n", "ratio"]);
    drawn.add_rows(ratio_rows(all, REASON_CHARS));
    format!("{}\n{ABOUT_RATIOS}\n", text(&drawn))
}

/// A row for each pair and place, with so many characters of a reason.
pub fn ratio_rows(all: &BenchTable, reason_chars: usize) -> Vec<Vec<String>> {
    let rows = all.ratios.iter().map(|ratio| {
        let interval = ratio.interval;
        let interval =
            interval.map_or_else(String::new, |[low, high]| format!(" [{low:.3}, {high:.3}]"));
        let reason = ratio.reason.iter().flat_map(|reason| reason.chars());
        let shown = |value| format!("{value:.3}{interval}{}", sign(ratio.equal));
        vec![
            ratio.name.clone(),
            ratio.place.clone(),
            ratio.n.to_string(),
            ratio
                .ratio
                .map_or_else(|| reason.take(reason_chars).collect(), shown),
        ]
    });
    rows.collect()
}

const fn sign(equal: Option<bool>) -> &'static str {
    match equal {
        Some(true) => " =",
        Some(false) => " ≠",
        None => " ?",
    }
}

/// The size of files beside the machine's memory, which decides what the page cache can hold; none where no file is concerned.
pub fn files(experiment: &Experiment, all: &BenchTable) -> Option<String> {
    let mut cells = all.rows.iter().flat_map(|row| &row.cells);
    cells.find(|cell| cell.medium.is_some())?;
    let bytes = experiment.parameters.get("file_bytes")?.as_f64()?;
    let memory = experiment.machine.memory_bytes as f64;
    Some(format!(
        "Files of file-sequential and file-random have {}, {:.2} % of the memory of {}.",
        show_bytes(bytes),
        bytes / memory * 100.0,
        show_bytes(memory)
    ))
}

fn legend() -> String {
    format!(
        "+ better, − worse, = equivalent within 2 %, ? inconclusive; ↓ less is better. Intervals are of 95 %.\n\
         floor: largest difference of the reference from itself, * where a verdict is below it; high: above {:.0} %;\n\
         not held: by half of the pairs; –: below four pairs. --full has all figures, and what moved bytes of files.",
        FLOOR_LIMIT * 100.0
    )
}

/// Our shares, and below them the papers' figures of the same kind, each with its table and machine.
pub fn published(all: &BenchTable) -> String {
    let figures = stowplan_bench::published();
    let mut drawn = table::new(vec!["", "source", "figures"]);
    for row in &all.rows {
        let own = row.cells.iter().zip(&all.places);
        let own: Vec<String> = own
            .map(|(cell, place)| own_figure(row, cell, place))
            .collect();
        let of_row = figures
            .iter()
            .filter(|figure| figure.is_of(&row.metric, row.subject.as_deref()));
        add_published(&mut drawn, &label(row), &own.join(", "), of_row);
    }
    let of_vision = figures.iter().filter(|figure| figure.is_of_vision());
    let own = "`stowplan latency vision`";
    add_published(&mut drawn, "Camera and detector", own, of_vision);
    format!(
        "Published figures, of other machines and programs: compare shapes, not values.\n{}",
        text(&drawn)
    )
}

/// Ours in one line, and a line for each row, unit and machine of a paper; nothing where no paper has figures.
fn add_published<'a>(
    drawn: &mut Table,
    label: &str,
    own: &str,
    figures: impl Iterator<Item = &'a Published>,
) {
    let figures: Vec<_> = figures.collect();
    let line = |f: &Published| (f.table, f.machine, f.row, f.unit);
    for (number, same) in figures.chunk_by(|a, b| line(a) == line(b)).enumerate() {
        if number == 0 {
            drawn.add_row([label, "here", own]);
        }
        let (table, machine, row, unit) = line(same[0]);
        let values = same.iter().map(|f| match f.unit {
            "packages" => format!("{} {:.0}", f.column, f.value),
            _ => format!("{} {:.2}", f.column, f.value),
        });
        drawn.add_row([
            format!("  {row}, {unit}"),
            format!("{table}, {machine}"),
            values.collect::<Vec<_>>().join(", "),
        ]);
    }
}

fn own_figure(row: &TableRow, cell: &Cell, place: &str) -> String {
    match cell.share {
        Some(share) => format!("{place} {:.2} %", share * 100.0),
        None => format!("{place} {}", value(row, Some(cell))),
    }
}

pub fn right(drawn: &mut Table) {
    for (number, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

pub fn text(drawn: &Table) -> String {
    let lines = drawn.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use stowplan_bench::{Floor, Medium, Ratio};
    use stowplan_results::Better;
    use stowplan_stats::Verdict;

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
    fn a_place_without_a_ratio_has_the_beginning_of_its_reason() {
        let ratio = |place: &str, ratio: Option<f64>, reason: Option<String>| Ratio {
            name: "Mutex / sysbench".to_owned(),
            metric: "mutex_ratio".to_owned(),
            place: place.to_owned(),
            n: usize::from(ratio.is_some()),
            ratio,
            interval: None,
            equal: None,
            reason,
        };
        let all = BenchTable {
            ratios: vec![
                ratio("oci", Some(1.0), None),
                ratio("lxd", None, Some("no space left ".repeat(9))),
            ],
            ..table(Vec::new())
        };
        insta::assert_snapshot!(ratios(&all), @r"
         ours / tool        place   n   ratio
        ─────────────────────────────────────────────────────────────────────────────────────────────
         Mutex / sysbench   oci     1   1.000 ?
         Mutex / sysbench   lxd     0   no space left no space left no space left no space left no s
        Geometric means over the blocks with 95 % intervals; the reference stands twice.
        = equivalent within 2 %, ≠ different, ? inconclusive.
        ");
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
    fn published_figures_name_their_table_and_machine() {
        let mut own = row(1, vec![cell(1.0), cell(1.0), cell(1.0)]);
        own.metric = "dhrystone".to_owned();
        let text = published(&table(vec![own]));
        assert!(text.contains("wen2023 III, Desktop"), "{text}");
        assert!(text.contains("Docker 96.97"), "{text}");
    }
}
