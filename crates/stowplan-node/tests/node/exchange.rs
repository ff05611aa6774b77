//! Two processes exchange real DDS messages; their trace says what the messages say.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::Command;

use crate::common::*;
use stowplan_measure::collect::{RingFile, collect};
use stowplan_trace::Analysis;
use stowplan_wire::announce::{Age, Announcement};
use stowplan_wire::service::{
    ExecutorCostPlan, ExecutorPlan, ProfilePlan, SerialisationPlan, ServicePlan,
};

/// sensor -> /points -> filter -> /filtered -> control, whose timer uses it and publishes /command.
pub(crate) fn hello(domain: u32) -> ServicePlan {
    let sensor = node("sensor", vec![timer(0, 20, &[(0, 0, 1)], &[])]);
    let filter = node("filter", vec![subscription(1, 0, 1, &[(1, 1, 1)])]);
    let control = node(
        "control",
        vec![subscription(2, 1, 1, &[]), timer(3, 30, &[(2, 2, 0)], &[2])],
    );
    service(
        domain,
        vec![topic("/points"), topic("/filtered"), topic("/command")],
        vec![
            process("sensing", vec![sensor]),
            process("driving", vec![filter, control]),
        ],
    )
}

/// Field values of each event, by event name; handles in base 16 become numbers.
pub(crate) type Events = HashMap<String, Vec<BTreeMap<String, i64>>>;

/// Reads a trace with babeltrace2, which must not complain.
pub(crate) fn babeltrace(folder: &std::path::Path) -> Option<Events> {
    let mut command = Command::new("babeltrace2");
    command.args(["--clock-cycles", "--no-delta"]).arg(folder);
    let output = stowplan_testkit::said_by(&mut command)?;
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let mut events = Events::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let time = line[1..line.find(']').unwrap()].parse().unwrap();
        let (head, fields) = line.split_once(": {").unwrap();
        let name = head.split_whitespace().last().unwrap();
        let mut values = BTreeMap::from([("t".to_owned(), time)]);
        for pair in fields.split([',', '{', '}']) {
            if let Some((key, value)) = pair.split_once(" = ") {
                let value = value.trim();
                let number = match value.strip_prefix("0x") {
                    Some(hex) => i64::from_str_radix(hex, 16).ok(),
                    None => value.parse().ok(),
                };
                if let Some(number) = number {
                    values.insert(key.trim().to_owned(), number);
                }
            }
        }
        events.entry(name.to_owned()).or_default().push(values);
    }
    Some(events)
}

/// Collects the trace and holds its counts against the counters that the processes sent.
fn trace(service: &Service, plan: &ServicePlan) -> Option<Events> {
    let rings: Vec<RingFile> = plan
        .processes
        .iter()
        .map(|process| RingFile {
            path: service.path(&format!("{}.ring", process.name)),
            service: plan.service.clone(),
            process: process.name.clone(),
        })
        .collect();
    let out = service.path("trace");
    let report = collect(&rings, &out).unwrap();
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for process in &report.processes {
        let (recorded, discarded, ..) = service.counters(&process.process);
        assert_eq!(&process.recorded, recorded);
        assert_eq!((&process.discarded, discarded.len()), (discarded, 0));
        assert!(process.closed);
        for (name, count) in recorded {
            *expected.entry(name.clone()).or_default() += count;
        }
    }
    let events = babeltrace(&out)?;
    let counts: BTreeMap<String, u64> = events
        .iter()
        .map(|(name, all)| (name.clone(), all.len() as u64))
        .collect();
    assert_eq!(counts, expected);
    Some(events)
}

