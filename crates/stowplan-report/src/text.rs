//! Tables on a terminal and in Markdown.

use std::fmt::Write as _;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};

use stowplan_judge::Judgement;
use stowplan_results::PilotRecord;

use crate::text_table::TextTable;

/// One line under the head and nothing else: figures stand closest that way.
pub(crate) const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column that is wider than this may wrap.
const LONG: usize = 34;

/// Narrower than this no table can be read.
const MIN_WIDTH: usize = 40;

/// The tables for `width` columns; a table that is wider is split, its key columns repeated.
pub(crate) fn terminal(report: &Judgement, tables: &[TextTable], width: usize) -> String {
    let width = width.max(MIN_WIDTH);
    let mut out = String::new();
    for line in head(report) {
        push_wrapped(&mut out, &line, width, "");
    }
    out.push('\n');
    for table in tables {
        push_wrapped(&mut out, &table.title, width, "");
        if let Some(text) = grouped(table, width) {
            out.push_str(&text);
        } else {
            for columns in chunks(table, width) {
                out.push_str(&draw(table, &columns, width));
                out.push('\n');
            }
        }
        push_wrapped(&mut out, &table.note, width, "");
        out.push('\n');
    }
    let warnings = report.figures.warnings();
    if !warnings.is_empty() {
        out.push_str("Warnings\n");
        for warning in warnings {
            push_wrapped(&mut out, &format!("- {warning}"), width, "  ");
        }
    }
    out
}

/// The tables in Markdown.
pub(crate) fn markdown(report: &Judgement, tables: &[TextTable]) -> String {
    let mut out = String::new();
    let mut lines = head(report).into_iter();
    if let Some(title) = lines.next() {
        let _ = writeln!(out, "# {title}\n");
    }
    for line in lines {
        let _ = writeln!(out, "{}\n", escape(&line));
    }
    for table in tables {
        let _ = writeln!(
            out,
            "## {}\n\n{}\n",
            escape(&table.title),
            escape(&table.note)
        );
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| escape(c)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        out += &row(&table.headers);
        let rule = (0..table.headers.len()).map(|i| if i < table.keys { "---" } else { "---:" });
        let _ = writeln!(out, "|{}|", rule.collect::<Vec<_>>().join("|"));
        for cells in &table.rows {
            out += &row(cells);
        }
        out.push('\n');
    }
    let warnings = report.figures.warnings();
    if !warnings.is_empty() {
        out.push_str("## Warnings\n\n");
        for warning in warnings {
            let _ = writeln!(out, "- {}", escape(&warning));
        }
    }
    out
}

fn head(report: &Judgement) -> Vec<String> {
    let e = &report.figures.experiment;
    let blocks = report
        .figures
        .runs
        .iter()
        .map(|r| r.block)
        .max()
        .unwrap_or(0);
    let machine = format!(
        "{} CPUs {}, {}, kernel {}",
        e.machine.cpus,
        e.machine.cpu_model,
        crate::format::bytes(e.machine.memory_bytes as f64),
        e.machine.kernel
    );
    let mut lines = vec![
        if e.is_of_stacks() {
            format!(
                "{}: stack {}, {} nodes",
                e.name, e.stack.name, e.stack.nodes
            )
        } else {
            format!("{}: suite {}", e.name, e.suite)
        },
        format!(
            "{} deployments, {blocks} of {} blocks, seed {}",
            e.deployments.len(),
            e.blocks_planned,
            e.seed
        ),
        machine,
        report.figures.instrument(),
    ];
    if let Some(pilot) = e.pilot.as_ref() {
        lines.push(of_pilot(pilot));
    }
    lines.extend(report.precision());
    lines
}

