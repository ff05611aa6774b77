//! Figures of the papers, to hold shapes beside ours. They are of other machines and other programs: nothing compares the two.

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Paper and table, as `wen2023 III`.
    pub table: &'static str,
    /// Machine of the paper.
    pub machine: &'static str,
    /// Row of the table.
    pub row: &'static str,
    /// Column of the table.
    pub column: &'static str,
    /// The figure.
    pub value: f64,
    /// Its unit, as `% of bare metal` or `µs`.
    pub unit: &'static str,
    /// Our metric of the same kind.
    pub metric: &'static str,
    /// What of it.
    pub subject: Option<&'static str>,
}

/// Transcribed by hand; the head says how.
const DATA: &str = include_str!("../data/published.csv");

/// Metric of figures of a camera and a detector.
const VISION: &str = "vision";

/// Rows of tools that the toolbox has, with the metric of the tool.
const TOOLS: [(&str, &str); 4] = [
    ("iPerf3 send", "iperf3_send"),
    ("iPerf3 receive", "iperf3_receive"),
    ("Bonnie++ output", "bonnie_write"),
    ("Bonnie++ create", "bonnie_create"),
];

/// All figures in the order of the tables.
///
/// # Panics
/// When the data is not as its head says, which a test excludes.
#[must_use]
pub fn published() -> Vec<Published> {
    let lines = DATA
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.skip(1).map(line).collect()
}

fn line(text: &'static str) -> Published {
    let fields: Vec<&str> = text.split(',').collect();
    let [table, machine, row, column, value, unit, metric, subject] = fields[..] else {
        panic!("{text}: eight fields");
    };
    Published {
        table,
        machine,
        row,
        column,
        value: value.parse().expect("a figure"),
        unit,
        metric,
        // A comma cannot stand in a field.
        subject: (!subject.is_empty()).then_some(subject),
    }
}

impl Published {
    /// Whether one of our rows is of the same kind, or is of the very tool.
    #[must_use]
    pub fn is_of(&self, metric: &str, subject: Option<&str>) -> bool {
        if TOOLS.contains(&(self.row, metric)) {
            return true;
        }
        let own = subject.map(|subject| subject.replace(", ", " "));
        self.metric == metric && self.subject == own.as_deref()
    }

    /// Whether it is of a camera and a detector, which no benchmark is.
    #[must_use]
    pub fn is_of_vision(&self) -> bool {
        self.metric == VISION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::{SHOWN, SHOWN_OF_TOOLS};

    fn value(table: &str, machine: &str, row: &str, column: &str) -> f64 {
        let all = published();
        let found: Vec<&Published> = all
            .iter()
            .filter(|p| (p.table, p.machine, p.row, p.column) == (table, machine, row, column))
            .filter(|p| p.unit != "packages")
            .collect();
        assert_eq!(found.len(), 1, "{table} {machine} {row} {column}");
        found[0].value
    }

    #[test]
    fn figures_stand_where_the_papers_have_them() {
        for (table, machine, row, column, expected) in [
            ("wen2023 III", "Desktop", "Dhrystone", "Docker", 96.97),
            ("wen2023 III", "Embedded", "Whetstone", "Podman", 100.63),
            ("wen2023 III", "Workstation", "Kcbench", "KVM", 94.12),
            ("wen2023 IV", "Embedded", "Integer reading", "KVM", 86.50),
            ("wen2023 V", "Workstation", "Bonnie++ delete", "KVM", 64.32),
            ("wen2023 VI", "Desktop", "iPerf3 send", "KVM", 95.31),
            ("betz2024 IV", "x86", "8 MB", "MC", 5532.21),
            ("betz2024 V", "x86", "30 fps latency", "SC", 5.87),
            ("betz2024 V", "aarch64", "10 fps jitter", "MC", 0.98),
        ] {
            let own = value(table, machine, row, column);
            assert!((own - expected).abs() < 1e-9, "{table} {row}: {own}");
        }
    }

    #[test]
    fn tables_are_complete() {
        let count = |table: &str| published().iter().filter(|p| p.table == table).count();
        let counts = ["wen2023 III", "wen2023 IV", "wen2023 V", "wen2023 VI"].map(count);
        assert_eq!(counts, [36, 48, 48, 6]);
        // 13 sizes and 4 rates of three figures, for two machines of three columns, without what cannot be read.
        let counts = ["betz2024 IV", "betz2024 V"].map(count);
        assert_eq!(counts, [2 * 78 - 4, 72 - 6]);
    }

    #[test]
    fn every_figure_has_a_row_of_ours_or_a_size_of_a_message() {
        for one in published() {
            let shown = SHOWN
                .iter()
                .chain(&SHOWN_OF_TOOLS)
                .any(|(_, metric, subject)| one.is_of(metric, *subject));
            let of_messages = ["dds_round_trip", "dds_count"].contains(&one.metric);
            assert!(shown || one.is_of_vision() || of_messages, "{one:?}");
        }
    }
}
