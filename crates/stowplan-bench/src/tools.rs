//! The papers' own tools as benchmarks: a row of data for each tool, with its command and what is read from its output.

mod beside;
mod list;
mod read;

use std::collections::BTreeMap;

use stowplan_engine::quoted;
use stowplan_image::PROGRAM_NAME;
use stowplan_wire::bench::{BENCH_SCHEMA, BenchFigure, BenchResult, Direction, FileAccess, Moved};

/// What the script prints behind the tool's output, with the tool's status.
const END: &str = "stowplan-tool-status=";

/// What all tools say of a full disk, strerror(3).
pub(crate) const FULL: &str = "No space left on device";

/// Longest time for a tool beyond what it is asked for, s.
const LONGEST_S: u64 = 60;

/// The same for one that has as much to do as it has.
const LONGEST_WORK_S: u64 = 1800;

/// Where a tool sees the folder with our program, if it is to run that as well.
pub(crate) const NODE_FOLDER: &str = "/mnt";

/// A figure of a tool.
struct Figure {
    metric: &'static str,
    unit: &'static str,
    higher_is_better: bool,
    bytes: Bytes,
    read: fn(&str) -> Option<f64>,
}

/// What a figure has to do with files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bytes {
    /// Nothing.
    None,
    /// It is of files that are made and deleted.
    OfNames,
    /// It is of bytes that go into the page cache.
    Buffered,
    /// It is of bytes that the tool waits for until the device has them.
    Synced,
}

impl Bytes {
    /// How they are written, where bytes are.
    const fn access(self) -> Option<FileAccess> {
        match self {
            Self::None | Self::OfNames => None,
            Self::Buffered => Some(FileAccess::Buffered),
            Self::Synced => Some(FileAccess::Synced),
        }
    }
}

/// A tool of the toolbox.
pub(crate) struct Tool {
    /// Name of the benchmark.
    pub(crate) name: &'static str,
    /// Whether it has files; they lie in a volume.
    pub(crate) has_files: bool,
    /// Whether it runs our program as well.
    pub(crate) has_ours: bool,
    /// Longest time beyond what it is asked for, s.
    pub(crate) longest_s: u64,
    /// What the shell of the toolbox runs; words in braces are filled in.
    script: &'static str,
    figures: &'static [Figure],
    /// What it prints instead of a figure of what was too short to be measured.
    too_short: Option<&'static str>,
}

/// What most tools have in common.
const TOOL: Tool = Tool {
    name: "",
    has_files: false,
    has_ours: false,
    longest_s: LONGEST_S,
    script: "",
    figures: &[],
    too_short: None,
};

/// What a tool is told.
pub(crate) struct Told<'a> {
    pub(crate) time_ms: u64,
    pub(crate) folder: &'a str,
    pub(crate) domain: u32,
    /// CycloneDDS configuration.
    pub(crate) dds: &'a str,
}