fn of_pilot(pilot: &PilotRecord) -> String {
    match (pilot.fixed, &pilot.reason) {
        (Some(fixed), Some(reason)) => {
            format!(
                "{fixed} blocks, fixed by a pilot of {}: {reason}",
                pilot.blocks
            )
        }
        _ => format!("The pilot of {} blocks is not over", pilot.blocks),
    }
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

pub(crate) fn push_wrapped(out: &mut String, text: &str, width: usize, indent: &str) {
    let mut line = String::new();
    for word in text.split(' ') {
        let full = line.chars().count() + 1 + word.chars().count() > width;
        if full && !line.trim().is_empty() {
            let _ = writeln!(out, "{line}");
            indent.clone_into(&mut line);
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

/// Space that one column takes: its widest cell, two spaces and what stands for the line between columns.
fn column_width(table: &TextTable, column: usize) -> usize {
    let cells = table.rows.iter().map(|row| &row[column]);
    let widest = cells.chain([&table.headers[column]]);
    widest.map(|cell| cell.chars().count()).max().unwrap_or(0) + 3
}

/// Columns to print beside each other: all, or the key columns with as many others as fit.
fn chunks(table: &TextTable, width: usize) -> Vec<Vec<usize>> {
    let keys: Vec<usize> = (0..table.keys).collect();
    let key_width: usize = keys.iter().map(|c| column_width(table, *c)).sum();
    let mut chunks = Vec::new();
    let mut chunk = keys.clone();
    let mut used = key_width;
    for column in table.keys..table.headers.len() {
        let needs = column_width(table, column);
        // A long text can wrap; it needs room for some words only.
        let needs = needs.min(LONG);
        if used + needs > width && chunk.len() > keys.len() {
            chunks.push(std::mem::replace(&mut chunk, keys.clone()));
            used = key_width;
        }
        chunk.push(column);
        used += needs;
    }
    chunks.push(chunk);
    chunks
}

/// A table that is too wide, with its first key on lines of its own above the rows that have it, if it fits that way.
fn grouped(table: &TextTable, width: usize) -> Option<String> {
    const INDENT: &str = "  ";
    let columns: Vec<usize> = (1..table.headers.len()).collect();
    if table.keys < 2 || chunks(table, width).len() < 2 {
        return None;
    }
    let text = drawn(table, &columns, width, Give::Nothing);
    let widest = text.lines().map(|line| line.chars().count()).max()?;
    if widest + INDENT.len() > width {
        return None;
    }
    let mut lines = text.lines();
    let mut out = String::new();
    for line in lines.by_ref().take(2) {
        let indent = if line.starts_with('─') {
            "──"
        } else {
            INDENT
        };
        let _ = writeln!(out, "{indent}{line}");
    }
    let mut group = None;
    for (row, line) in table.rows.iter().zip(lines) {
        if group != Some(&row[0]) {
            group = Some(&row[0]);
            let _ = writeln!(out, "{}", row[0]);
        }
        let _ = writeln!(out, "{INDENT}{line}");
    }
    Some(out)
}

fn draw(table: &TextTable, columns: &[usize], width: usize) -> String {
    let natural: usize = columns.iter().map(|c| column_width(table, *c)).sum();
    // Long texts give way first; where that is not enough, all columns do.
    [Give::Nothing, Give::Long, Give::All]
        .into_iter()
        .skip(usize::from(natural > width))
        .map(|give| drawn(table, columns, width, give))
        .find(|text| text.lines().all(|line| line.chars().count() <= width))
        .unwrap_or_else(|| drawn(table, columns, width, Give::All))
}

/// Which columns are made narrower than their content.
#[derive(Clone, Copy, PartialEq)]
enum Give {
    Nothing,
    Long,
    All,
}

fn drawn(table: &TextTable, columns: &[usize], width: usize, give: Give) -> String {
    let pick = |cells: &[String]| -> Vec<String> {
        columns
            .iter()
            .map(|column| cells[*column].clone())
            .collect()
    };
    let mut drawn = Table::new();
    drawn
        .load_style(LINES)
        .set_content_arrangement(match give {
            Give::Nothing => ContentArrangement::Disabled,
            Give::Long | Give::All => ContentArrangement::Dynamic,
        })
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(pick(&table.headers));
    for row in &table.rows {
        drawn.add_row(pick(row));
    }
    for (place, column) in columns.iter().enumerate() {
        let cells = table.rows.iter().map(|row| &row[*column]);
        let number = |cell: &String| {
            cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || "+-–−".contains(c))
        };
        let right = *column >= table.keys && cells.into_iter().all(number);
        let fixed = give == Give::Long && column_width(table, *column) <= LONG;
        if let Some(column) = drawn.column_mut(place) {
            column.set_padding((0, 2));
            if fixed {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let lines = drawn.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}
