//! A placed picture as SVG.

use std::fmt::Write as _;

use super::place::{FRAME_HEAD, LINE, NAME_SIZE, Placed, Rectangle, SMALL_SIZE, shortened};

/// Where the SVG will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file of its own: with its colours, light and dark.
    File,
    /// In a page that has the colours.
    Page,
}

/// Colours of the report's page.
const COLOURS: &str = ".graph{--page:#f4f5f7;--surface:#fff;--ink:#14181f;--muted:#5a6473;--line:#c9d0d9;--d0:#2f6bd8}\
@media screen and (prefers-color-scheme:dark){.graph{--page:#0f1217;--surface:#171b22;--ink:#e9edf3;--muted:#9aa5b5;--line:#3a4351;--d0:#6a9dff}}\
.graph{background:var(--page)}";

const RULES: &str = ".graph{font-family:system-ui,sans-serif}\
.graph-frame{fill:var(--muted);fill-opacity:.07;stroke:var(--line);stroke-dasharray:4 3}\
.graph-box{fill:var(--surface);stroke:var(--d0);stroke-width:1.3}\
.graph-aside .graph-box{stroke:var(--line);stroke-dasharray:3 2}\
.graph-name{fill:var(--ink);font-weight:600}\
.graph-small{fill:var(--muted)}\
.graph-way{fill:none;stroke:var(--muted);stroke-opacity:.7;stroke-width:1.2}\
.graph-head{fill:var(--muted)}\
.graph-label{fill:var(--ink);paint-order:stroke;stroke:var(--page);stroke-width:3px;stroke-linejoin:round}\
.graph-arrow:hover .graph-way{stroke:var(--d0);stroke-opacity:1;stroke-width:2}\
.graph-arrow:hover .graph-label{fill:var(--d0)}";

/// Room for the note, in a picture of few boxes.
const LEAST_WIDTH: f64 = 380.0;
/// Space under the picture for its note.
const NOTE: f64 = 24.0;

pub(super) fn write(placed: &Placed, form: Form) -> String {
    let note = placed.picture.note.as_deref();
    let height = placed.height + if note.is_some() { NOTE } else { 0.0 };
    let (width, height) = (
        placed.width.max(LEAST_WIDTH).ceil(),
        height.max(40.0).ceil(),
    );
    let colours = match form {
        Form::File => COLOURS,
        Form::Page => "",
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>{colours}{RULES}</style>\n\
         <title>Node graph</title>\n\
         <defs><marker id=\"graph-head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto-start-reverse\"><path class=\"graph-head\" d=\"M0 0.8L8 4L0 7.2z\"/>\
         </marker></defs>\n"
    );
    frames(&mut out, placed);
    arrows(&mut out, placed);
    blocks(&mut out, placed);
    if let Some(note) = note {
        let at = (12.0, height - 9.0);
        out.push_str(&text(at, "graph-small", SMALL_SIZE, note, "start"));
    }
    out.push_str("</svg>\n");
    out
}

fn frames(out: &mut String, placed: &Placed) {
    for (frame, name) in placed.frames.iter().zip(&placed.picture.frames) {
        if frame.width > 0.0 {
            let frame = &Rectangle {
                y: frame.y - FRAME_HEAD / 2.0,
                height: frame.height + FRAME_HEAD,
                ..*frame
            };
            let _ = writeln!(out, "<g>{}", rectangle(frame, "graph-frame"));
            let (x, y) = (
                frame.x - frame.width / 2.0 + 6.0,
                frame.y - frame.height / 2.0 + 12.0,
            );
            let _ = writeln!(
                out,
                "{}</g>",
                text((x, y), "graph-small", SMALL_SIZE, name, "start")
            );
        }
    }
}

fn arrows(out: &mut String, placed: &Placed) {
    for ((points, label), arrow) in placed.arrows.iter().zip(&placed.picture.arrows) {
        let class = arrow.class.as_ref();
        let class = class.map_or_else(String::new, |class| {
            format!(" graph-{}", class.replace('_', "-"))
        });
        let chain = if arrow.chain { " graph-chain" } else { "" };
        let _ = writeln!(
            out,
            "<g class=\"graph-arrow{class}{chain}\"><title>{}</title><path class=\"graph-way\" marker-end=\"url(#graph-head)\" d=\"{}\"/>",
            escaped(&arrow.title),
            path(points)
        );
        out.push_str(&lines(label, &arrow.lines));
        out.push_str("</g>\n");
    }
}

fn blocks(out: &mut String, placed: &Placed) {
    for (block, of) in placed.blocks.iter().zip(&placed.picture.blocks) {
        let class = if of.aside {
            "graph-aside"
        } else {
            "graph-node"
        };
        let chain = if of.chain { " graph-chain" } else { "" };
        let _ = writeln!(
            out,
            "<g class=\"{class}{chain}\"><title>{}</title>",
            escaped(&of.name)
        );
        out.push_str(&rectangle(block, "graph-box"));
        let lift = if of.note.is_some() {
            SMALL_SIZE * LINE / 2.0
        } else {
            0.0
        };
        let baseline = block.y + NAME_SIZE * 0.35;
        let at = (block.x, baseline - lift);
        out.push_str(&text(
            at,
            "graph-name",
            NAME_SIZE,
            &shortened(&of.name),
            "middle",
        ));
        if let Some(note) = &of.note {
            let at = (block.x, baseline + NAME_SIZE * LINE / 2.0);
            out.push_str(&text(
                at,
                "graph-small",
                SMALL_SIZE,
                &shortened(note),
                "middle",
            ));
        }
        out.push_str("</g>\n");
    }
}

fn rectangle(of: &Rectangle, class: &str) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
        of.x - of.width / 2.0,
        of.y - of.height / 2.0,
        of.width,
        of.height
    )
}

fn text(at: (f64, f64), class: &str, size: f64, words: &str, anchor: &str) -> String {
    format!(
        "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{}</text>",
        at.0,
        at.1,
        escaped(words)
    )
}

fn lines(label: &Rectangle, lines: &[String]) -> String {
    let step = SMALL_SIZE * LINE;
    let first = label.y - step * (lines.len() as f64 - 1.0) / 2.0 + SMALL_SIZE * 0.35;
    let rows = lines.iter().enumerate().map(|(row, line)| {
        let at = (label.x, first + step * row as f64);
        text(at, "graph-label", SMALL_SIZE, &shortened(line), "middle")
    });
    rows.collect()
}

/// A smooth way through points: quadratic curves between the middles of its parts.
fn path(points: &[(f64, f64)]) -> String {
    let [first, .., last] = points else {
        return String::new();
    };
    let mut path = format!("M{:.1} {:.1}", first.0, first.1);
    for pair in points[1..].windows(2) {
        let (at, next) = (pair[0], pair[1]);
        let end = if next == *last {
            next
        } else {
            ((at.0 + next.0) / 2.0, (at.1 + next.1) / 2.0)
        };
        let _ = write!(path, "Q{:.1} {:.1} {:.1} {:.1}", at.0, at.1, end.0, end.1);
    }
    if points.len() == 2 {
        let _ = write!(path, "L{:.1} {:.1}", last.0, last.1);
    }
    path
}

fn escaped(text: &str) -> String {
    crate::html::escape(text)
}
