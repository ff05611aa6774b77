//! Real programs beside modelled nodes, really started: Debian's `ddsperf pong` answers a modelled ping, as a
//! plain process and in a container with a Debian root; every kind of readiness; one that never is ready.
#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot go on without ends it"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stowplan_host::Host;
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml};
use stowplan_measure::lower::{LowerOptions, lower};
use stowplan_measure::phases::PhaseDraw;
use stowplan_measure::rows::{HostRows, RunKey, StartUpFacts, startup_rows, usage_rows};
use stowplan_measure::{HostPlan, Measured, MeasuredHost, RunError, SessionPlan, measure};
use stowplan_model::{DdsProfile, Stack};
use stowplan_plan::{Choice, Preset};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_results::{StartKind, SubjectKind};
use stowplan_site::Site;
use stowplan_testkit::{agent_program, command_plan, node_program, private_state, said_by, skip};
use stowplan_trace::Analysis;
use stowplan_wire::deployment::{Access, DeploymentPlan, IsolationPlan, Program, ServiceStart};
use stowplan_wire::host::{HYPERVISOR, UsageSample};

/// `ddsperf` answers participants whose user data says that they are of its kind, in a partition of their own.
const PING_PONG: &str = r#"
name: ping_pong
description: A modelled ping and Debian's ddsperf pong.
profile: minimal
qos: { reliability: reliable, depth: 1 }
topics:
  /ping:
    bytes: 4
    dds: { topic: DDSPerfRPingOU, type: OneULong, sends: sequence, user_data: "DDSPerf:0:1:stowplan" }
  /pong:
    bytes: 4
    dds: { topic: DDSPerfRPongOU, type: OneULong, partition: "*" }
modules:
  perf:
    nodes:
      ping: { timer: 50Hz, subscribes: /pong, publishes: /ping }
services:
  pong:
    command: [ddsperf, -T, OU, pong]
    subscribes: [/ping]
    publishes: [/pong]
    ready: { topic_matched: /pong }
"#;

/// One node beside programs: their `services:` are added.
const BESIDE: &str = r"
name: beside
description: One node beside real programs.
profile: minimal
topics:
  /x: 4
modules:
  m:
    nodes:
      n: { timer: 10Hz, publishes: /x }
services:
";

/// Runs take free DDS domains by looking, so one process looks for one run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Run {
    stack: Stack,
    place: (&'static str, Option<&'static str>),
    window: Option<Duration>,
}

/// A run that came to its end, with its trace.
struct Done {
    measured: MeasuredHost,
    trace: tempfile::TempDir,
}

impl Run {
    fn new(text: &str, place: (&'static str, Option<&'static str>)) -> Self {
        Self {
            stack: stowplan_spec::parse_stack(text, "test.yaml").unwrap_or_else(|e| panic!("{e}")),
            place,
            window: None,
        }
    }

    fn name(&self) -> String {
        format!(
            "{}-{}-{}",
            self.stack.name,
            self.place.0,
            std::process::id()
        )
    }

    fn deployment(&self, image: &Path) -> DeploymentPlan {
        let (_, variant) = self.place;
        let mut plan = command_plan(&self.name(), "", variant, &[]);
        plan.image_dir = image.display().to_string();
        plan.services = self
            .stack
            .services
            .iter()
            .map(|real| {
                let program = Program::Command {
                    command: real.command.clone(),
                    env: real.env.clone(),
                    rootfs: real.rootfs.clone(),
                    access: Access::default(),
                };
                ServiceStart::new(real.name.as_str(), program)
            })
            .collect();
        plan.services.push(ServiceStart::new("all", Program::Node));
        if self.place.0 == "oci" {
            plan.isolation = IsolationPlan::CONTAINER;
        }
        plan
    }

