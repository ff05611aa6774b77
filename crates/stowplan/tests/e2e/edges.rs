//! How messages travelled, as the trace of a real run has it, against the plan.

use std::collections::BTreeSet;

use stowplan_results::Results;

use crate::measured::only_result;
use crate::one_at_a_time::turn;
use crate::support::{Bench, engines_missing};

/// By pointer and through DDS inside the process `box`, and from it to others, by a topic that cannot leave by pointer too.
const STACK: &str = "
name: every-way
qos: { reliability: reliable, depth: 1 }
topics: { /pointer: { bytes: 64B, intra_process: true }, /inside: 64B, /out: 64B }
processes:
  box: { component_container: true }
modules:
  one:
    process: box
    nodes:
      source: { timer: 20Hz, publishes: [/pointer, /inside, /out] }
      near: { subscribes: /pointer }
      beside: { subscribes: /inside }
  two:
    nodes:
      far: { subscribes: /out }
      farther: { subscribes: /pointer }
";

#[test]
fn messages_travel_as_planned() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = turn();
    bench.write("stack.yaml", STACK);
    let experiment = "name: edges\nstack: stack.yaml\nplaces: ['bare:flat', oci]\npartitions: [single, modules]\n\
                      blocks: 1\nwarm_up: 200ms\nwindow: 1s\n";
    let file = bench.write("edges.yaml", experiment);
    let file = file.to_str().unwrap();
    bench.run(["run", file, "--settle", "0s"]).expect(0);
    let results = Results::open(only_result(&bench)).unwrap();
    let all = results.losses().unwrap();
    let traced = |deployment: &str| -> BTreeSet<(String, String)> {
        let own = all.iter().filter(|row| *row.deployment == *deployment);
        let edges = own.map(|row| {
            let class = row.edge_class.as_ref();
            let class = class.map_or_else(String::new, ToString::to_string);
            (row.subscriber.to_string(), class)
        });
        edges.collect()
    };
    let expected: BTreeSet<(String, String)> = {
        let all = [
            ("near", "intra_process"),
            ("beside", "same_process"),
            ("far", "loopback"),
            ("farther", "loopback"),
        ];
        all.map(|(to, class)| (to.to_owned(), class.to_owned()))
            .into()
    };
    for deployment in &results.experiment.deployments {
        assert_eq!(traced(&deployment.id), expected);
        let classes: BTreeSet<String> = traced(&deployment.id).into_iter().map(|e| e.1).collect();
        let planned: BTreeSet<String> = deployment.edges_by_class.keys().cloned().collect();
        assert_eq!(classes, planned, "{}", deployment.id);
    }
    for run in &results.runs {
        assert!(
            !run.warnings.iter().any(|w| w.contains("another way")),
            "{run:?}"
        );
    }
}