impl Tool {
    /// Every tool.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        list::TOOLS.iter().chain(&beside::BESIDE)
    }

    /// The tool of this name.
    pub(crate) fn of_name(name: &str) -> Option<&'static Self> {
        Self::all().find(|tool| tool.name == name)
    }

    /// The metric that stands for it where it gave none.
    pub(crate) const fn metric(&self) -> &'static str {
        self.figures[0].metric
    }

    /// The shell script that runs it in the toolbox and prints how it ended.
    pub(crate) fn script(&self, told: &Told<'_>) -> String {
        let seconds = told.time_ms.div_ceil(1000).max(1);
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
        let words = [
            ("{seconds}", seconds.to_string()),
            // ddsperf tells once a second and dbench warms up.
            ("{longer}", (seconds + 4).to_string()),
            ("{long}", (seconds + 2).to_string()),
            ("{threads}", threads.to_string()),
            ("{domain}", told.domain.to_string()),
            ("{folder}", quoted(told.folder)),
            ("{node}", format!("{NODE_FOLDER}/{PROGRAM_NAME}")),
        ];
        let script = words
            .iter()
            .fold(self.script.to_owned(), |text, (word, value)| {
                text.replace(word, value)
            });
        format!(
            "export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root CYCLONEDDS_URI={}; \
             timeout -k 5 {} /bin/sh -c {} 2>&1; echo \"{END}$?\"",
            quoted(told.dds),
            seconds + self.longest_s,
            quoted(&script)
        )
    }

    /// Whether one of its figures is of files.
    pub(crate) fn is_of_files(&self) -> bool {
        let mut figures = self.figures.iter();
        figures.any(|figure| figure.bytes != Bytes::None)
    }

    /// What it gave; `None` where it has not ended.
    pub(crate) fn ended(&self, log: &str) -> Option<Result<BenchResult, String>> {
        let (output, status) = log.rsplit_once(END)?;
        let status: i32 = status.split_whitespace().next()?.parse().ok()?;
        Some(self.result(output, status))
    }

    fn result(&self, output: &str, status: i32) -> Result<BenchResult, String> {
        // Some say more after the reason.
        let mut lines = output.lines().rev();
        let full = lines.find(|line| line.contains(FULL));
        let error = error(output);
        let last = output.lines().rev().find(|line| !line.trim().is_empty());
        let last = full.or(error).or(last).unwrap_or("it said nothing").trim();
        match status {
            0 => {}
            124 => return Err(format!("{} did not end in time: {last}", self.name)),
            137 => {
                let why = "was killed, as where memory runs out or it does not end in time";
                return Err(format!("{} {why}: {last}", self.name));
            }
            127 => return Err(format!("{} is not in the toolbox: {last}", self.name)),
            _ => return Err(format!("{} ended with status {status}: {last}", self.name)),
        }
        let figures: Vec<BenchFigure> = self
            .figures
            .iter()
            .map(|f| self.figure(f, output))
            .collect();
        if !self.was_too_short(output) && figures.iter().all(|figure| figure.value.is_none()) {
            return Err(format!(
                "{} printed something else than a result: {last}",
                self.name
            ));
        }
        let mut settings = BTreeMap::from([("command".to_owned(), self.script.to_owned())]);
        if figures.iter().any(|figure| figure.value.is_none()) {
            // To be looked at: what a tool means by it is not known here.
            settings.insert("output".to_owned(), output.to_owned());
        }
        Ok(BenchResult {
            schema: BENCH_SCHEMA.to_owned(),
            benchmark: self.name.to_owned(),
            figures,
            settings,
            storage: None,
        })
    }

    fn was_too_short(&self, output: &str) -> bool {
        self.too_short.is_some_and(|mark| output.contains(mark))
    }

    fn figure(&self, figure: &Figure, output: &str) -> BenchFigure {
        let value = (figure.read)(output).filter(|value| value.is_finite() && *value > 0.0);
        let access = figure.bytes.access();
        BenchFigure {
            metric: figure.metric.to_owned(),
            subject: access.map(|access| access.word().to_owned()),
            unit: figure.unit.to_owned(),
            higher_is_better: figure.higher_is_better,
            value,
            whole: None,
            reason: value.is_none().then(|| match error(output) {
                _ if self.was_too_short(output) => {
                    format!("{}: it was too short to be measured", self.name)
                }
                Some(error) => format!("{} printed no figure for it: {error}", self.name),
                None => format!("{} printed no figure for it", self.name),
            }),
            count: 0,
            ns: 0,
            // A tool does not say how many bytes. Those that are synced are where the folder is.
            moved: (access == Some(FileAccess::Buffered)).then_some(Moved {
                direction: Direction::Write,
                access: FileAccess::Buffered,
                bytes: 0,
                from_device: None,
                to_device: None,
                resident: None,
            }),
        }
    }
}

