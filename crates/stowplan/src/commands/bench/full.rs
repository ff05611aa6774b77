//! Every figure at every place: tables of a terminal, and a section of the report.

use std::path::Path;

use stowplan_bench::BenchTable;
use stowplan_judge::Judgement;
use stowplan_report::{Piece, Section};
use stowplan_results::{Results, ResultsError};

use super::shown::{ABOUT_RATIOS, files, ratio_rows, right, text};
use super::words::{compared, device, disk, floor, label, value, verdict};
use crate::table;

/// A place beside the reference; the reference alone, where there is no other place.
struct Beside {
    caption: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Every figure, place by place.
pub fn tables(all: &BenchTable) -> String {
    let drawn = every(all).into_iter().map(|beside| {
        let mut drawn = table::new(beside.head.iter().map(String::as_str));
        drawn.add_rows(beside.rows);
        right(&mut drawn);
        text(&drawn)
    });
    drawn.collect::<Vec<_>>().join("\n\n")
}

/// What benchmarks add to the report.
pub fn sections(results: &Results, judgement: &Judgement) -> Result<Vec<Section>, ResultsError> {
    let all = read(results.dir(), judgement)?;
    let about = "The floor is the largest difference of the reference from itself. A difference below it says nothing.";
    let about = files(&results.experiment, &all)
        .map_or_else(|| about.to_owned(), |files| format!("{about} {files}"));
    let tables = every(&all).into_iter().map(|beside| Piece::Table {
        caption: beside.caption,
        head: beside.head,
        rows: beside.rows,
    });
    let ratios = Piece::Table {
        caption: format!("Ours divided by the tools. {ABOUT_RATIOS}"),
        head: ["ours / tool", "place", "n", "ratio"]
            .map(str::to_owned)
            .into(),
        rows: ratio_rows(&all, usize::MAX),
    };
    let ratios = Some(ratios).filter(|_| !all.ratios.is_empty());
    let pieces = std::iter::once(Piece::Text(about))
        .chain(tables)
        .chain(ratios);
    Ok(vec![Section {
        title: "Benchmarks".to_owned(),
        pieces: pieces.collect(),
    }])
}

/// The table of a judged result.
pub fn read(dir: &Path, judgement: &Judgement) -> Result<BenchTable, ResultsError> {
    BenchTable::read(judgement, dir).map_err(|source| ResultsError::Io {
        doing: "read what the benchmarks printed in",
        path: dir.to_owned(),
        source,
    })
}

fn every(all: &BenchTable) -> Vec<Beside> {
    let Some((reference, others)) = all.places.split_first() else {
        return Vec::new();
    };
    if others.is_empty() {
        return vec![alone(all, reference)];
    }
    let others = others.iter().enumerate();
    others
        .map(|(number, place)| beside(all, reference, number + 1, place))
        .collect()
}

fn beside(all: &BenchTable, reference: &str, at: usize, place: &str) -> Beside {
    let head = [
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
    ];
    let rows = all.rows.iter().map(|row| {
        let (own, cell) = (&row.cells[0], &row.cells[at]);
        vec![
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
        ]
    });
    Beside {
        caption: format!("{place} beside {reference}"),
        head: head.map(str::to_owned).into(),
        rows: rows.collect(),
    }
}

fn alone(all: &BenchTable, reference: &str) -> Beside {
    let head = ["", reference, "n", "floor", "disk", "from the device"];
    let rows = all.rows.iter().map(|row| {
        let cell = &row.cells[0];
        vec![
            label(row),
            match (cell.value, &cell.reason) {
                (None, Some(reason)) => reason.clone(),
                _ => value(row, Some(cell)),
            },
            cell.n.to_string(),
            floor(row.floor.as_ref()),
            disk(cell),
            device(cell),
        ]
    });
    Beside {
        caption: reference.to_owned(),
        head: head.map(str::to_owned).into(),
        rows: rows.collect(),
    }
}
