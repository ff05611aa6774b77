//! Tables of the terminal, all of one look.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

/// One line under the head and nothing else, as in reports.
const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a header, in the width of the terminal.
pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table
        .load_style(LINES)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}
