//! The suite of faults on the Kubernetes of tests, whose API server it kills. Needs that to run, and root.

use stowplan_engine_conformance::{Faults, faults};
use stowplan_engine_kube::{KubeEngine, remove};
use stowplan_testkit::{KubeLab, ShellRoot};

/// The only test of this program: the engine finds the cluster by the environment.
#[test]
#[ignore = "long: script/test --full, and .ci/run where the engine was touched"]
fn nothing_is_left_and_nothing_of_the_users_is_touched() {
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let Some(lab) = KubeLab::running() else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { lab.use_here() };
    let report = faults(Faults {
        daemon: Box::new(lab),
        name: "Kubernetes",
        make: &|agent, network_of| Box::new(KubeEngine::new(agent, network_of)),
        remove: &remove,
        root: &root,
    });
    // Those of a user are in other namespaces.
    let others = ["faults.name-taken unsupported(names of users)"];
    assert_eq!(report.others(), others);
}
