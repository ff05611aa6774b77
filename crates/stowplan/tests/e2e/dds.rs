//! The configuration of DDS: what it asks for is what the kernel has, and each profile works.

use stowplan_host::network;
use stowplan_results::Results;
use stowplan_testkit::skip;

use crate::measured::{latency_of_tiny, only_result, shared};
use crate::support::{Bench, engines_missing};

/// Receive buffers that profiles ask for, in bytes; CycloneDDS asks for 1 MiB where nobody says.
const ASKED: [(&str, u64); 3] = [
    ("autoware", 10_000_000),
    ("rmw-humble", 1 << 20),
    ("rmw-jazzy", 1 << 20),
];

fn has_multicast() -> bool {
    network::may_have_own() || network::loopback_has_multicast().unwrap()
}

/// What the kernel gives who asks for so many bytes, as it tells it: at most `net.core.rmem_max`, twice (socket(7)).
fn given(asked: u64) -> String {
    let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    (2 * asked.min(most.trim().parse().unwrap())).to_string()
}

#[test]
fn what_the_kernel_made_of_the_configuration_is_read_back() {
    let Some(shared) = shared() else { return };
    for deployment in Results::open(&shared.dir).unwrap().experiment.deployments {
        let found = &deployment.fingerprint;
        let buffers = &found["dds.receive_buffer_bytes"];
        let wanted = given(10 << 20);
        assert!(
            buffers.split(' ').any(|one| one == wanted),
            "{buffers}, not {wanted}"
        );
        for thread in ["gc", "recv", "tev"] {
            let threads = &found["dds.threads"];
            assert!(threads.split(' ').any(|one| one == thread), "{threads}");
        }
        let (groups, index) = (
            &found["dds.multicast_groups"],
            &found["dds.participant_index"],
        );
        if has_multicast() {
            assert_eq!((&**groups, &**index), ("239.255.0.1", "none"));
        } else {
            assert_eq!(groups, "none");
            assert!(index.ends_with("different values"), "{index}");
        }
    }
}

#[test]
fn each_profile_is_what_its_processes_have() {
    if engines_missing(&["bare"]) {
        return;
    }
    if !has_multicast() {
        return skip!("no multicast on the loopback, and no network of one's own");
    }
    for (profile, asked) in ASKED {
        let bench = Bench::new();
        let latency = latency_of_tiny("bare:flat", 1, "500ms", &["--dds", profile]);
        bench.run(latency).expect(0);
        let results = Results::open(only_result(&bench)).unwrap();
        let experiment = &results.experiment;
        assert_eq!(experiment.parameters["dds_profile"], profile);
        let found = &experiment.deployments[0].fingerprint;
        let buffers = &found["dds.receive_buffer_bytes"];
        let wanted = given(asked);
        assert!(
            buffers.split(' ').any(|one| one == wanted),
            "{profile}: {buffers}, not {wanted}"
        );
        let groups = &found["dds.multicast_groups"];
        assert!(
            groups.split(' ').any(|one| one == "239.255.0.1"),
            "{profile}: {groups}"
        );
        let index = &found["dds.participant_index"];
        let indexed = index.ends_with("different values");
        assert_eq!(indexed, profile == "rmw-jazzy", "{profile}: {index}");
        let rows = results.latency().unwrap();
        assert!(
            rows.iter().any(|row| row.e2e_paper_ns.is_some()),
            "{profile}: nothing came"
        );
    }
}

#[test]
fn a_profile_that_cannot_address_all_participants_is_refused() {
    let bench = Bench::new();
    let plan = [
        "plan",
        "autoware-humble",
        "--partition",
        "betz-8",
        "--dds",
        "rmw-jazzy",
    ];
    let told = bench.run(plan).expect(0).out;
    assert!(told.contains("at most 33 find each other"), "{told}");
    let unknown = bench.run(["plan", "hello", "--dds", "rmw"]).expect(2);
    assert!(unknown.err.contains("rmw-humble"), "{}", unknown.err);
}
