//! A bag that is replayed: by its times, with its sizes, and with a figure of how long that took.

use std::path::{Path, PathBuf};

use stowplan_results::Results;
use stowplan_testkit::mcap_file;

use crate::measured::{AT_ONCE, only_result};
use crate::support::{Bench, engines_missing, fixture};

/// When scans of the bag were recorded, ns since the first: 20 Hz with jitter, a gap, and two at once, in a second.
const SCANS: [u64; 12] = [
    0,
    52_000_000,
    97_000_000,
    151_000_000,
    200_000_001,
    400_000_000,
    400_000_000,
    601_000_000,
    655_000_000,
    803_000_000,
    951_000_000,
    1_000_000_000,
];

/// Size of the first scan; each next one has a byte more.
const BYTES: usize = 9_000;

fn bag(bench: &Bench) -> PathBuf {
    const BEGAN: u64 = 1_700_000_000_000_000_000;
    let path = bench.path().join("drive.mcap");
    let scans = SCANS.iter().enumerate();
    let scans = scans.map(|(number, at)| ("/lidar/scan", BEGAN + at, BYTES + number));
    let all = [("/tf", BEGAN - 7_000_000, 10)].into_iter().chain(scans);
    let all: Vec<(&str, u64, usize)> = all.collect();
    std::fs::write(&path, mcap_file(&all, None).unwrap()).unwrap();
    path
}

/// Replays this on plain processes, once.
fn replaying(replay: &str) -> Vec<String> {
    let stack = fixture("tiny.yaml");
    let of = ["latency", stack.to_str().unwrap(), "--blocks", "1"].into_iter();
    let at = ["--place", "bare:flat", "--partition", "modules"];
    let all = of.chain(at).chain(AT_ONCE).chain(["--replay", replay]);
    all.map(str::to_owned).collect()
}

#[test]
fn a_bag_is_replayed_as_it_was_recorded() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let path = bag(&bench);
    let replay = format!("{},/lidar/scan=/scan", path.display());
    bench.run(replaying(&replay)).expect(0);
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    // As long as the bag, and a second.
    assert_eq!(results.experiment.window_s, 2.0);
    let replay = &results.experiment.parameters["replay"];
    assert_eq!(replay["sha256"].as_str().unwrap().len(), 64, "{replay}");
    assert_eq!(replay["sources"][0]["messages"], SCANS.len());
    // Each message was released when it was due, exactly, and none after the last.
    let latency = results.latency().unwrap();
    let origins: Vec<i64> = latency.iter().map(|row| row.origin_ns).collect();
    assert_eq!(origins, SCANS.map(|ns| ns.cast_signed()));
    let rows = results.measurements().unwrap();
    let last = latency
        .iter()
        .filter_map(|row| row.output_ns)
        .max()
        .unwrap();
    let figures: Vec<(Option<&str>, Option<f64>)> = rows
        .iter()
        .map(|row| (row.subject.as_deref(), row.value))
        .collect();
    let last = Some(last as f64);
    assert_eq!(figures, [(None, last), (Some("scan_to_brake"), last)]);
    assert!(
        rows.iter()
            .all(|row| &*row.metric == "replay_execution_time")
    );
    let words = ["report", name(&dir), "--form", "text"];
    let report = bench.run(words).expect(0).out;
    for told in ["replay execution time", "Modules over time", "CPU std"] {
        assert!(report.contains(told), "{told}:\n{report}");
    }
}

fn name(dir: &Path) -> &str {
    dir.to_str().unwrap()
}

#[test]
fn a_bag_that_cannot_be_replayed_is_told_before_anything_starts() {
    let bench = Bench::new();
    let path = bag(&bench);
    let unmapped = bench.run(replaying(name(&path))).expect(3);
    assert!(
        unmapped.err.contains("no message of any source"),
        "{}",
        unmapped.err
    );
    assert!(
        unmapped.err.contains("hint: map a topic"),
        "{}",
        unmapped.err
    );
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let cut = bench.run(replaying(name(&path))).expect(3);
    assert!(
        cut.err.contains("drive.mcap") && cut.err.contains("cut"),
        "{}",
        cut.err
    );
    assert!(cut.err.contains("hint: 'mcap recover'"), "{}", cut.err);
}