    fn run(&self) -> Result<Done, RunError> {
        let _alone = alone();
        let image = tempfile::tempdir_in(private_state()).unwrap();
        fs::create_dir(image.path().join("files")).unwrap();
        fs::copy(node_program(), image.path().join("stowplan-node")).unwrap();
        let trace = tempfile::tempdir().unwrap();
        let state = [("STOWPLAN_STATE", private_state().as_os_str())];
        let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
        let domain = host.free_domain(u64::from(std::process::id()), 4).unwrap();
        let partition =
            stowplan_plan::partition(&self.stack, &Choice::Preset(Preset::Single)).unwrap();
        let options = LowerOptions {
            run: self.name(),
            domain,
            seed: 1,
            block: 0,
            phases: PhaseDraw {
                seed: 1,
                block: 0,
                blocks: 1,
            },
            natural_phase: false,
            phase_spans: Vec::new(),
            injection: None,
            launching: stowplan_model::Launching::Ros2,
            work_scale: 1.0,
            record: true,
            record_callback_cpu: false,
            replay: Vec::new(),
        };
        let engine = RemoteEngine::new(&host, self.place.0).unwrap();
        let on_host = HostPlan {
            site: host.clone(),
            engine: &engine,
            services: &lower(&self.stack, &partition, &options),
            deployment: self.deployment(image.path()),
            real: &self.stack.services,
            cold: None,
        };
        let measured = self.measure(
            &host,
            &SessionPlan {
                hosts: vec![on_host],
                domain,
                cyclonedds_xml: &cyclonedds_xml(DdsConfig {
                    domain: Some(domain),
                    ..DdsConfig::new(DdsProfile::Stowplan, 4, false)
                }),
                ring_bytes: 4 << 20,
                stall_timeout: Duration::from_secs(60),
                warm_up: Duration::ZERO,
                window: self.window,
                preemption: false,
                sample_period: Duration::from_millis(200),
                trace_dir: trace.path(),
            },
        )?;
        Ok(Done { measured, trace })
    }

    /// Measures, and whatever comes of it, nothing of the run may be left.
    fn measure(
        &self,
        host: &Rc<AgentHost>,
        plan: &SessionPlan<'_>,
    ) -> Result<MeasuredHost, RunError> {
        let measured = measure(plan).map(only);
        let run = self.name();
        assert!(!Path::new(&format!("/dev/shm/stowplan-{run}")).exists());
        assert_eq!(processes_with(&run), Vec::<String>::new());
        host.clock().expect("the agent lives");
        measured
    }
}

/// What the one host of a session gave.
fn only(measured: Measured) -> MeasuredHost {
    let [host] = measured.hosts.try_into().unwrap();
    host
}

/// Commands of processes that have the run's name in their environment, as real programs have.
fn processes_with(run: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|entry| {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(run)
        })
        .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}

impl Done {
    /// Begin and end of the start-up row of every service, ns from t0.
    fn service_rows(&self) -> BTreeMap<String, (Option<i64>, Option<i64>)> {
        let measured = &self.measured;
        let facts = StartUpFacts {
            start: StartKind::Warm,
            hosts: std::slice::from_ref(measured),
            modules: &BTreeMap::new(),
            first_outputs: &[],
            first_publications: &BTreeMap::new(),
        };
        startup_rows(&key(), &facts)
            .into_iter()
            .filter(|row| row.subject_kind == SubjectKind::Service)
            .map(|row| (row.subject.to_string(), (row.begin_ns, row.end_ns)))
            .collect()
    }

