//! The real node program under the agent: a window, its cost, and what goes wrong in it.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::fs;
use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_host::{Host, digest};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_site::{Armed, Site as _};
use stowplan_testkit::{
    agent_program, callback_plan, command_plan, node_plan, node_program, private_state,
    service_plan, timer_plan,
};
use stowplan_wire::agent::{Announced, Recipients, ServiceSignal};
use stowplan_wire::announce::{Announcement, Control, OwnFault};
use stowplan_wire::deployment::{EngineEventKind, Program, Select};
use stowplan_wire::host::{ProcessSample, Running, SampleSubject};
use stowplan_wire::service::{CallbackPlan, DistributionPlan, ServicePlan};
use tempfile::TempDir;

const DDS: &str = r#"<CycloneDDS xmlns="https://cdds.io/config"><Domain Id="any"><General><Interfaces>
<NetworkInterface name="lo" multicast="false" /></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer Address="127.0.0.1" /></Peers></Discovery>
</Domain></CycloneDDS>"#;

/// One node with a timer of 10 ms that does so much work and publishes nothing.
fn service(run: &str, iterations: f64) -> ServicePlan {
    let callback = CallbackPlan {
        iterations: DistributionPlan::Constant(iterations),
        ..callback_plan(1, timer_plan(10_000_000, 0))
    };
    let mut plan = service_plan(run, "sensing");
    plan.domain = 200 + std::process::id() % 20;
    plan.processes[0].nodes = vec![node_plan("n", vec![callback])];
    plan
}

/// A started node program.
struct Started {
    host: Rc<AgentHost>,
    deployment: Box<dyn Deployment>,
    said: Vec<Announced>,
    _image_dir: TempDir,
}

impl Started {
    fn new(test: &str) -> Self {
        Self::with_work(test, 100.0)
    }

    /// Each call of its timer does so many iterations.
    fn with_work(test: &str, iterations: f64) -> Self {
        let image_dir = tempfile::tempdir_in(private_state()).unwrap();
        let image = image_dir.path();
        fs::create_dir(image.join("files")).unwrap();
        fs::copy(node_program(), image.join("stowplan-node")).unwrap();
        let state = [("STOWPLAN_STATE", private_state().as_os_str())];
        let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
        let run = format!("node-{test}-{}", std::process::id());
        let run_dir = host
            .open_run(
                &run,
                vec![service(&run, iterations)],
                DDS.to_owned(),
                4 << 20,
            )
            .unwrap();
        let mut plan = command_plan(&run, &run_dir, Some("flat"), &[("sensing", &[])]);
        plan.image_dir = image.display().to_string();
        plan.services[0].program = Program::Node;
        let engine = RemoteEngine::new(&host, "bare").unwrap();
        let mut deployment = engine.prepare(&plan, host.clone()).unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        let mut started = Self {
            host,
            deployment,
            said: vec![],
            _image_dir: image_dir,
        };
        started.wait_for(|a| matches!(a, Announcement::Launched { .. }));
        started.wait_for(|a| matches!(a, Announcement::Matched { .. }));
        started
    }

    /// Waits until something has been said; gives the first that fits.
    fn wait_for(&mut self, fits: impl Fn(&Announcement) -> bool) -> Announced {
        loop {
            if let Some(found) = self.said.iter().find(|said| fits(&said.announcement)) {
                return found.clone();
            }
            let watched = self.host.watch(60_000).unwrap();
            assert!(
                !watched.announcements.is_empty() || !watched.engine.is_empty(),
                "nothing is said; so far {:?}; log: {}",
                self.said,
                self.deployment.log("sensing", 4096).unwrap()
            );
            self.said.extend(watched.announcements);
        }
    }

    /// Pid of the ROS process.
    fn process(&mut self) -> rustix::process::Pid {
        let up = self.wait_for(
            |a| matches!(a, Announcement::Up { process, .. } if process.as_deref() == Some("p")),
        );
        rustix::process::Pid::from_raw(up.pid.cast_signed()).unwrap()
    }
}

