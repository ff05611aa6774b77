//! A result held against an earlier one, and a positive control: what is held back by a quota is found and named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stowplan_results::Results;

use crate::measured::{AT_ONCE, shared};
use crate::one_at_a_time::turn;
use crate::support::{Bench, Ended, engines_missing, fixture};
use crate::undisturbed::undisturbed;

/// The least that gives a verdict.
const BLOCKS: u32 = 6;

/// The stack `held-back` at one place, whole and in one service per module, of which `perception` has a quota in CPUs.
fn experiment(bench: &Bench, place: &str, quota: f64, blocks: u32) -> String {
    let text = format!(
        "name: quota-{quota}\nstack: {}\nplaces: ['{place}']\npartitions: [single, modules]\n\
         limits: {{ perception: {{ cpu_quota: {quota} }} }}\n\
         blocks: {blocks}\nwarm_up: 200ms\nwindow: 2s\ncallback_cpu: true\n",
        fixture("held-back.yaml").display()
    );
    let file = bench.write(&format!("quota-{quota}-{blocks}.yaml"), &text);
    file.to_str().unwrap().to_owned()
}

fn measure(bench: &Bench, experiment: &str, options: &[&str]) -> Ended {
    let fixed = ["run", experiment, "--settle", "0s"];
    bench.run(fixed.iter().chain(options))
}

