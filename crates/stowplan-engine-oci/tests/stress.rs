//! Many services at once, again and again, under the real agent, while 64 threads of its caller allocate: what hangs or
//! fails when libcontainer is called in a process with threads. Needs root.
//!
//! `STOWPLAN_STRESS_ROUNDS` sets the number of rounds; the long test run asks for 50.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use stowplan_engine::Engine;
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_site::Site as _;
use stowplan_testkit::{agent_program, command_plan, is_root, private_state};
use stowplan_wire::deployment::{IsolationPlan, Select};

const SERVICES: usize = 26;
const THREADS: usize = 64;

#[test]
fn services_start_while_the_caller_allocates() {
    if !is_root("make containers") {
        return;
    }
    let rounds = std::env::var("STOWPLAN_STRESS_ROUNDS").map_or(2, |text| text.parse().unwrap());
    let program = agent_program();
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let enough = &enough;
            scope.spawn(move || allocate(seed, enough));
        }
        // The threads end whatever becomes of the rounds.
        let result = std::panic::catch_unwind(|| start_rounds(program, rounds));
        enough.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}

fn start_rounds(program: &std::path::Path, rounds: usize) {
    let state = private_state().as_os_str();
    let host = AgentHost::spawn_with(program, &[("STOWPLAN_STATE", state)]).unwrap();
    let engine = RemoteEngine::new(&host, "oci").unwrap();
    let names: Vec<String> = (0..SERVICES).map(|number| format!("s{number}")).collect();
    let command: &[&str] = &["sleep", "1000"];
    let commands: Vec<(&str, &[&str])> =
        names.iter().map(|name| (name.as_str(), command)).collect();
    for round in 0..rounds {
        let run = format!("stress-{}-{round}", std::process::id());
        let folder = host.open_run(&run, vec![], String::new(), 0).unwrap();
        let mut plan = command_plan(&run, &folder, None, &commands);
        plan.isolation = IsolationPlan::CONTAINER;
        let mut deployment = engine.prepare(&plan, host.clone()).unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        let locators = deployment.locators().unwrap();
        let pids: BTreeSet<u32> = locators.iter().map(|locator| locator.pid).collect();
        assert_eq!(pids.len(), SERVICES, "round {round}");
        for locator in &locators {
            assert!(
                stowplan_host::process::is_alive(locator.pid, locator.start_ticks),
                "round {round}: {}",
                locator.service
            );
        }
        deployment.destroy().unwrap();
        host.close_run().unwrap();
    }
}

/// Keeps the allocator's locks busy until it is enough.
fn allocate(seed: usize, enough: &AtomicBool) {
    let mut size = seed + 1;
    while !enough.load(Ordering::Relaxed) {
        let blocks: Vec<Vec<u8>> = (0..64)
            .map(|n| vec![0; (size * (n + 1)) % 8_192 + 1])
            .collect();
        black_box(&blocks);
        size = size % 1_000 + 7;
        drop(blocks);
        // Leaves the machine's CPUs to the services now and then.
        std::thread::yield_now();
    }
}
