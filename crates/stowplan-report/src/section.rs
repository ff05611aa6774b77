//! A section that a suite adds to the page, drawn here and without a script.

use std::fmt::Write as _;

use stowplan_model::units::show_ns;

use crate::html::escape;

/// What a suite adds to the end of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What stands in it, in order.
    pub pieces: Vec<Piece>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// A paragraph.
    Text(String),
    /// A table.
    Table {
        /// What it shows.
        caption: String,
        /// Its columns.
        head: Vec<String>,
        /// Its rows, as wide as the head.
        rows: Vec<Vec<String>>,
    },
    /// What happened one after the other.
    Timeline(Timeline),
}

/// Rows of steps on one axis of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// What it shows.
    pub caption: String,
    /// The rows.
    pub rows: Vec<TimelineRow>,
}

/// Steps that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRow {
    /// Whose.
    pub label: String,
    /// Name of each step, and when it was done, in ns since zero. Each begins where the one before it was done.
    pub steps: Vec<(String, f64)>,
}

const STYLE: &str = ".suite{max-width:1160px;margin:0 auto;padding:0 1rem 3rem}\
.suite table{border-collapse:collapse;margin:.5rem 0 1.5rem}\
.suite caption{text-align:left;font-weight:600;padding:.4rem 0}\
.suite th,.suite td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}\
.suite .wide{overflow-x:auto}\
.suite svg{max-width:100%;height:auto}\
.suite svg text{fill:var(--ink);font-size:12px}\
.suite svg .axis{fill:var(--muted)}\
.suite svg line{stroke:var(--grid)}";

/// Colours of the steps, those of the page.
const COLOURS: usize = 10;

const WIDTH: f64 = 1000.0;
/// Room for the labels of rows.
const LEFT: f64 = 230.0;
/// Room for the time at the end of the longest row.
const RIGHT: f64 = 80.0;
const ROW: f64 = 26.0;
const BAR: f64 = 16.0;
const LEGEND: f64 = 22.0;

/// The sections as they stand after the page.
pub(crate) fn html(sections: &[Section]) -> String {
    if sections.is_empty() {
        return String::new();
    }
    let mut out = format!("<style>{STYLE}</style>\n");
    for section in sections {
        let title = escape(&section.title);
        let _ = writeln!(
            out,
            "<section class=\"suite\" aria-label=\"{title}\">\n<h2>{title}</h2>"
        );
        for piece in &section.pieces {
            match piece {
                Piece::Text(text) => {
                    let _ = writeln!(out, "<p>{}</p>", escape(text));
                }
                Piece::Table {
                    caption,
                    head,
                    rows,
                } => table(&mut out, caption, head, rows),
                Piece::Timeline(timeline) => drawn(&mut out, timeline),
            }
        }
        out.push_str("</section>\n");
    }
    out
}

fn table(out: &mut String, caption: &str, head: &[String], rows: &[Vec<String>]) {
    let cells = |kind: &str, texts: &[String]| {
        let cells = texts.iter();
        let cells = cells.map(|text| format!("<{kind}>{}</{kind}>", escape(text)));
        cells.collect::<String>()
    };
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>",
        escape(caption),
        cells("th", head)
    );
    for row in rows {
        let _ = writeln!(out, "<tr>{}</tr>", cells("td", row));
    }
    out.push_str("</tbody></table></div>\n");
}

/// The picture of a timeline: a bar for each row, a colour for each step.
fn drawn(out: &mut String, timeline: &Timeline) {
    let ends = timeline.rows.iter();
    let ends = ends.filter_map(|row| row.steps.last().map(|(_, ns)| *ns));
    let longest = ends.fold(0.0, f64::max);
    if longest <= 0.0 {
        return;
    }
    let names = names(timeline);
    let top = LEGEND + 22.0;
    let height = top + ROW * timeline.rows.len() as f64 + 24.0;
    let caption = escape(&timeline.caption);
    let _ = writeln!(
        out,
        "<figure><figcaption>{caption}</figcaption>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{caption}</title>"
    );
    legend(out, &names);
    let scale = (WIDTH - LEFT - RIGHT) / longest;
    axis(out, longest, scale, (top - 4.0, height - 20.0));
    for (number, row) in timeline.rows.iter().enumerate() {
        let y = top + ROW * number as f64;
        bar(out, row, &names, scale, y);
    }
    out.push_str("</svg></figure>\n");
}

/// Names of all steps, in the order in which they come.
fn names(timeline: &Timeline) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in timeline.rows.iter().flat_map(|row| &row.steps) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn legend(out: &mut String, names: &[&str]) {
    let step = (WIDTH - 10.0) / names.len().max(1) as f64;
    for (number, name) in names.iter().enumerate() {
        let (x, colour) = (step * number as f64, number % COLOURS);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"4\" width=\"12\" height=\"12\" style=\"fill:var(--d{colour})\"/>\
             <text x=\"{:.1}\" y=\"14\">{}</text>",
            x + 17.0,
            escape(name)
        );
    }
}

/// Four parts of the axis, each with its time.
fn axis(out: &mut String, longest: f64, scale: f64, (top, bottom): (f64, f64)) {
    for part in 0..=4 {
        let ns = longest * f64::from(part) / 4.0;
        let x = LEFT + ns * scale;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
             <text class=\"axis\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 15.0,
            show_ns(ns)
        );
    }
}

fn bar(out: &mut String, row: &TimelineRow, names: &[&str], scale: f64, y: f64) {
    let middle = y + BAR / 2.0 + 4.0;
    let _ = writeln!(
        out,
        "<text x=\"0\" y=\"{middle:.1}\">{}</text>",
        escape(&row.label)
    );
    let mut from = 0.0;
    for (name, to) in &row.steps {
        let colour = names.iter().position(|one| one == name).unwrap_or(0) % COLOURS;
        let (x, width) = (LEFT + from * scale, ((to - from) * scale).max(0.5));
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" style=\"fill:var(--d{colour})\">\
             <title>{}: {} to {}</title></rect>",
            escape(name),
            show_ns(from),
            show_ns(*to)
        );
        from = *to;
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
        LEFT + from * scale + 6.0,
        show_ns(from)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_has_a_bar_for_each_step_as_long_as_it_took() {
        let row = TimelineRow {
            label: "oci <a>".to_owned(),
            steps: vec![("detected".to_owned(), 1e6), ("ready".to_owned(), 4e6)],
        };
        let section = Section {
            title: "Recovery".to_owned(),
            pieces: vec![Piece::Timeline(Timeline {
                caption: "one".to_owned(),
                rows: vec![row],
            })],
        };
        let page = html(&[section]);
        let scale = (WIDTH - LEFT - RIGHT) / 4.0;
        let bar = format!(
            "x=\"{:.1}\" y=\"44.0\" width=\"{:.1}\"",
            LEFT + scale,
            scale * 3.0
        );
        assert!(page.contains(&bar), "{bar}: {page}");
        assert!(page.contains("oci &lt;a&gt;"), "{page}");
        assert!(page.contains("ready: 1.00 ms to 4.00 ms"), "{page}");
    }

    #[test]
    fn nothing_is_added_where_there_is_nothing_to_show() {
        assert_eq!(html(&[]), "");
        let empty = Timeline {
            caption: "none".to_owned(),
            rows: Vec::new(),
        };
        let section = Section {
            title: "Recovery".to_owned(),
            pieces: vec![Piece::Timeline(empty)],
        };
        assert!(!html(&[section]).contains("<svg"));
    }
}
