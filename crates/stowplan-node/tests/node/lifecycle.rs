//! How services begin and end, in order and otherwise.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use stowplan_measure::collect::{RingFile, collect};
use stowplan_wire::announce::{Announcement, Control};
use stowplan_wire::host::{CALIBRATION_SCHEMA, Calibrations};
use stowplan_wire::service::{CallbackPlan, ChainPlacePlan, ServicePlan};

use crate::common::*;
use crate::exchange::babeltrace;

/// One process that publishes and one that listens.
fn pair(domain: u32) -> ServicePlan {
    let talker = node("talker", vec![timer(0, 10, &[(0, 0, 1)], &[])]);
    let listener = node("listener", vec![subscription(1, 0, 1, &[])]);
    service(
        domain,
        vec![topic("/chatter")],
        vec![
            process("talking", vec![talker]),
            process("listening", vec![listener]),
        ],
    )
}

/// Children of a process, from /proc.
fn children(pid: u32) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace()
        .map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap())
        .collect()
}

/// The message of the first failure, with the process it is about.
fn failure(service: &Service) -> (&Option<String>, &str) {
    let mut said = service.said.iter();
    said.find_map(|said| match said {
        Announcement::Failed { process, message } => Some((process, message.as_str())),
        _ => None,
    })
    .unwrap_or_else(|| panic!("no failure in {:#?}", service.said))
}

#[test]
fn sigterm_ends_everything_in_good_order() {
    let mut service = Service::start(&pair(113));
    service.until(2, |said| matches!(said, Announcement::Matched { .. }));
    let ended = children(service.launcher.id());
    assert_eq!(ended.len(), 2);
    kill_process(Pid::from_child(&service.launcher), Signal::TERM).unwrap();
    assert!(service.wait().success());
    for process in ["talking", "listening"] {
        let (recorded, discarded, ..) = service.counters(process);
        assert!(!recorded.is_empty() && discarded.is_empty());
    }
    for pid in ended {
        assert!(!alive(pid));
    }
}

/// Two sources, a node whose timer uses the newest of both, one that takes what the timer publishes, and one after that.
fn merging(domain: u32) -> ServicePlan {
    let fast = node("fast", vec![timer(0, 10, &[(0, 0, 1)], &[])]);
    let slow = node("slow", vec![timer(1, 300, &[(1, 1, 1)], &[])]);
    let merge = node(
        "merge",
        vec![
            subscription(2, 0, 1, &[]),
            subscription(3, 1, 1, &[]),
            timer(4, 20, &[(2, 2, 1)], &[2, 3]),
        ],
    );
    let end = node("end", vec![subscription(5, 2, 1, &[(3, 3, 1)])]);
    let after = node("after", vec![subscription(6, 3, 1, &[])]);
    let topics = ["/fast", "/slow", "/merged", "/ended"].map(topic);
    service(
        domain,
        topics.to_vec(),
        vec![
            process("sources", vec![fast, slow]),
            process("merging", vec![merge]),
            process("ending", vec![end, after]),
        ],
    )
}

/// Makes these callbacks a chain of the plan.
fn add_chain(plan: &mut ServicePlan, chain: u32, of: &[u32]) {
    let nodes = plan.processes.iter_mut().flat_map(|p| &mut p.nodes);
    for callback in nodes.flat_map(|node| &mut node.callbacks) {
        if let Some(at) = of.iter().position(|id| *id == callback.id) {
            callback.chains.push(ChainPlacePlan {
                chain,
                begins: at == 0,
                ends: at == of.len() - 1,
            });
        }
    }
}

/// Whether it says that the chains which end with a callback have had their outputs.
fn tells_of(callback: u32) -> impl Fn(&Announcement) -> bool {
    move |said| matches!(said, Announcement::ChainsOutput { callback: of } if *of == callback)
}

