//! Services with networks of their own.

use stowplan_model::Stack;
use stowplan_plan::{EdgeClass, PlanOptions, Preset};

use crate::common::{node, process, stack, timer, topic};
use crate::plan::{flow, planned, preset, real, three};

#[test]
fn a_network_namespace_of_its_own_is_another_class() {
    let stack = three();
    let options = PlanOptions {
        own_network: true,
        ..PlanOptions::default()
    };
    let plan = planned(&stack, &preset(&stack, Preset::Modules), &options);
    assert_eq!(
        plan.edges_by_class[1],
        (EdgeClass::OtherNamespace, flow(2, 20.0, 2000.0))
    );
    assert_eq!(plan.crossings[0].from, "m");
    assert_eq!(plan.crossings[0].to, "n");
    let [refusal] = &plan.refusals[..] else {
        panic!("{:?}", plan.refusals)
    };
    let told = "service 'm' publishes /x and 'n' subscribes to it";
    assert!(refusal.starts_with(told), "{refusal}");
    let single = planned(&stack, &preset(&stack, Preset::Single), &options);
    assert_eq!(single.refusals, Vec::<String>::new());
}

#[test]
fn what_carries_nothing_and_real_programs_do_not_find_each_other_either() {
    let alone = PlanOptions {
        own_network: true,
        ..PlanOptions::default()
    };
    let refused = |stack: &Stack, wanted: Preset| {
        let plan = planned(stack, &preset(stack, wanted), &alone);
        plan.refusals
    };
    let mut silent = stack(
        vec![topic("/x", true)],
        vec![process("p"), process("q")],
        vec![
            node("a", "m", "p", vec![timer(100, &["/x"])]),
            node("c", "n", "q", vec![]),
        ],
    );
    assert_eq!(refused(&silent, Preset::Modules), Vec::<String>::new());
    silent.nodes[1].silent.subscriptions.push("/x".to_owned());
    assert_eq!(refused(&silent, Preset::Modules).len(), 1);
    assert_eq!(refused(&silent, Preset::Single), Vec::<String>::new());

    let mut beside = silent.clone();
    beside.services = vec![real("camera", &["/x"])];
    let told = refused(&beside, Preset::Single);
    let expected = "service 'camera' publishes /x and 'all' subscribes to it";
    assert!(told[0].starts_with(expected), "{told:?}");
}