    /// From the publication of each answered ping to the arrival of its answer, ns. `ddsperf` gives an answer the
    /// source timestamp of its ping with the last bit set.
    fn round_trips(&self) -> Vec<i64> {
        let analysis = Analysis::from_ctf(self.trace.path()).unwrap_or_else(|e| panic!("{e}"));
        let graph = &analysis.graph;
        let (ping, pong) = (graph.topic("/ping").unwrap(), graph.topic("/pong").unwrap());
        let pings: BTreeMap<i64, i64> = analysis
            .records
            .publications
            .iter()
            .filter(|(_, p)| graph.publishers[p.publisher].topic == Some(ping))
            .map(|(_, p)| (p.stamp.get().unwrap() | 1, p.rmw_ns.get().unwrap()))
            .collect();
        let answers = analysis.records.takes.iter();
        answers
            .filter(|(_, take)| graph.subscriptions[take.subscription].topic == pong)
            .map(|(_, take)| {
                let sent = pings.get(&take.stamp.get().unwrap());
                take.arrival_ns.get().unwrap() - sent.expect("each answer is one to a ping")
            })
            .collect()
    }
}

fn key() -> RunKey {
    RunKey {
        run: 1,
        block: 1,
        deployment: "test".into(),
    }
}

fn ping_pong(place: (&'static str, Option<&'static str>), rootfs: Option<&Path>) {
    let mut run = Run::new(PING_PONG, place);
    run.window = Some(Duration::from_secs(1));
    run.stack.services[0].rootfs = rootfs.map(|path| path.display().to_string());
    let done = run.run().unwrap_or_else(|e| panic!("{e}"));

    let mut trips = done.round_trips();
    trips.sort_unstable();
    assert!(!trips.is_empty(), "no ping was answered");
    assert!(trips[0] > 0, "an answer came before its ping: {}", trips[0]);
    println!(
        "{} round trips on {}, median {} ns",
        trips.len(),
        place.0,
        trips[trips.len() / 2]
    );

    let rows = done.service_rows();
    let (begin, end) = rows["pong"];
    assert!(Some(0) < begin && begin < end, "{rows:?}");
    let matched = done.measured.progress.services()["all"].matched_ns;
    assert_eq!(done.measured.real["pong"].ready_ns, matched);
    let usage = usage_rows(HostRows {
        key: &key(),
        of: &done.measured,
    });
    assert!(usage.iter().any(|row| &*row.subject == "pong"), "no usage");
    assert_eq!(done.measured.warnings, Vec::<String>::new());
}

#[test]
fn pong_answers_a_modelled_ping_on_bare_metal() {
    // Of the package cyclonedds-tools.
    if said_by(Command::new("ddsperf").arg("help")).is_some() {
        ping_pong(("bare", Some("flat")), None);
    }
}

#[test]
fn pong_answers_a_modelled_ping_from_a_container_with_a_debian_root() {
    match debian_root() {
        Ok(root) => ping_pong(("oci", None), Some(&root)),
        Err(reason) => skip!("{reason}"),
    }
}

/// A Debian 12 root with `ddsperf`, made once: about 180 MB below the target folder.
fn debian_root() -> Result<PathBuf, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can make a Debian root whose files are root's".to_owned());
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian-bookworm-cyclonedds");
    if root.exists() {
        return Ok(root);
    }
    // Renamed when it is complete, so that an interrupted one is never used.
    let partial = root.with_extension(format!("partial-{}", std::process::id()));
    let made = Command::new("mmdebstrap")
        .args(["--quiet", "--variant=apt", "--include=cyclonedds-tools"])
        .arg("bookworm")
        .arg(&partial)
        .output()
        .map_err(|e| format!("mmdebstrap: {e}"))?;
    if !made.status.success() {
        // What is left of it is of no use; that there may be nothing is no error.
        let _ = fs::remove_dir_all(&partial);
        let said = String::from_utf8_lossy(&made.stderr);
        return Err(format!("mmdebstrap: {}", said.trim_end()));
    }
    fs::rename(&partial, &root).map_err(|e| format!("{}: {e}", root.display()))?;
    Ok(root)
}