/// Holds every taken message against its publication, by what it says of itself and by the trace.
fn check_messages(events: &Events) {
    // Source timestamps are links enough here: one writer a topic, and nanoseconds apart.
    let published: HashMap<i64, &BTreeMap<String, i64>> = events["ros2:rmw_publish"]
        .iter()
        .map(|event| (event["timestamp"], event))
        .collect();
    let begun: HashSet<i64> = events["ros2:rclcpp_publish"]
        .iter()
        .map(|event| event["t"])
        .collect();
    let taken: Vec<_> = events["ros2:rmw_take"]
        .iter()
        .filter(|event| event["taken"] == 1)
        .collect();
    let messages = &events["stowplan:message"];
    assert!(!taken.is_empty());
    assert_eq!(taken.len(), messages.len());
    for (take, message) in taken.iter().zip(messages) {
        let publication = published[&take["source_timestamp"]];
        assert!(
            begun.contains(&message["stamp_ns"]),
            "exactly the same reading of the clock"
        );
        assert!(message["stamp_ns"] <= publication["t"]);
        assert!(message["origin_ns"] <= message["stamp_ns"]);
        let arrival = events["stowplan:arrival"]
            .iter()
            .find(|a| {
                a["source_timestamp"] == take["source_timestamp"]
                    && a["rmw_subscription_handle"] == take["rmw_subscription_handle"]
            })
            .expect("every sample that is taken has arrived");
        assert!(publication["t"] <= arrival["t"] && arrival["t"] <= take["t"]);
    }
}

/// The ages that processes have counted without their trace are those that the trace tells.
fn check_ages(service: &Service, events: &Events) {
    let armed = events["stowplan:armed"][0]["t_arm_ns"];
    let mut told = Age::default();
    for message in &events["stowplan:message"] {
        if message["origin_ns"] < armed {
            continue;
        }
        let ends = events["ros2:callback_end"]
            .iter()
            .filter(|end| end["vtid"] == message["vtid"] && end["t"] >= message["t"]);
        let end = ends.map(|end| end["t"]).min().unwrap();
        told.count += 1;
        told.sum_ns += (end - message["origin_ns"]).unsigned_abs();
    }
    let mut counted = Age::default();
    for said in &service.said {
        if let Announcement::Counters { ages, .. } = said {
            counted.count += ages.values().map(|age| age.count).sum::<u64>();
            counted.sum_ns += ages.values().map(|age| age.sum_ns).sum::<u64>();
        }
    }
    assert!(told.count > 40);
    assert_eq!(counted, told);
}

#[test]
fn messages_and_trace_agree() {
    let plan = hello(111);
    let service = measure(&plan, 1_000_000_000);
    let (_, _, published, taken) = service.counters("driving");
    assert_eq!(
        published[&1], taken[&1],
        "the filter publishes what it takes"
    );
    let sent = service.counters("sensing").2[&0];
    assert!(taken[&1] <= sent && taken[&1] > 40, "{taken:?} of {sent}");
    let Some(events) = trace(&service, &plan) else {
        return;
    };
    check_messages(&events);
    check_ages(&service, &events);
    let starts = &events["ros2:callback_start"];
    assert_eq!(starts.len(), events["ros2:callback_end"].len());
    assert_eq!(starts.len(), events["stowplan:callback_cpu"].len());
    // Sources keep the phase that arming gave them.
    let armed = events["stowplan:armed"][0]["t_arm_ns"];
    let releases = events["stowplan:source_release"].iter();
    let phases: Vec<i64> = releases
        .map(|event| event["release_ns"] - armed)
        .filter(|since| *since >= 0)
        .map(|since| since % 20_000_000)
        .collect();
    assert!(
        phases.len() > 40 && phases.iter().all(|phase| *phase == 1_000_000),
        "{phases:?}"
    );
    // The controller's output rests on a release of the sensor.
    let command: Vec<_> = events["stowplan:message"].iter().collect();
    assert!(command.iter().all(|message| message["origin_ns"] > 0));
}

