//! An ablation, really run: each deployment has exactly the isolation that it stands for.

use std::collections::BTreeMap;

use serde_json::Value;
use stowplan_results::{DeploymentRecord, Results, RunStatus};

use crate::measured::only_result;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, assert_valid, engines_missing, root};

const EXPERIMENT: &str = "
name: ablation-of-hello
stack: hello
partitions: [modules]
ablation: true
blocks: 1
warm_up: 1s
window: 2s
";

/// Id of every deployment, with what it adds to the one before.
const LADDER: [(&str, &str); 10] = [
    ("bare-flat.modules", ""),
    ("bare-grouped.modules", "group_scheduling"),
    ("oci.modules.no-isolation", "runtime"),
    ("oci.modules.up-to-uts", "uts"),
    ("oci.modules.up-to-ipc", "ipc"),
    ("oci.modules.up-to-mount", "mount"),
    ("oci.modules.up-to-pid", "pid"),
    ("oci.modules.up-to-overlay", "overlay"),
    ("oci.modules.up-to-capabilities", "capabilities"),
    ("oci.modules", "seccomp"),
];

/// Features that the deployments up to number `at` have added.
fn added(at: usize) -> Vec<&'static str> {
    LADDER[..=at].iter().map(|(_, adds)| *adds).collect()
}

/// What a fingerprint says, next to that of plain processes, of every feature that an ablation adds by default.
fn isolation(plain: &DeploymentRecord, own: &DeploymentRecord) -> BTreeMap<&'static str, bool> {
    let of = |d: &DeploymentRecord, key: &str| d.fingerprint[key].clone();
    let apart = |key: &str| of(plain, key) != of(own, key);
    BTreeMap::from([
        ("uts", apart("ns.uts")),
        ("ipc", apart("ns.ipc")),
        ("mount", apart("ns.mnt")),
        ("pid", apart("ns.pid")),
        ("overlay", of(own, "root.mount").starts_with("overlay ")),
        ("capabilities", of(own, "no_new_privs") == "1"),
        ("seccomp", of(own, "seccomp.mode") == "2"),
        ("net", apart("ns.net")),
        ("user", apart("ns.user")),
        ("read_only_root", of(own, "root.mount").ends_with(" ro")),
    ])
}

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn every_step_has_what_it_adds_and_nothing_more() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let file = bench.write("ablation.yaml", EXPERIMENT);
    let run = bench.run(["run", file.to_str().unwrap(), "--settle", "0s", "--json"]);
    let document = run.expect(0).document("compare");
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    assert_eq!(results.runs.len(), LADDER.len());
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
    }
    let experiment = &results.experiment;
    let listed = experiment.ablation.iter();
    let listed: Vec<_> = listed
        .map(|s| (&*s.deployment, s.adds.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(listed, LADDER);
    let plain = experiment.deployment(LADDER[0].0).unwrap();
    for (at, (id, _)) in LADDER.iter().enumerate() {
        let own = experiment.deployment(id).unwrap();
        for (feature, is) in isolation(plain, own) {
            assert_eq!(
                is,
                added(at).contains(&feature),
                "{feature} of {id}: {own:#?}"
            );
        }
        if at > 1 {
            for (feature, asked) in &own.isolation {
                let expected = feature == "cgroup" || added(at).contains(&&**feature);
                assert_eq!(*asked, expected, "{feature} of {id}");
            }
        }
    }
    attributed(&document);
    let saved = std::fs::read_to_string(dir.join("comparisons.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(saved, document);
    assert_valid(
        &root().join("crates/stowplan-results/schema/experiment.json"),
        &serde_json::from_str(&std::fs::read_to_string(dir.join("experiment.json")).unwrap())
            .unwrap(),
    );
    let text = bench.run(["report", dir.to_str().unwrap(), "--form", "text"]);
    let text = text.expect(0).out;
    for words in ["Ablation: what each addition does", "+ PID namespace"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(!text.contains("isolation feature '"), "{text}");
}

/// The document attributes each difference to the steps, which add up, and says what was read back.
fn attributed(document: &Value) {
    let ablations = document["ablations"].as_array().unwrap();
    let metrics = ablations.iter().map(|a| a["whole"]["metric"].as_str());
    assert!(metrics.into_iter().any(|m| m == Some("e2e_paper_mean")));
    for ablation in ablations {
        let steps = ablation["steps"].as_array().unwrap();
        let whole = ablation["whole"]["difference"].as_f64().unwrap();
        let whole = match ablation["whole"]["relative"].as_bool() {
            Some(true) => whole.ln_1p(),
            _ => whole,
        };
        let sum: f64 = steps.iter().map(|s| s["addend"].as_f64().unwrap()).sum();
        assert!((sum - whole).abs() < 1e-9, "{ablation:#}");
        for ((at, step), (id, adds)) in (1..).zip(steps).zip(&LADDER[1..]) {
            let c = &step["comparison"];
            assert_eq!(
                (step["adds"].as_str(), c["candidate"].as_str()),
                (Some(*adds), Some(*id))
            );
            assert_eq!(c["reference"].as_str(), Some(LADDER[at - 1].0));
            assert_eq!(c["verdict"], "inconclusive", "one block carries none");
            let found = step["isolation_found"].as_object().unwrap();
            for (feature, is) in found.iter().filter(|(feature, _)| *feature != "cgroup") {
                assert_eq!(is, added(at).contains(&&**feature), "{feature} of {id}");
            }
        }
    }
}

#[test]
fn an_ablation_needs_one_partition() {
    let bench = Bench::new();
    let text = EXPERIMENT.replace("[modules]", "[single, modules]");
    let file = bench.write("two.yaml", &text);
    let refused = bench.run(["run", file.to_str().unwrap()]).expect(3);
    assert!(
        refused.err.contains("an ablation has one partition"),
        "{}",
        refused.err
    );
    let partitions = [
        "latency",
        "hello",
        "--ablation",
        "--partition",
        "single,modules",
    ];
    let refused = bench.run(partitions).expect(3);
    assert!(
        refused.err.contains("not single and modules"),
        "{}",
        refused.err
    );
}
