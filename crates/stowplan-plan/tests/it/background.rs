//! What keeps CPUs busy beside the work that has to fit.

use stowplan_model::{Background, Stack, background_service};
use stowplan_plan::{Choice, PlanError, PlanOptions, Preset, Table, TableService, partition};

use crate::common::name;
use crate::plan::{planned, preset, three};

/// Three nodes and a service that keeps CPUs busy.
fn with_neighbours() -> Stack {
    let mut stack = three();
    let (process, node) = background_service(4, name("neighbours"));
    stack.processes.push(process);
    stack.nodes.push(node);
    stack
}

fn services(stack: &Stack, of: Preset) -> Vec<String> {
    let services = preset(stack, of).services.into_iter();
    services.map(|s| s.service.to_string()).collect()
}

#[test]
fn a_background_service_is_one_in_every_partition() {
    let stack = with_neighbours();
    assert_eq!(services(&stack, Preset::Single), ["all", "neighbours"]);
    assert_eq!(services(&stack, Preset::Modules), ["m", "n", "neighbours"]);
    let nodes = ["a", "b", "c", "neighbours"];
    assert_eq!(services(&stack, Preset::Nodes), nodes);
    let table = |service: &str| {
        Choice::Table(Table {
            name: "t".to_owned(),
            description: String::new(),
            services: vec![TableService {
                service: name(service),
                modules: Vec::new(),
                functions: Vec::new(),
                nodes: Vec::new(),
                rest: true,
                note: None,
            }],
            notes: Vec::new(),
        })
    };
    let two = partition(&stack, &table("rest")).unwrap();
    let two: Vec<usize> = two.services.iter().map(|s| s.nodes.len()).collect();
    assert_eq!(two, [3, 1], "the rest is without it");
    let same = partition(&stack, &table("neighbours"));
    assert!(
        matches!(same, Err(PlanError::OwnService { .. })),
        "{same:?}"
    );
}

#[test]
fn background_threads_do_not_have_to_fit() {
    let mut stack = three();
    let without = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    stack.nodes[2].background = Some(Background {
        threads: 64,
        own_service: false,
    });
    let with = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    assert_eq!(with.utilisation, without.utilisation);
    assert_eq!(with.warnings, without.warnings);
    let told = with.notes.last().unwrap();
    assert!(told.contains("window: 64"), "{told}");
}