#[test]
fn containers_executors_and_implicit_endpoints() {
    let mut plan = hello(112);
    for process in &mut plan.processes {
        process.profile = ProfilePlan::Jazzy;
    }
    plan.topics[1].intra_process = true;
    // Between nodes of one process the message goes by pointer now.
    plan.processes[1].nodes[0].callbacks[0].publishes[0].expected_subscriptions = 0;
    plan.processes[1].nodes[1].callbacks[0].trigger =
        stowplan_wire::service::TriggerPlan::Subscription {
            topic: 1,
            expected_publishers: 0,
        };
    plan.processes[1].component_container = true;
    plan.processes[1].executor = ExecutorPlan::Multi { threads: 3 };
    plan.processes[1].nodes[0].depends_on = vec!["control".into()];
    plan.processes[0].executor = ExecutorPlan::Isolated;
    plan.processes[1].use_sim_time = true;
    let service = measure(&plan, 500_000_000);
    let order: Vec<&str> = service
        .said
        .iter()
        .filter_map(|said| match said {
            Announcement::NodeLoaded { node, .. } if node != "sensor" => Some(node.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["control", "filter"]);
    let (recorded, _, published, taken) = service.counters("driving");
    // The end may come between a publication and its callback.
    let waiting = published[&1] - taken[&2];
    assert!(
        taken[&2] > 20 && waiting <= 1,
        "nothing is lost inside the process"
    );
    assert_eq!(recorded["ros2:rclcpp_intra_publish"], published[&1]);
    assert_eq!(recorded["ros2:rclcpp_ring_buffer_dequeue"], taken[&2]);
    assert!(
        recorded["ros2:rcl_service_init"] == 18,
        "seven a node, and of the container three and its type description: {recorded:?}"
    );
    assert_eq!(
        recorded["ros2:rcl_subscription_init"], 8,
        "of each of two nodes its own, and of these and the container to /parameter_events and to /clock"
    );
    assert_eq!(
        service.counters("sensing").0["ros2:rcl_subscription_init"],
        1
    );
    let Some(events) = trace(&service, &plan) else {
        return;
    };
    let starts = events["ros2:callback_start"].iter();
    let intra = starts
        .filter(|event| event["is_intra_process"] == 1)
        .count();
    assert_eq!(intra as u64, taken[&2]);
}

/// Iterations that the sensor's callback drew after arming, in order.
fn drawn(service: &Service, plan: &ServicePlan) -> Option<Vec<i64>> {
    let events = trace(service, plan)?;
    let armed = events["stowplan:armed"][0]["t_arm_ns"];
    let source = events["stowplan:source_release"][0]["callback"];
    let begin = events["stowplan:source_release"]
        .iter()
        .filter(|event| event["release_ns"] < armed)
        .count();
    let all = events["stowplan:callback_cpu"]
        .iter()
        .filter(|event| event["callback"] == source);
    Some(all.skip(begin).map(|event| event["iterations"]).collect())
}

#[test]
fn draws_after_arming_do_not_depend_on_the_start() {
    let mut plan = hello(121);
    let first = measure(&plan, 300_000_000);
    // Another start, and other calls before arming.
    plan.domain = 122;
    plan.processes[1].nodes[0].start_iterations = 100_000_000;
    let second = measure(&plan, 300_000_000);
    let (Some(first), Some(second)) = (drawn(&first, &plan), drawn(&second, &plan)) else {
        return;
    };
    let count = first.len().min(second.len());
    assert!(count >= 10);
    assert_eq!(first[..count], second[..count]);
    assert!(first.windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn threads_sleep_while_an_exclusive_group_is_at_work() {
    let mut plan = hello(123);
    plan.topics[0].depth = 1;
    plan.processes[0].nodes[0].callbacks[0] = timer(0, 1, &[(0, 0, 1)], &[]);
    plan.processes[1].executor = ExecutorPlan::Multi { threads: 3 };
    // Each call lasts for many arrivals.
    plan.processes[1].nodes[0].callbacks[0].iterations = constant(10_000_000.0);
    let service = measure(&plan, 500_000_000);
    let (recorded, _, _, taken) = service.counters("driving");
    let arrivals = recorded["stowplan:arrival"];
    assert!(taken[&1] < arrivals / 3, "{taken:?} of {arrivals}");
    let waits = recorded["ros2:rclcpp_executor_wait_for_work"];
    let executed = recorded["ros2:rclcpp_executor_execute"];
    assert!(
        waits < 5 * executed,
        "{waits} waits for {executed} executions"
    );
}

/// Each step of the counted work loads what the next needs: no CPU does it in a shorter time.
const LEAST_NS_PER_ITERATION: f64 = 0.2;

#[test]
fn serialising_is_work_before_dds_gets_the_message() {
    let mut plan = hello(125);
    let cost = SerialisationPlan {
        message_iterations: 1_000_000,
        kib_iterations: 1_000_000,
    };
    plan.topics[0].serialisation = Some(cost);
    let service = measure(&plan, 300_000_000);
    let Some(events) = trace(&service, &plan) else {
        return;
    };
    check_messages(&events);
    let analysis = Analysis::from_ctf(service.path("trace")).unwrap();
    let least = (cost.iterations(1_001) as f64 * LEAST_NS_PER_ITERATION) as i64;
    let mut sends: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (_, publication) in analysis.records.publications.iter() {
        let publisher = &analysis.graph.publishers[publication.publisher];
        let topic = analysis.graph.topics[publisher.topic.unwrap()].as_str();
        let send = publication.rmw_ns.get().unwrap() - publication.time_ns;
        sends.entry(topic).or_default().push(send);
    }
    assert!(sends["/points"].len() > 10);
    assert!(
        sends["/points"].iter().all(|send| *send >= least),
        "{sends:?}"
    );
    // The others cost nothing to serialise; some of them were not interrupted meanwhile.
    assert!(
        sends["/filtered"].iter().any(|send| *send < least),
        "{sends:?}"
    );
    let check = analysis.check_payload();
    assert!(check.checked > 20);
    assert_eq!((check.mismatches, check.unlinked), (0, 0), "{check:?}");
}

/// The least that passes between looking for work in vain and waiting for it, over a window with three timers on one thread.
fn least_before_a_wait(domain: u32, cost: ExecutorCostPlan) -> Option<i64> {
    let timers = (0..3).map(|id| timer(id, 20, &[], &[])).collect();
    let mut only = process("ticking", vec![node("ticker", timers)]);
    only.executor_cost = cost;
    let plan = service(domain, vec![], vec![only]);
    let events = trace(&measure(&plan, 500_000_000), &plan)?;
    let mut looked: Vec<i64> = events["ros2:rclcpp_executor_get_next_ready"]
        .iter()
        .map(|event| event["t"])
        .collect();
    looked.sort_unstable();
    let armed = events["stowplan:armed"][0]["t"];
    let waits = events["ros2:rclcpp_executor_wait_for_work"].iter();
    let waits = waits.map(|wait| wait["t"]).filter(|t| *t > armed);
    let before = waits.map(|t| t - looked[looked.partition_point(|l| *l <= t) - 1]);
    before.min()
}

/// A machine under load takes longer for the counted work, and none takes less than the least.
#[test]
fn a_wait_takes_its_counted_work() {
    let cost = |wait_iterations, entity_iterations| ExecutorCostPlan {
        wait_iterations,
        entity_iterations,
    };
    let least =
        |cost: ExecutorCostPlan| (cost.iterations(3) as f64 * LEAST_NS_PER_ITERATION) as i64;
    let (of_wait, of_entities) = (cost(1_000_000, 0), cost(0, 300_000));
    let Some(none) = least_before_a_wait(129, cost(0, 0)) else {
        return;
    };
    let wait = least_before_a_wait(129, of_wait).unwrap();
    let entities = least_before_a_wait(129, of_entities).unwrap();
    // One wait of many is not interrupted.
    assert!(none < least(of_wait), "{none} ns without a cost");
    assert!(wait >= least(of_wait), "{wait} ns");
    assert!(entities >= least(of_entities), "{entities} ns");
}