/// What `iperf3 -J` says of an error, after which its status can be 0 nevertheless.
fn error(output: &str) -> Option<&str> {
    let mut lines = output.lines().rev();
    let found = lines.find(|line| line.contains("\"error\":"));
    found.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! saved {
        ($file:literal) => {
            include_str!(concat!("../../../tests/fixtures/toolbox/", $file))
        };
    }

    fn values(name: &str, output: &str) -> Vec<Option<f64>> {
        let tool = Tool::of_name(name).unwrap();
        let result = tool.ended(&format!("{output}\n{END}0\n")).unwrap().unwrap();
        result.figures.iter().map(|figure| figure.value).collect()
    }

    #[test]
    fn saved_outputs_of_the_tools_are_read() {
        let close = |name: &str, output: &str, expected: f64| {
            let value = values(name, output)[0].unwrap();
            assert!((value / expected - 1.0).abs() < 1e-6, "{name}: {value}");
        };
        close("sysbench-cpu", saved!("sysbench-1.0.20-cpu.txt"), 1457.07);
        close(
            "sysbench-memory",
            saved!("sysbench-1.0.20-memory.txt"),
            2379.16,
        );
        close(
            "sysbench-threads",
            saved!("sysbench-1.0.20-threads.txt"),
            216.0 / 1.0043,
        );
        close(
            "sysbench-mutex",
            saved!("sysbench-1.0.20-mutex.txt"),
            700_000.0 / 1.1397,
        );
        close("dbench", saved!("dbench-4.0.txt"), 76.5801);
        let both = values("iperf3", saved!("iperf3-3.12.json"));
        // Of ten tenths each: between the fifth and the sixth of them by rate.
        for (own, expected) in both.iter().zip([1_262.414_842, 1_713.734_155]) {
            assert!((own.unwrap() / expected - 1.0).abs() < 1e-9, "{both:?}");
        }
        close("ddsperf", saved!("ddsperf-0.10.2.txt"), 62_891.0 + 62_341.0);
        assert_eq!(
            values("sysbench-fileio", saved!("sysbench-1.0.20-fileio.txt")),
            [Some(3495.18), Some(75.38)]
        );
        close("kernel", saved!("kernel-6.1.txt"), 3600.0 / 115.171_086_925);
        assert_eq!(
            values("bonnie", saved!("bonnie-2.00.csv")),
            [None, Some(1755.0)]
        );
        let neither = "1.98,2.00a,vm,1,1795869017,128M,,8192,5,,,+++++,+++,+++++,+++,,,+++++,+++,+++++,+++,16,,,,,+++++,+++,";
        assert_eq!(values("bonnie", neither), [None, None]);
        assert_eq!(
            values("bonnie", saved!("bonnie-2.00-2G.csv")),
            [Some(670_496.0), Some(14_923.0)]
        );
    }

    #[test]
    fn what_was_printed_is_kept_where_a_figure_is_missing() {
        let one = r#"{"intervals": []}{"intervals": [{"sum": {"bits_per_second": 8e6}}]}"#;
        let kept = |log: String| {
            let tool = Tool::of_name("iperf3").unwrap();
            let mut result = tool.ended(&log).unwrap().unwrap();
            result.settings.remove("output")
        };
        let log = format!("{one}\nstowplan-tool-status=0\n");
        assert_eq!(kept(log), Some(format!("{one}\n")));
        let both = saved!("iperf3-3.12.json");
        assert_eq!(kept(format!("{both}\nstowplan-tool-status=0\n")), None);
    }

    #[test]
    fn an_error_that_the_status_does_not_tell_is_the_reason() {
        // As iperf3 3.12 printed it, with status 0.
        let refused = "{\n\t\"error\":\t\"unable to connect to server: Connection refused\"\n}\n";
        let sent = r#"{"intervals": [{"sum": {"bits_per_second": 8e6}}]}"#;
        let tool = Tool::of_name("iperf3").unwrap();
        let log = format!("{sent}\n{refused}stowplan-tool-status=0\n");
        let result = tool.ended(&log).unwrap().unwrap();
        assert_eq!(result.figures[0].value, Some(1.0));
        let why = result.figures[1].reason.as_deref().unwrap();
        assert!(why.ends_with("server: Connection refused\""), "{why}");
    }

    #[test]
    fn what_is_no_result_names_the_tool() {
        let tool = Tool::of_name("iperf3").unwrap();
        assert!(tool.ended("{\"end\": {}}\n").is_none());
        for (log, expected) in [
            ("hello\nstowplan-tool-status=0\n", "printed something else"),
            (
                "sh: 1: iperf3: not found\nstowplan-tool-status=127\n",
                "not in the toolbox",
            ),
            ("stowplan-tool-status=124\n", "did not end in time"),
            ("no\nstowplan-tool-status=1\n", "ended with status 1: no"),
            (
                "{\n\t\"error\":\t\"unable to connect\"\n}\nstowplan-tool-status=1\n",
                "ended with status 1: \"error\":\t\"unable to connect\"",
            ),
            ("stowplan-tool-status=137\n", "was killed, as where memory"),
        ] {
            let why = tool.ended(log).unwrap().unwrap_err();
            assert!(
                why.starts_with("iperf3 ") && why.contains(expected),
                "{why}"
            );
        }
    }

    #[test]
    fn a_tool_that_hangs_is_ended_with_what_it_started() {
        let tool = Tool {
            name: "hanging",
            longest_s: 0,
            script: "echo begun; sleep 600 & sleep 600",
            ..TOOL
        };
        let told = Told {
            time_ms: 1,
            folder: "",
            domain: 0,
            dds: "",
        };
        // It ends only when nobody has its output open any more.
        let ran = std::process::Command::new("/bin/sh")
            .args(["-c", &tool.script(&told)])
            .output();
        let log = String::from_utf8(ran.unwrap().stdout).unwrap();
        let why = tool.ended(&log).unwrap().unwrap_err();
        assert_eq!(why, "hanging did not end in time: begun");
    }

    #[test]
    fn words_of_a_script_are_filled_in_and_quoted() {
        let told = Told {
            time_ms: 100,
            folder: "/srv/it's",
            domain: 7,
            dds: "<a b='c'/>",
        };
        for tool in Tool::all() {
            let script = tool.script(&told);
            assert!(
                !script.contains("{seconds}") && !script.contains("{folder}"),
                "{script}"
            );
        }
    }
}
