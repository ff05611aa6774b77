//! Planning 1,000 nodes in 100 services: under 100 ms is the aim.

#[path = "../tests/it/common/mod.rs"]
mod common;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use stowplan_model::{Stack, WorkSpeed};
use stowplan_plan::{Choice, MachineFacts, PlanOptions, Preset, check, partition, plan};

/// 100 modules of 10 nodes; each node listens to the one before it, to one of the next module,
/// and to a topic that all share.
fn thousand() -> Stack {
    let mut topics = vec![common::topic("/tf", false)];
    let mut nodes = Vec::new();
    let mut processes = Vec::new();
    for i in 0..1000 {
        let (module, process) = (format!("module{}", i / 10), format!("process{}", i / 5));
        let own = format!("/t{i}");
        let callbacks = if i % 10 == 0 {
            vec![common::timer(100, &[&own, "/tf"]), common::on("/tf", &[])]
        } else {
            let before = format!("/t{}", i - 1);
            let far = format!("/t{}", (i / 10 + 1) % 100 * 10);
            vec![
                common::on(&before, &[&own]),
                common::on(&far, &[]),
                common::on("/tf", &[]),
            ]
        };
        topics.push(common::topic(&own, i % 2 == 0));
        nodes.push(common::node(
            &format!("node{i}"),
            &module,
            &process,
            callbacks,
        ));
        if i % 5 == 0 {
            processes.push(common::process(&process));
        }
    }
    common::stack(topics, processes, nodes)
}

fn bench(criterion: &mut Criterion) {
    let stack = thousand();
    let machine = MachineFacts {
        cpus: 2,
        speed: Some(WorkSpeed::everywhere(1.0)),
        memory_bytes: None,
        multicast: true,
    };
    criterion.bench_function("check and plan 1,000 nodes in 100 services", |bencher| {
        bencher.iter(|| {
            let findings = check(black_box(&stack));
            let modules = partition(&stack, &Choice::Preset(Preset::Modules))
                .expect("presets fit every stack");
            let plan = plan(&stack, &modules, &machine, &PlanOptions::default())
                .expect("the partition is of this stack");
            (findings, plan)
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