#[test]
fn each_kind_of_readiness_is_seen_and_the_end_of_a_program_told() {
    let file = private_state().join("ready");
    let services = format!(
        r#"
  started: {{ command: [sleep, "600"] }}
  line:
    command: [sh, -c, "echo is up now; exec sleep 600"]
    ready: {{ log_line: up now }}
  file:
    command: [sh, -c, "touch {}; exec sleep 600"]
    ready: {{ file: {} }}
  setup: {{ command: ["true"], ready: exit }}
  short: {{ command: [sh, -c, "echo begins; exec sleep 1"], ready: {{ log_line: begins }} }}
"#,
        file.display(),
        file.display()
    );
    let mut run = Run::new(&format!("{BESIDE}{services}"), ("bare", Some("flat")));
    run.window = Some(Duration::from_secs(2));
    let done = run.run().unwrap_or_else(|e| panic!("{e}"));
    let rows = done.service_rows();
    assert_eq!(rows.len(), 6, "{rows:?}");
    for name in ["started", "line", "file", "setup", "short"] {
        let (begin, end) = rows[name];
        assert!(begin.is_some() && begin <= end, "{name}: {rows:?}");
    }
    assert_eq!(
        done.measured.warnings,
        ["service 'short' ended before the run did"]
    );
}

#[test]
fn creating_and_starting_lie_between_two_samples() {
    let services = "  sleeper: { command: [sleep, \"600\"] }\n";
    let run = Run::new(&format!("{BESIDE}{services}"), ("bare", Some("flat")));
    let measured = run.run().unwrap_or_else(|e| panic!("{e}")).measured;
    let of = |subject: &str| -> Vec<&UsageSample> {
        let samples = measured.samples.iter();
        samples.filter(|s| s.subject == subject).collect()
    };
    for subject in ["machine", "stowplan", HYPERVISOR] {
        let rows = of(subject);
        assert!(rows[0].t_ns < measured.t0_ns, "{subject}");
        let started = rows.iter().find(|s| s.t_ns >= measured.started_ns);
        let used = started.unwrap().cpu_ns;
        let must = if subject == HYPERVISOR { 0 } else { 1 };
        assert!(used >= Some(must), "{subject}: {used:?}");
    }
    for service in ["all", "sleeper"] {
        let first = of(service)[0];
        assert!(first.t_ns > measured.started_ns, "{service}");
        // All of its start is in it: nothing ran in its group before t0.
        assert!(first.cpu_ns > Some(0), "{service}: {first:?}");
    }
    let processes = measured.processes.iter();
    let running: BTreeSet<String> = processes
        .map(|p| format!("{}: {:?}", p.service, p.running))
        .collect();
    let expected = [
        "all: Launcher",
        "all: Process(\"n\")",
        "sleeper: Program(\"sleep\")",
    ];
    assert_eq!(running, expected.map(str::to_owned).into());
}

#[test]
fn one_that_is_not_ready_in_time_or_fails_is_named_with_its_log() {
    let failed = |service: &str| {
        let text = format!("{BESIDE}{service}");
        let result = Run::new(&text, ("bare", Some("flat"))).run();
        match result {
            Ok(_) => panic!("it was ready"),
            Err(error) => error,
        }
    };
    let late = failed(
        r#"
  late:
    command: [sh, -c, "echo I wait for $ROS_DOMAIN_ID; exec sleep 600"]
    ready: { port: 1 }
    ready_timeout: 1s
"#,
    );
    assert_eq!(late.service.as_deref(), Some("late"));
    let text = late.to_string();
    assert!(
        text.starts_with("service 'late' listens on no port 1 within 1 s"),
        "{text}"
    );
    let domain = text.split("I wait for ").nth(1).expect("its log");
    assert!(domain.trim().parse::<u32>().is_ok(), "{text}");

    let broken = failed(
        r#"
  broken:
    command: [sh, -c, "echo cannot open my camera; exit 3"]
    ready: { log_line: frames }
"#,
    );
    let text = broken.to_string();
    assert!(
        text.starts_with("service 'broken' ended with status 3"),
        "{text}"
    );
    assert!(text.contains("cannot open my camera"), "{text}");
}
