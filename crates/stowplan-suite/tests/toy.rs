//! A suite of a hundred lines runs in blocks, goes on after a kill, and is judged and reported, without a change to the
//! core.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests outside of test modules"
)]

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use stowplan_judge::Judgement;
use stowplan_results::{Results, RunStatus};
use stowplan_stats::Verdict;

/// The example, going on step by step.
struct Toy {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
}

impl Toy {
    fn start(arguments: &[&Path]) -> Self {
        let mut child = Command::new(example())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let folder = lines.next().unwrap().unwrap().into();
        Self {
            child,
            input,
            lines,
            folder,
        }
    }

    /// Lets so many runs happen; what it says before each.
    fn runs(&mut self, most: usize) -> Vec<String> {
        let mut said = Vec::new();
        while said.len() < most
            && let Some(line) = self.lines.next()
        {
            said.push(line.unwrap());
            self.input.write_all(b"\n").unwrap();
        }
        said
    }

    /// Waits until it is about to begin another run.
    fn next(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

/// Cargo builds examples before it runs tests, beside the folder of the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    folder.join("examples/toy")
}

#[test]
fn a_suite_of_its_own_is_measured_resumed_judged_and_reported() {
    let parent = tempfile::tempdir().unwrap();
    let mut toy = Toy::start(&[parent.path()]);
    assert_eq!(toy.runs(5).len(), 5);
    assert!(toy.next().starts_with("block 3/6: "));
    toy.child.kill().unwrap();
    toy.child.wait().unwrap();
    let before = Results::open(&toy.folder).unwrap();
    assert_eq!(before.runs.len(), 5);
    assert_eq!(before.experiment.schedule.len(), 12);

    let mut again = Toy::start(&[Path::new("--resume"), &toy.folder]);
    let said = again.runs(usize::MAX);
    assert_eq!(said.len(), 7, "{said:?}");
    assert!(again.child.wait().unwrap().success());

    let results = Results::open(&toy.folder).unwrap();
    let finished = results.runs.iter();
    let finished = finished.filter(|run| run.status == RunStatus::Finished);
    assert_eq!(finished.count(), 12);
    assert_eq!(&results.runs[..5], before.runs);
    let judgement = Judgement::read(&results).unwrap();
    let [comparison] = &judgement.comparisons[..] else {
        panic!("{:?}", judgement.comparisons);
    };
    assert_eq!(comparison.metric, "comparisons");
    assert_eq!((comparison.blocks, comparison.primary), (6, true));
    assert_eq!(comparison.verdict, Verdict::Better);
    let text = stowplan_report::terminal(&judgement, 100);
    for told in ["toy: suite searching", "Measurements", "comparisons"] {
        assert!(text.contains(told), "{told}:\n{text}");
    }
}

/// What a new suite costs is what the example shows.
#[test]
fn it_has_a_hundred_lines_of_code() {
    let source = include_str!("../examples/toy.rs");
    let code = source.lines().map(str::trim);
    let code = code.filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(code.count() <= 100);
}