#[test]
fn a_window_costs_little_and_the_program_is_known() {
    let mut started = Started::new("window");
    let host = Rc::clone(&started.host);
    let subjects = [SampleSubject {
        subject: "sensing".to_owned(),
        cgroups: started.deployment.locators().unwrap()[0].cgroups.clone(),
        pids: Vec::new(),
        names: Vec::new(),
    }];
    host.start_sampling(&subjects, &[], 200).unwrap();
    let armed = armed(&host, 1_000_000_000, 1_000_000_000, true).unwrap();
    let samples = host.stop_sampling().unwrap().usage;
    assert_eq!(armed.t_disarm_ns - armed.t_arm_ns, 1_000_000_000);
    let within = samples
        .iter()
        .filter(|s| s.subject == "machine" && (armed.t_arm_ns..armed.t_disarm_ns).contains(&s.t_ns))
        .count() as u64;
    // One sleep a sample and the last one; others may push the agent off its CPU now and then.
    assert!(
        armed.own_switches <= 4 * within + 8,
        "{armed:?}, {within} samples"
    );
    assert!(armed.own_cpu_ns < 100_000_000, "{armed:?}");
    for subject in ["sensing", "stowplan"] {
        let last = samples.iter().rfind(|s| s.subject == subject).unwrap();
        assert!(
            last.cpu_ns.unwrap() > 0 && last.memory_bytes.unwrap() > 0,
            "{last:?}"
        );
    }

    let digests = host.node_digests().unwrap();
    assert_eq!(digests.len(), 1);
    assert_eq!(digests[0].processes, 2);
    let program = fs::File::open(node_program()).unwrap();
    assert_eq!(digests[0].sha256, digest::sha256_of(program).unwrap());

    host.stop_nodes().unwrap();
    let counters = started.wait_for(|a| matches!(a, Announcement::Counters { .. }));
    let Announcement::Counters {
        recorded,
        discarded,
        ..
    } = counters.announcement
    else {
        unreachable!("it was matched as counters")
    };
    // How many of the hundred ticks come in time is up to the machine; none is begun without its end.
    let of = |event: &str| recorded.get(event).copied().unwrap_or_default();
    assert!(of("ros2:callback_start") > 0, "{recorded:?}");
    assert_eq!(of("ros2:callback_start"), of("ros2:callback_end"));
    assert_eq!(of("ros2:callback_start"), of("stowplan:source_release"));
    assert!(discarded.values().all(|n| *n == 0), "{discarded:?}");
}

#[test]
fn processes_of_a_service_add_up_to_its_group() {
    let started = Started::with_work("adds-up", 2_000_000.0);
    let host = Rc::clone(&started.host);
    let cgroups = started.deployment.locators().unwrap()[0].cgroups.clone();
    let subjects = [SampleSubject {
        subject: "sensing".to_owned(),
        cgroups,
        pids: Vec::new(),
        names: Vec::new(),
    }];
    host.start_sampling(&subjects, &[], 200).unwrap();
    let armed = armed(&host, 1_000_000_000, 2_000_000_000, false).unwrap();
    let sampled = host.stop_sampling().unwrap();
    let within = |t_ns: u64| (armed.t_arm_ns..armed.t_disarm_ns).contains(&t_ns);
    let of_group = sampled.usage.iter().filter(|s| s.subject == "sensing");
    let of_group: Vec<u64> = of_group
        .filter(|s| within(s.t_ns))
        .map(|s| s.cpu_ns.unwrap())
        .collect();
    let used = of_group[of_group.len() - 1] - of_group[0];
    let mut sum = 0;
    for process in &sampled.processes {
        assert_eq!(process.service, "sensing");
        let of_window: Vec<&ProcessSample> =
            process.samples.iter().filter(|s| within(s.t_ns)).collect();
        assert_eq!(
            of_window.len(),
            of_group.len(),
            "one beside each of the group"
        );
        assert!(of_window.iter().all(|s| s.resident_bytes > 1 << 20));
        sum += of_window[of_window.len() - 1].cpu_ns - of_window[0].cpu_ns;
    }
    let mut running: Vec<&Running> = sampled.processes.iter().map(|p| &p.running).collect();
    running.sort_by_key(|running| **running != Running::Launcher);
    let process = Running::Process("p".to_owned());
    assert_eq!(running, [&Running::Launcher, &process]);
    // The group is read some microseconds before them.
    assert!(used > 10_000_000, "{used}");
    assert!(sum.abs_diff(used) * 50 <= used, "{sum} of {used}");
}

