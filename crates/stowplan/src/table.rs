//! Tables of the terminal, all of one look.

use std::io::IsTerminal as _;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use rustix::termios::tcgetwinsize;
use stowplan_report::Screen;

/// One line under the head and nothing else, as in reports.
const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The width of reports where there is no terminal.
const COLUMNS: u16 = 100;

/// The width that reports and prose are drawn in: what `COLUMNS` says, or the terminal that standard output is, else 100
/// columns.
pub fn width() -> u16 {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    let has = || Some(tcgetwinsize(std::io::stdout()).ok()?.ws_col);
    said.or_else(has)
        .filter(|columns| *columns > 0)
        .unwrap_or(COLUMNS)
}

/// Standard output as a conclusion needs to know it. `NO_COLOR` takes the colours away (no-color.org).
pub fn screen() -> Screen {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Screen {
        width: width().into(),
        colour: wanted && std::io::stdout().is_terminal(),
    }
}

/// A table with a header, as wide as what is in it: a name or figure is not to be broken over two lines.
pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table
        .load_style(LINES)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}
