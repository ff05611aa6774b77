//! Assumed parameters that have other values in every block, really run.

use serde_json::Value;
use stowplan_results::{Results, RunStatus};

use crate::measured::only_result;
use crate::support::{Bench, assert_valid, engines_missing, root};
use crate::undisturbed::undisturbed;

const BLOCKS: u32 = 3;

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn every_block_has_values_of_its_own_that_all_its_deployments_share() {
    if engines_missing(&["bare"]) {
        return;
    }
    let text = format!(
        "name: ranges\nstack: hello\nplaces: [bare:flat]\npartitions: [single, modules]\nsensitivity: true\n\
         blocks: {BLOCKS}\nwarm_up: 200ms\nwindow: 2s\n"
    );
    let measured = undisturbed(|bench| {
        let file = bench.write("ranges.yaml", &text);
        bench.run(["run", file.to_str().unwrap(), "--settle", "0s", "--json"])
    });
    let Some((bench, run)) = measured else { return };
    let document = run.expect(0).document("compare");
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    assert_eq!(results.runs.len(), 2 * BLOCKS as usize);
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
    }
    let record = results.experiment.sensitivity.clone().unwrap();
    assert_eq!(
        record.not_varied,
        ["launch.read", "libs.ros.size", "libs.lidar.size"]
    );
    let of = |path: &str| -> Vec<f64> { record.blocks.values().map(|v| v[path]).collect() };
    // The stack says nothing of serialising: from nothing to 1,000 iterations a KiB.
    let serialising = of("serialisation.kib");
    assert!(serialising.iter().all(|kib| (0.0..=1000.0).contains(kib)));
    sends_longer_with_dearer_serialising(&results, &serialising);
    // 500k to 20M in the file, cut into three parts of equal ratio.
    let mut work = of("kinds.work.cloud.iterations");
    work.sort_by(f64::total_cmp);
    for (part, value) in (0..).zip(&work) {
        let edge = |part: i32| 500e3 * 40_f64.powf(f64::from(part) / 3.0);
        assert!((edge(part)..=edge(part + 1)).contains(value), "{work:?}");
    }
    computes_longer_with_more_work(&results, &of("kinds.work.cloud.iterations"));

    let ranking = &document["rankings"][0];
    assert_eq!(ranking["metric"], "e2e_paper_mean");
    assert_eq!(ranking["blocks"], BLOCKS);
    let pair = &ranking["pairs"][0];
    assert_eq!(pair["survived"], ranking["survived"], "two have one pair");
    let saved = std::fs::read_to_string(dir.join("experiment.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    assert_valid(
        &root().join("crates/stowplan-results/schema/experiment.json"),
        &saved,
    );
    let text = bench.run(["report", dir.to_str().unwrap(), "--form", "text"]);
    let text = text.expect(0).out;
    assert!(
        text.contains("Sensitivity: does the ranking survive?"),
        "{text}"
    );
}

/// The values really reach the nodes: of two blocks the one with more iterations computes longer, everywhere. They
/// differ by at least a factor of three.
fn computes_longer_with_more_work(results: &Results, work: &[f64]) {
    let rows = results.latency().unwrap();
    let computation = |deployment: &str, block: u32| {
        let of_block = rows
            .iter()
            .filter(|r| r.block == block && &*r.deployment == deployment);
        let values: Vec<i64> = of_block.filter_map(|r| r.computation_ns).collect();
        values.iter().sum::<i64>() as f64 / values.len() as f64
    };
    let at = |value: f64| (1..).zip(work).find(|(_, w)| **w == value).unwrap().0;
    let least = at(work.iter().copied().fold(f64::INFINITY, f64::min));
    let most = at(work.iter().copied().fold(0.0, f64::max));
    for deployment in ["bare-flat.single", "bare-flat.modules"] {
        let (low, high) = (
            computation(deployment, least),
            computation(deployment, most),
        );
        assert!(
            high > low,
            "{deployment}: {low} ns, {high} ns with {work:?}"
        );
    }
}

/// Likewise of the block with the dearest serialising: a filtered cloud is 16 KiB on its way to the next process.
fn sends_longer_with_dearer_serialising(results: &Results, kib: &[f64]) {
    let rows = results.latency().unwrap();
    let least_send = |block: u32| {
        let of_block = rows.iter().filter(|r| r.block == block);
        of_block.filter_map(|r| r.send_ns).min().unwrap()
    };
    let at = |value: f64| (1..).zip(kib).find(|(_, k)| **k == value).unwrap().0;
    let least = at(kib.iter().copied().fold(f64::INFINITY, f64::min));
    let most = at(kib.iter().copied().fold(0.0, f64::max));
    assert!(
        least_send(most) > least_send(least),
        "{} ns, {} ns with {kib:?}",
        least_send(least),
        least_send(most)
    );
}

#[test]
fn a_stack_that_assumes_nothing_has_nothing_to_vary() {
    let bench = Bench::new();
    let tiny = crate::support::fixture("tiny.yaml");
    let refused = bench.run(["latency", tiny.to_str().unwrap(), "--sensitivity"]);
    let refused = refused.expect(3);
    assert!(
        refused.err.contains("assumes no parameter"),
        "{}",
        refused.err
    );
}