#[test]
fn a_chain_has_an_output_when_data_has_come_all_along_it() {
    let mut plan = merging(129);
    // The slow source's data is hardly ever the newest.
    add_chain(&mut plan, 0, &[1, 3, 4, 5]);
    let mut service = Service::start(&plan);
    service.until(1, tells_of(5));
    service.tell(&Control::Stop);
    assert!(service.wait().success());
    let told = service.said.iter().filter(|said| tells_of(5)(said));
    assert_eq!(told.count(), 1, "once");
    let (_, _, published, taken) = service.counters("merging");
    assert!(taken[&3] > 0 && published[&2] > 0);
}

#[test]
fn a_chain_that_data_comes_past_has_no_output() {
    let mut plan = merging(130);
    // The timer between the two is none of its callbacks.
    add_chain(&mut plan, 0, &[3, 5]);
    add_chain(&mut plan, 1, &[5, 6]);
    let mut service = Service::start(&plan);
    service.until(1, tells_of(6));
    service.tell(&Control::Stop);
    assert!(service.wait().success());
    assert!(!service.said.iter().any(tells_of(5)));
}

#[test]
fn a_launch_is_ready_before_it_starts_anything_and_ends_with_the_last_node() {
    let mut plan = pair(128);
    for process in &mut plan.processes {
        process.component_container = true;
    }
    let mut service = Service::start(&plan);
    service.until(1, |said| matches!(said, Announcement::Launched { .. }));
    let mut begun = Vec::new();
    let (mut first, mut ready, mut last, mut launched) = (0, 0, 0, 0);
    for said in &service.said {
        match said {
            Announcement::Up {
                process: None,
                first_instruction_ns,
                ..
            } => first = *first_instruction_ns,
            Announcement::LaunchReady { t_ns } => ready = *t_ns,
            Announcement::NodeLoading { t_ns, .. } => begun.push(*t_ns),
            Announcement::NodeLoaded { t_ns, .. } => last = last.max(*t_ns),
            Announcement::Launched { t_ns } => launched = *t_ns,
            _ => {}
        }
    }
    let begins = *begun.iter().min().unwrap();
    let all = [first, ready, begins, last, launched];
    assert!(first > 0 && all.is_sorted(), "{all:?}");
}

/// Whether the process exists and is more than a record of its end.
fn alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn processes_die_with_their_launcher() {
    let mut service = Service::start(&pair(114));
    service.until(2, |said| matches!(said, Announcement::Matched { .. }));
    let orphans = children(service.launcher.id());
    service.launcher.kill().unwrap();
    service.wait();
    let patience = now() + 30_000_000_000;
    while orphans.iter().any(|pid| alive(*pid)) {
        assert!(now() < patience, "{orphans:?} live on");
        std::thread::yield_now();
    }
}

#[test]
fn a_process_that_dies_fails_its_service() {
    let mut service = Service::start(&pair(115));
    service.until(2, |said| matches!(said, Announcement::Matched { .. }));
    kill_process(children(service.launcher.id())[0], Signal::KILL).unwrap();
    assert!(!service.wait().success());
    let (process, message) = failure(&service);
    assert_eq!(process, &None);
    assert_eq!(message, "process 'talking' ended early: signal 9");
    // The other one was ended in good order.
    service.counters("listening");
    // What the dead one recorded can be read.
    let ring = RingFile {
        path: service.path("talking.ring"),
        service: "hello".into(),
        process: "talking".into(),
    };
    let trace = service.path("trace");
    let report = collect(&[ring], &trace).unwrap();
    assert!(!report.processes[0].closed);
    if let Some(events) = babeltrace(&trace) {
        let counted = report.processes[0].recorded["ros2:rmw_publisher_init"];
        assert_eq!(events["ros2:rmw_publisher_init"].len() as u64, counted);
    }
}

#[test]
fn a_node_that_cannot_load_is_named() {
    let mut plan = pair(116);
    plan.processes[1].nodes[0].files[0].path = "missing".into();
    let mut service = Service::start(&plan);
    assert!(!service.wait().success());
    let (process, message) = failure(&service);
    assert_eq!(process.as_deref(), Some("listening"));
    assert!(
        message.starts_with("cannot map start-up file '"),
        "{message}"
    );
    assert!(message.ends_with("files/missing': No such file or directory (os error 2)"));
}