/// Folders of the results, sorted by name.
fn results(bench: &Bench) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(bench.path().join("results")) else {
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// The one result that is not among `before`.
fn new_result(bench: &Bench, before: &[PathBuf]) -> String {
    let new = results(bench).into_iter().filter(|r| !before.contains(r));
    let new: Vec<PathBuf> = new.collect();
    assert_eq!(new.len(), 1, "{new:?}");
    new[0].to_str().unwrap().to_owned()
}

/// One service has 0.8 CPU, then 0.2: the later result is worse, and what is named is that service's callback, whose calls take
/// longer and no more CPU time.
fn control(place: &str) {
    let bench = Bench::new();
    let _turn = turn();
    let id = format!("{}.modules", place.replace(':', "-"));
    measure(&bench, &experiment(&bench, place, 0.8, BLOCKS), &[]).expect(0);
    let earlier = new_result(&bench, &[]);
    let before = results(&bench);
    let held_back = experiment(&bench, place, 0.2, BLOCKS);
    let ended = measure(&bench, &held_back, &["--against", &earlier]).expect(6);
    let told = format!("E2E mean, image_to_brake on {id}: +");
    assert!(ended.err.contains(&told), "{}", ended.err);
    let named = format!("hint: image_to_brake on {id}: wait grew most, +");
    assert!(ended.err.contains(&named), "{}", ended.err);
    for words in [
        "callback detector/on_image of service 'perception', +",
        "What got slower",
    ] {
        assert!(
            ended.err.contains(words) || ended.out.contains(words),
            "{words}: {}",
            ended.err
        );
    }

    let later = new_result(&bench, &before);
    let again = format!("{later}/before");
    let compared = bench.run(["compare", &again, &later, "--json"]).expect(0);
    let document = compared.document("compare");
    is_the_quota(&document, &id);
    let kept = Results::open(&later).unwrap().against().unwrap();
    assert_eq!(serde_json::to_value(kept.unwrap()).unwrap(), document);
    let text = bench.run(["compare", &again, &later]).expect(0).out;
    assert!(text.contains("What got slower"), "{text}");

    // As the earlier result measured it, too.
    let compared = bench.run(["compare", &earlier, &later, "--json"]).expect(0);
    is_the_quota(&compared.document("compare"), &id);
    // What is held against itself has not changed.
    let itself = ["--against", &later, "--as-measured", "--json"];
    let resumed = bench.run(["run", "--resume", &later].iter().chain(&itself));
    let same = resumed.expect(0).document("compare");
    assert_eq!(same["slower"].as_array().unwrap().len(), 0, "{same:#}");
    // Nothing is run that could not be compared, and nothing that went well.
    assert_eq!(results(&bench).len(), 2);
}

fn is_the_quota(document: &Value, id: &str) {
    let slower = &document["slower"][0];
    assert_eq!(slower["candidate"], format!("{id} (after)"), "{document:#}");
    assert_eq!(slower["chain"], "image_to_brake");
    assert_eq!(slower["parts"][0]["part"], "wait", "{slower:#}");
    let callback = &slower["callbacks"][0];
    assert_eq!(callback["callback"], "detector/on_image", "{slower:#}");
    assert_eq!(callback["service"], "perception");
    let grown = |time: &str| callback[time]["difference_ns"].as_f64().unwrap();
    // It waited for its quota, and did not work more.
    assert!(grown("cpu") < grown("wall"), "{callback:#}");
}

/// The control under an engine, where it is there.
fn under(engine: &str) {
    if engines_missing(&[engine]) {
        return;
    }
    control(match engine {
        // Its other forms have no groups to limit.
        "bare" => "bare:grouped",
        other => other,
    });
}

/// The control under every engine that has quotas: a new one is a word in the list.
mod a_quota_is_found_under {
    macro_rules! every {
        ($($engine:ident),*) => {$(
            #[test]
            #[ignore = "more than a minute for each engine"]
            fn $engine() {
                super::under(stringify!($engine));
            }
        )*};
    }
    every!(bare, oci, nspawn, lxc, docker, podman, cri, lxd);
}

/// The stack of the shared result, on two of its places.
fn again<'a>(stack: &'a str, earlier: &'a str) -> Vec<&'a str> {
    let places = ["latency", stack, "--place", "bare:flat,bare:grouped"];
    let how = ["--partition", "modules", "--blocks", "2", "--window", "1s"];
    let with = ["--callback-cpu", "--against", earlier, "--as-measured"];
    let all = places.into_iter().chain(how).chain(AT_ONCE);
    all.chain(with).collect()
}

#[test]
fn the_same_experiment_again_is_no_regression() {
    let Some(earlier) = shared() else { return };
    let (stack, earlier) = (fixture("tiny.yaml"), earlier.dir.to_str().unwrap());
    let stack = stack.to_str().unwrap();
    let Some((bench, ended)) = undisturbed(|bench| bench.run(again(stack, earlier))) else {
        return;
    };
    let ended = ended.expect(0);
    let name = Path::new(earlier).file_name().unwrap().to_str().unwrap();
    assert!(
        ended.out.contains(&format!("Against {name}")),
        "{}",
        ended.out
    );
    let later = new_result(&bench, &[]);
    let kept = Results::open(&later).unwrap().against().unwrap().unwrap();
    assert_eq!(kept.against.unwrap().result, name);
    let primary = kept.comparisons.iter().filter(|c| c.primary);
    let primary: Vec<_> = primary.map(|c| (&*c.candidate, c.blocks)).collect();
    assert_eq!(primary, [("bare-grouped.modules (after)", 2)]);
    // Two blocks are too few for a verdict, which can be made an error.
    let resume = [
        "latency",
        "--resume",
        &later,
        "--against",
        earlier,
        "--as-measured",
        "--require-verdict",
    ];
    bench.run(resume).expect(7);
}

/// It is bad input, and nothing was run.
fn is_refused(bench: &Bench, arguments: &[&str], told: &str) {
    let ended = bench.run(arguments).expect(3);
    assert!(ended.err.contains(told), "{told}: {}", ended.err);
    assert!(!ended.err.contains(" · run "), "{}", ended.err);
    assert_eq!(results(bench), Vec::<PathBuf>::new());
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_run() {
    let Some(earlier) = shared() else { return };
    let bench = Bench::new();
    let _turn = turn();
    let (stack, dir) = (fixture("tiny.yaml"), earlier.dir.to_str().unwrap());
    let stack = stack.to_str().unwrap();
    let refused = |arguments: &[&str], told: &str| is_refused(&bench, arguments, told);
    refused(&again("hello", dir), "different stacks: tiny (");
    refused(&again(stack, "nothing"), "nothing");
    let other = |from: &str, to: &str| -> Vec<String> {
        let all = again(stack, dir).into_iter();
        all.map(|a| {
            if a == from {
                to.to_owned()
            } else {
                a.to_owned()
            }
        })
        .collect()
    };
    for (from, to, told) in [
        ("1s", "2s", "differ in the window: 1 s and 2 s"),
        (
            "modules",
            "single",
            "does not have the reference of the earlier one, 'bare-flat.modules'",
        ),
        (
            "bare:flat,bare:grouped",
            "bare:flat",
            "only their reference, bare:flat · modules, in common",
        ),
    ] {
        let arguments = other(from, to);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        refused(&arguments, told);
    }
    let elsewhere = of_another_machine(&bench, &earlier.dir);
    refused(&again(stack, &elsewhere), "different machines: elsewhere (");
}

/// The phases that a result's timers had, by timer and block.
fn phases(result: &Results) -> BTreeMap<(String, u32), i64> {
    let rows = result.callbacks().unwrap();
    let timers = rows.iter().filter_map(|row| {
        let node = row.node.as_ref()?;
        let timer = format!("{node}/{} on {}", row.callback, row.deployment);
        Some(((timer, row.block), row.phase_ns?))
    });
    timers.collect()
}

#[test]
fn what_an_earlier_result_deployed_is_measured_again_in_the_same_blocks() {
    let Some(earlier) = shared() else { return };
    let (stack, dir) = (fixture("tiny.yaml"), earlier.dir.to_str().unwrap());
    let name = earlier.dir.file_name().unwrap().to_str().unwrap();
    let stack = stack.to_str().unwrap();
    let arguments = again(stack, dir);
    let arguments: Vec<&str> = arguments
        .into_iter()
        .filter(|argument| *argument != "--as-measured")
        .collect();
    let Some((bench, ended)) = undisturbed(|bench| bench.run(&arguments)) else {
        return;
    };
    let ended = ended.expect(0);
    for told in ["run 4/4", "bare:grouped · modules (before)"] {
        assert!(ended.err.contains(told), "{told}: {}", ended.err);
    }
    assert!(ended.out.contains("measured again in the same blocks"));
    let later = new_result(&bench, &[]);
    let (after, before) = (
        Results::open(&later).unwrap(),
        Results::open(format!("{later}/before")).unwrap(),
    );
    assert_eq!(after.experiment.against.as_ref().unwrap().result, name);
    // One schedule of both: every place in the order of a block is taken once, by one of them.
    let places = |results: &Results| {
        let runs = results.runs.iter();
        runs.map(|r| (r.block, r.order, r.run)).collect::<Vec<_>>()
    };
    let mut all = [places(&after), places(&before)].concat();
    all.sort_unstable();
    let expected: Vec<(u32, u32, u32)> = (0..8).map(|i| (i / 4 + 1, i % 4 + 1, i + 1)).collect();
    assert_eq!(all, expected);
    // With the same phases in a block.
    let (now, then) = (phases(&after), phases(&before));
    assert!(!now.is_empty());
    for (timer, phase) in &now {
        let apart = phase - then[timer];
        assert!(apart.abs() < 100_000, "{timer:?}: {apart} ns");
    }
    let kept = after.against().unwrap().unwrap();
    let primary = kept.comparisons.iter().filter(|c| c.primary);
    let primary: Vec<_> = primary.map(|c| (&*c.candidate, c.blocks)).collect();
    assert_eq!(
        primary,
        [
            ("bare-flat.modules (after)", 2),
            ("bare-grouped.modules (after)", 2)
        ]
    );

    // Going on with it measures nothing again that is there, and judges as before.
    std::fs::remove_file(format!("{later}/against.json")).unwrap();
    let resumed = bench.run(["latency", "--resume", &later]).expect(0);
    assert!(!resumed.err.contains(" · run "), "{}", resumed.err);
    assert_eq!(after.against().unwrap().unwrap(), kept);
    let other = bench.run(["latency", "--resume", &later, "--against", &later]);
    let told = other.expect(3).err;
    assert!(told.contains("was begun without measuring"), "{told}");
}

#[test]
fn what_cannot_be_measured_again_is_refused_before_anything_is_run() {
    let Some(earlier) = shared() else { return };
    let bench = Bench::new();
    let _turn = turn();
    let dir = earlier.dir.to_str().unwrap();
    let name = earlier.dir.file_name().unwrap().to_str().unwrap();
    let stack = fixture("tiny.yaml");
    let stack = stack.to_str().unwrap();
    let refused = |arguments: &[&str], told: &str| is_refused(&bench, arguments, told);
    let with = ["--window", "1s", "--against", dir];
    let piloted = [&["latency", stack, "--pilot"], &with[..]].concat();
    refused(&piloted, "a pilot fixes");
    let elsewhere = ["latency", stack, "--place", "oci", "--partition", "single"];
    let told = format!(
        "{name} cannot be measured again beside this experiment: they have no deployment in common"
    );
    refused(&[&elsewhere, &with[..]].concat(), &told);
    // A result that does not say what it was asked can still be taken as it was measured.
    let copy = of_another_machine(&bench, &earlier.dir);
    let unknown = ["latency", stack, "--window", "1s", "--against", &copy];
    refused(&unknown, "--as-measured needs nothing but the figures");
}

/// The result as if another machine had measured it.
fn of_another_machine(bench: &Bench, result: &Path) -> String {
    let copy = bench.path().join("elsewhere");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(result.join("runs.parquet"), copy.join("runs.parquet")).unwrap();
    let text = std::fs::read_to_string(result.join("experiment.json")).unwrap();
    let mut experiment: Value = serde_json::from_str(&text).unwrap();
    experiment["machine"]["host"] = "elsewhere".into();
    std::fs::write(copy.join("experiment.json"), experiment.to_string()).unwrap();
    copy.to_str().unwrap().to_owned()
}
