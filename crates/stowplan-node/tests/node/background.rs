//! Threads that only keep CPUs busy.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_wire::announce::{Announcement, Control};
use stowplan_wire::service::{NodePlan, ServicePlan};

use crate::common::*;

/// One node with two threads and nothing else.
fn busy(domain: u32) -> ServicePlan {
    let node = NodePlan {
        background_threads: 2,
        ..node("busy", vec![])
    };
    service(domain, vec![], vec![process("busy", vec![node])])
}

/// Time on CPUs, in ns, of each thread of the process that keeps CPUs busy.
fn threads(service: &Service) -> Vec<u64> {
    let launcher = service.launcher.id();
    let path = format!("/proc/{launcher}/task/{launcher}/children");
    let process = fs::read_to_string(path).unwrap();
    let process = process.split_whitespace().next().unwrap();
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of_task = |task: fs::DirEntry| {
        let read = |file| fs::read_to_string(task.path().join(file)).ok();
        let is_ours = read("comm")?.trim() == "background";
        let on_cpu = read("schedstat")?;
        let ns = on_cpu.split(' ').next()?.parse().ok()?;
        is_ours.then_some(ns)
    };
    tasks.flatten().filter_map(of_task).collect()
}

fn wait_until(what: &str, met: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !met() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn total(service: &Service) -> u64 {
    threads(service).iter().sum()
}

/// A service that is ready.
fn started(domain: u32) -> Service {
    let mut service = Service::start(&busy(domain));
    service.until(1, |said| matches!(said, Announcement::Matched { .. }));
    service
}

#[test]
fn background_threads_work_from_the_start_to_the_end_of_the_window() {
    let mut service = started(151);
    // A thread has its name a moment after it is there.
    wait_until("there are two", || threads(&service).len() == 2);
    let before = total(&service);
    wait_until("they work before the window", || {
        total(&service) > before + 20_000_000
    });
    let t_arm_ns = now();
    service.tell(&Control::Arm {
        t_arm_ns,
        t_disarm_ns: t_arm_ns + 1_000_000_000,
    });
    wait_until("they end with the window", || threads(&service).is_empty());
    assert!(now() >= t_arm_ns + 1_000_000_000);
    kill_process(Pid::from_child(&service.launcher), Signal::TERM).unwrap();
    assert!(service.wait().success());
}

#[test]
fn background_threads_end_in_the_midst_of_a_window() {
    let mut service = started(152);
    let before = total(&service);
    let t_arm_ns = now();
    service.tell(&Control::Arm {
        t_arm_ns,
        t_disarm_ns: t_arm_ns + 3_600_000_000_000,
    });
    wait_until("they work", || total(&service) > before + 20_000_000);
    kill_process(Pid::from_child(&service.launcher), Signal::TERM).unwrap();
    assert!(service.wait().success());
}