#[test]
fn another_build_is_refused() {
    let mut plan = pair(117);
    plan.build_id = "0.0.0-0".into();
    let mut service = Service::start(&plan);
    assert_eq!(service.wait().code(), Some(1));
    assert!(service.said.is_empty());
}

#[test]
fn without_recording_messages_are_still_counted() {
    let mut plan = pair(118);
    plan.record = false;
    let service = measure(&plan, 100_000_000);
    let (recorded, _, published, _) = service.counters("talking");
    assert!(recorded.is_empty());
    assert!(published[&0] > 0);
}

#[test]
fn what_finds_no_room_is_counted() {
    let mut plan = pair(119);
    let work = |callback: &mut CallbackPlan| callback.iterations = constant(0.0);
    plan.processes
        .iter_mut()
        .flat_map(|p| &mut p.nodes)
        .flat_map(|n| &mut n.callbacks)
        .for_each(work);
    let mut service = Service::start_with(&plan, |folder| {
        fs::remove_file(folder.join("listening.ring")).unwrap();
    });
    service.until(2, |said| matches!(said, Announcement::Matched { .. }));
    kill_process(Pid::from_child(&service.launcher), Signal::TERM).unwrap();
    assert!(service.wait().success());
    let (recorded, discarded, _, taken) = service.counters("listening");
    assert!(recorded.is_empty());
    assert_eq!(
        discarded.get("stowplan:message").copied().unwrap_or(0),
        taken[&1]
    );
    assert_eq!(discarded["ros2:rcl_node_init"], 1);
}

#[test]
fn calibration_is_json() {
    let output = Command::new(env!("CARGO_BIN_EXE_stowplan-node"))
        .args(["calibrate", "--working-set", "4096,262144", "--cpu", "0"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let said: Calibrations = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said.schema, CALIBRATION_SCHEMA);
    let sizes: Vec<u64> = said
        .working_sets
        .iter()
        .map(|c| c.working_set_bytes)
        .collect();
    assert_eq!(sizes, [4096, 262_144]);
    for of in &said.working_sets {
        assert!(of.least_ns_per_iteration > 0.0, "{of:?}");
        assert!(of.least_ns_per_iteration <= of.ns_per_iteration, "{of:?}");
        assert!(
            of.ns_per_iteration <= of.greatest_ns_per_iteration,
            "{of:?}"
        );
    }
    let wrong = Command::new(env!("CARGO_BIN_EXE_stowplan-node"))
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn ping_and_pong_make_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("cyclonedds.xml");
    fs::write(&config, include_str!("cyclonedds.xml")).unwrap();
    let side = |role: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan-node"));
        command.args(["pingpong", role, "--domain", "120", "--bytes", "1024"]);
        command.args(["--seconds", "1", "--config"]).arg(&config);
        command
    };
    let mut pong = side("pong").spawn().unwrap();
    let ping = side("ping").output().unwrap();
    pong.kill().unwrap();
    pong.wait().unwrap();
    assert!(ping.status.success());
    let json: serde_json::Value = serde_json::from_slice(&ping.stdout).unwrap();
    assert_eq!(json["bytes"], 1024);
    assert!(json["round_trips"].as_u64().unwrap() > 100, "{json}");
    assert!(json["round_trip_ns"]["min"].as_u64() <= json["round_trip_ns"]["q50"].as_u64());
}

#[test]
fn sigterm_while_a_node_loads_is_obeyed() {
    let mut plan = pair(124);
    plan.processes[0].executor = stowplan_wire::service::ExecutorPlan::Isolated;
    plan.processes[0].nodes[0].start_iterations = 20_000_000;
    let mut service = Service::start(&plan);
    service.until(
        1,
        |said| matches!(said, Announcement::NodeLoading { node, .. } if node == "talker"),
    );
    kill_process(Pid::from_child(&service.launcher), Signal::TERM).unwrap();
    assert!(service.wait().success());
    service.counters("talking");
}
