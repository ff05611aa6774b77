//! A pilot, really run: its blocks count, and its spread fixes the number of all, once.

use stowplan_results::{Results, RunStatus};

use crate::measured::only_result;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, engines_missing, fixture};

/// The cap lies so close above the pilot that the test is short, and a δ of 2 % is out of reach of so short windows.
const MOST: u32 = 11;

fn experiment(bench: &Bench) -> String {
    let stack = fixture("tiny.yaml");
    let text = format!(
        "name: sized\nstack: {}\nplaces: [bare:flat, bare:grouped]\npartitions: [modules]\npilot: true\n\
         blocks: {MOST}\nwarm_up: 100ms\nwindow: 1s\n",
        stack.display()
    );
    let file = bench.write("sized.yaml", &text);
    file.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn a_pilot_fixes_the_number_of_blocks_and_an_interrupted_one_goes_on() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let file = experiment(&bench);
    // No second block fits into the budget of a second.
    let begun = bench.run(["run", &file, "--settle", "0s", "--budget", "1s"]);
    let begun = begun.expect(0);
    assert!(
        begun.out.contains("The pilot of 10 blocks is not over"),
        "{}",
        begun.out
    );
    let dir = only_result(&bench);
    let before = Results::open(&dir).unwrap();
    let pilot = before.experiment.pilot.clone().unwrap();
    assert_eq!((pilot.blocks, pilot.most, pilot.fixed), (10, MOST, None));
    assert_eq!(before.experiment.blocks_planned, 10);

    let name = dir.to_str().unwrap();
    let resume = ["run", "--resume", name, "--settle", "0s", "--budget", "60m"];
    let ended = bench.run(resume.iter().chain(&["--full"])).expect(0);
    let results = Results::open(&dir).unwrap();
    let pilot = results.experiment.pilot.clone().unwrap();
    let fixed = pilot.fixed.unwrap();
    assert!((10..=MOST).contains(&fixed), "{pilot:?}");
    assert_eq!(results.experiment.blocks_planned, fixed);
    assert_eq!(results.experiment.schedule.len(), 2 * fixed as usize);
    assert_eq!(
        results.runs.len(),
        2 * fixed as usize,
        "pilot blocks count, no more are run"
    );
    assert!(
        results
            .runs
            .iter()
            .all(|run| run.status == RunStatus::Finished)
    );
    let told = format!("the pilot fixes {fixed} blocks: {}", pilot.reason.unwrap());
    assert_eq!(ended.err.matches(&told).count(), 1, "{}", ended.err);
    assert!(
        ended.out.contains("Half-width of the 95 % interval"),
        "{}",
        ended.out
    );
    for run in &before.runs {
        assert!(
            results.runs.contains(run),
            "what was measured stays: {run:?}"
        );
    }

    bench.run(["run", "--resume", name]).expect(0);
    assert_eq!(Results::open(&dir).unwrap().experiment, results.experiment);
}

#[test]
fn plan_tells_how_long_an_experiment_takes() {
    let bench = Bench::new();
    let file = experiment(&bench);
    let told = bench.run(["plan", "--experiment", &file]).expect(0).out;
    for words in [
        "bare:grouped · modules",
        "the pilot of 10 blocks",
        "11 blocks",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let fixed = std::fs::read_to_string(&file)
        .unwrap()
        .replace("pilot: true\n", "");
    let file = bench.write("fixed.yaml", &fixed);
    let told = bench.run(["plan", "--experiment", file.to_str().unwrap()]);
    let told = told.expect(0).out;
    assert!(told.contains("the experiment of 11 blocks"), "{told}");
}
