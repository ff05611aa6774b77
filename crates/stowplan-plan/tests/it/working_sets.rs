//! Callbacks whose working sets do not fit into the first-level cache.

use crate::common::{node, on, process, stack, timer, topic};
use stowplan_model::{FIRST_LEVEL_BYTES, Stack, WorkSpeed};
use stowplan_plan::{Choice, MachineFacts, PlanOptions, Preset, partition, plan};

/// Three callbacks of 1,000 iterations 10 times a second, each in a module of its own, with these working sets.
fn with(working_sets: [u64; 3]) -> Stack {
    let mut stack = stack(
        vec![topic("/x", false), topic("/y", false)],
        vec![process("p"), process("q"), process("r")],
        vec![
            node("a", "one", "p", vec![timer(100, &["/x"])]),
            node("b", "two", "q", vec![on("/x", &["/y"])]),
            node("c", "three", "r", vec![on("/y", &[])]),
        ],
    );
    for (node, bytes) in stack.nodes.iter_mut().zip(working_sets) {
        node.callbacks[0].work.working_set_bytes = bytes;
    }
    stack
}

#[test]
fn sizes_to_measure_are_the_largest_of_each_power_of_two() {
    let base = FIRST_LEVEL_BYTES;
    for (sets, sizes) in [
        ([0, 4096, base], vec![base]),
        ([base + 1, 40_000, 30_000], vec![base, 30_000, 40_000]),
        ([40_000, 65_536, 65_537], vec![base, 65_536, 65_537]),
        ([1 << 40, 4096, 1 << 20], vec![base, 1 << 20, 64 << 20]),
    ] {
        assert_eq!(WorkSpeed::sizes(&with(sets)), sizes, "{sets:?}");
    }
    // What does nothing takes no time.
    let mut idle = with([1 << 20, 4096, 4096]);
    idle.nodes[0].callbacks[0].work.iterations = stowplan_model::Distribution::Constant(0.0);
    assert_eq!(WorkSpeed::sizes(&idle), [base]);
}

#[test]
fn work_takes_as_long_as_its_working_set_does() {
    let stack = with([4096, 64 << 10, 1 << 20]);
    let machine = MachineFacts {
        cpus: 2,
        speed: Some(WorkSpeed::new(1.0, [(64 << 10, 2.0), (1 << 20, 5.0)])),
        memory_bytes: None,
        multicast: false,
    };
    let modules = partition(&stack, &Choice::Preset(Preset::Modules)).unwrap();
    let planned = |utilisation| {
        let options = PlanOptions {
            utilisation,
            ..PlanOptions::default()
        };
        plan(&stack, &modules, &machine, &options).unwrap()
    };
    // 10,000 iterations a second in each.
    let face = planned(None);
    let close = |found: f64, known: f64| assert!((found - known).abs() < 1e-15, "{found} {known}");
    for (service, cpus) in face.services.iter().zip([10e-6, 20e-6, 50e-6]) {
        close(service.cpus.unwrap(), cpus);
    }
    close(face.utilisation.unwrap(), 80e-6 / 2.0);
    let scaled = planned(Some(0.4));
    let factor = scaled.scaling.as_ref().unwrap().factor;
    assert!((factor / 10_000.0 - 1.0).abs() < 1e-12, "{factor}");
    assert!((scaled.services[2].cpus.unwrap() - 0.5).abs() < 1e-12);
}