#[test]
fn a_process_that_dies_in_the_window_is_told() {
    let mut started = Started::new("dies");
    rustix::process::kill_process(started.process(), rustix::process::Signal::KILL).unwrap();
    let error = armed(&started.host, 1_000_000_000, 60_000_000_000, false).unwrap_err();
    assert_eq!(error.service.as_deref(), Some("sensing"), "{error}");
    assert!(
        error
            .log
            .as_ref()
            .is_some_and(|log| Path::new(log).exists())
    );
    let status = loop {
        let events = started.host.watch(60_000).unwrap().engine;
        let exited = events.iter().find_map(|event| match event.kind {
            EngineEventKind::Exited(status) => Some(status),
            _ => None,
        });
        if let Some(status) = exited {
            break status;
        }
    };
    assert_ne!(status, 0);
}

#[test]
fn a_process_that_hangs_is_not_armed() {
    let mut started = Started::new("hangs");
    rustix::process::kill_process(started.process(), rustix::process::Signal::STOP).unwrap();
    let error = armed(&started.host, 500_000_000, 1_000_000_000, false).unwrap_err();
    assert!(error.to_string().contains("not armed in time"), "{error}");
    assert!(error.to_string().contains("sensing/p"), "{error}");
    // A stopped process does not end by itself; destroying must not wait for it.
    started.deployment.destroy().unwrap();
    started.host.close_run().unwrap();
}

#[test]
fn processes_answer_a_ping_once_they_can() {
    let mut started = Started::new("pinged");
    let host = Rc::clone(&started.host);
    let ping = |to| host.tell_service("sensing", to, &Control::Ping);
    started.deployment.pause("sensing").unwrap();
    let asked = ping(Recipients::All).unwrap();
    let resumed = host.clock().unwrap();
    assert!(asked < resumed);
    started.deployment.resume("sensing").unwrap();
    for name in [None, Some("p".to_owned())] {
        let said = started
            .wait_for(|a| matches!(a, Announcement::Answer { process, .. } if *process == name));
        let Announcement::Answer { t_ns, .. } = said.announcement else {
            unreachable!("it was matched as an answer")
        };
        assert!(t_ns > resumed, "{name:?}");
    }
    let nobody = host.tell_service("nobody", Recipients::All, &Control::Ping);
    assert!(nobody.unwrap_err().to_string().contains("nobody"));
}

#[test]
fn a_launcher_fails_as_it_is_asked_to() {
    for (name, fault, status) in [
        ("crashes", OwnFault::Crash, 128 + 11),
        ("exits", OwnFault::Exit(3), 3),
    ] {
        let started = Started::new(name);
        let host = Rc::clone(&started.host);
        let fault = Control::Fault(fault);
        let asked = host.tell_service("sensing", Recipients::Launcher, &fault);
        let (faulting_ns, end_ns, ended) = end_of(&host);
        assert_eq!(ended, status, "{name}");
        let (asked, faulting) = (asked.unwrap(), faulting_ns.unwrap());
        assert!(asked < faulting && faulting < end_ns, "{name}");
    }
    let started = Started::new("killed");
    let kill = ServiceSignal::Kill;
    let sent = started
        .host
        .signal_service("sensing", Recipients::Launcher, kill);
    let (faulting, end_ns, ended) = end_of(&started.host);
    assert_eq!((faulting, ended), (None, 128 + 9));
    assert!(sent.unwrap() < end_ns);
}

/// When the service said that it is about to fail, when its engine told its end, and the status of that.
fn end_of(host: &AgentHost) -> (Option<u64>, u64, i32) {
    let mut faulting = None;
    loop {
        let watched = host.watch(60_000).unwrap();
        let nothing = watched.announcements.is_empty() && watched.engine.is_empty();
        assert!(!nothing, "it goes on");
        for said in watched.announcements {
            if let Announcement::Faulting { t_ns, .. } = said.announcement {
                faulting = Some(t_ns);
            }
        }
        for event in watched.engine {
            if let EngineEventKind::Exited(status) = event.kind {
                return (faulting, event.t_ns, status);
            }
        }
    }
}

/// Arms so long from now, and waits until the window is over.
fn armed(
    host: &AgentHost,
    lead_ns: u64,
    window_ns: u64,
    preemption: bool,
) -> Result<Armed, EngineError> {
    let ready_ns = host.before_window(lead_ns + window_ns, preemption)?;
    host.arm(ready_ns + lead_ns, window_ns)?;
    host.wait_window(lead_ns + window_ns)
}
