//! What measuring does to what is measured: the mean age of data at the end of a chain, from the payload's own origin time,
//! with one instrument and without it, in pairs of runs on `bare:flat`. Both runs of a pair have equal phases and draws.
//!
//! `cargo bench -p stowplan-measure --bench instrument -- recording|sampling|preemption [PAIRS [WINDOW_S [STACK [SCALE]]]]`
//!
//! `STACK` is `hello` where left out; `SCALE` is a factor on its callbacks' work.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_image::{Image, ImageSpec, LibFile};
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml};
use stowplan_measure::lower::{LowerOptions, lower, start_up_files};
use stowplan_measure::phases::PhaseDraw;
use stowplan_measure::{HostPlan, Measured, SessionPlan, measure};
use stowplan_model::{CallbackRef, DdsProfile, Partition, Stack, Trigger};
use stowplan_plan::{Choice, Preset};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_site::Site;
use stowplan_stats::t_interval;
use stowplan_testkit::{agent_program, command_plan, node_program, private_state};
use stowplan_wire::announce::{Age, Announcement};
use stowplan_wire::deployment::{Program, ServiceStart};
use stowplan_wire::service::ServicePlan;

const PAIRS: u32 = 20;
const WINDOW_S: u64 = 10;
const WARM_UP: Duration = Duration::from_secs(1);

/// What all runs share.
struct Bench {
    instrument: Instrument,
    scale: f64,
    host: Rc<AgentHost>,
    stack: Stack,
    partition: Partition,
    image: Image,
    pairs: u32,
    window: Duration,
    ends: Vec<End>,
}

/// A callback of the chain up to which ages are taken.
struct End {
    node: String,
    callback: String,
    name: String,
}

/// The chain's end, and the last callback before its first timer: a timer that samples data makes the mean jump by its
/// period when the data comes a little later or earlier, which hides what an instrument does.
fn ends(stack: &Stack) -> Vec<End> {
    let chain = &stack.chains[0].callbacks;
    let is_timer = |callback: &&CallbackRef| {
        let nodes = stack.nodes.iter().filter(|node| node.name == callback.node);
        nodes
            .flat_map(|node| &node.callbacks)
            .any(|c| c.name == callback.callback && matches!(c.trigger, Trigger::Timer { .. }))
    };
    let before_timer = chain
        .iter()
        .skip(1)
        .take_while(|callback| !is_timer(callback));
    let ends = before_timer.last().into_iter().chain(chain.last());
    ends.map(|end| End {
        node: end.node.to_string(),
        callback: end.callback.to_string(),
        name: format!("{}/{}", end.node, end.callback),
    })
    .collect()
}

/// What a run has or has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instrument {
    /// The trace of the nodes.
    Recording,
    /// CPU time and memory of services and processes, each 200 ms.
    Sampling,
    /// The context switches of the CPUs.
    Preemption,
}

impl Instrument {
    fn named(name: &str) -> Option<Self> {
        match name {
            "recording" => Some(Self::Recording),
            "sampling" => Some(Self::Sampling),
            "preemption" => Some(Self::Preemption),
            _ => None,
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let name = args.next().unwrap_or_else(|| "recording".to_owned());
    let instrument = Instrument::named(&name).expect("recording, sampling or preemption");
    let pairs = args
        .next()
        .map_or(PAIRS, |n| n.parse().expect("a number of pairs"));
    let window_s = args
        .next()
        .map_or(WINDOW_S, |n| n.parse().expect("seconds"));
    let stack = args.next().unwrap_or_else(|| "hello".to_owned());
    let scale = args.next().map_or(1.0, |n| n.parse().expect("a factor"));
    let bench = Bench::new(
        instrument,
        pairs,
        Duration::from_secs(window_s),
        &stack,
        scale,
    );
    let mut logs = vec![Vec::new(); bench.ends.len()];
    println!(
        "{stack}: ms with {name} / without, and the difference, up to each of these callbacks:"
    );
    println!(
        "pair  {}",
        bench
            .ends
            .iter()
            .map(|end| format!("{:>34}", end.name))
            .collect::<String>()
    );
    for pair in 0..pairs {
        // Which of the two comes first alternates.
        let first = pair % 2 == 0;
        let one = bench.mean_ages_ms(pair, first);
        let other = bench.mean_ages_ms(pair, !first);
        let (on, off) = if first { (one, other) } else { (other, one) };
        print!("{:4}  ", pair + 1);
        for ((on, off), logs) in on.iter().zip(&off).zip(&mut logs) {
            logs.push((on / off).ln());
            print!("{on:13.4} /{off:9.4} {:+7.3} %", (on / off - 1.0) * 100.0);
        }
        println!();
    }
    for (end, logs) in bench.ends.iter().zip(&logs) {
        conclude(&end.name, logs);
    }
}

/// What the instrument changes, with its 95 % interval; equivalent is what the 90 % interval says, as in all of Stowplan.
fn conclude(name: &str, logs: &[f64]) {
    let pairs = logs.len();
    let (Ok(interval), Ok(inner)) = (t_interval(logs, 0.95), t_interval(logs, 0.90)) else {
        return println!("{name}: no interval from {pairs} pairs");
    };
    let percent = |log: f64| log.exp_m1() * 100.0;
    let mean = percent(logs.iter().sum::<f64>() / pairs as f64);
    let (low, high) = (percent(interval.low), percent(interval.high));
    let within = percent(inner.low) > -1.0 && percent(inner.high) < 1.0;
    let verdict = if within {
        "equivalent at 1 %"
    } else {
        "not shown to be equivalent at 1 %"
    };
    println!("{name}: {mean:+.3} % [{low:+.3}, {high:+.3}], {pairs} pairs: {verdict}");
}

impl Bench {
    fn new(instrument: Instrument, pairs: u32, window: Duration, stack: &str, scale: f64) -> Self {
        let spec = stowplan_spec::find_spec(stack, Path::new(".")).expect("a stack");
        let stack = spec.into_stack();
        let libs = start_up_files(&stack).into_iter();
        let image = ImageSpec {
            node_program: node_program().to_owned(),
            libs: libs.map(|(path, bytes)| LibFile { path, bytes }).collect(),
        };
        let state = [("STOWPLAN_STATE", private_state().as_os_str())];
        Self {
            instrument,
            scale,
            host: AgentHost::spawn_with(agent_program(), &state).expect("the agent starts"),
            partition: stowplan_plan::partition(&stack, &Choice::Preset(Preset::Modules))
                .expect("a partition"),
            image: stowplan_image::build(&image, private_state()).expect("the image"),
            ends: ends(&stack),
            stack,
            pairs,
            window,
        }
    }

    /// Mean age of the data at each of the ends.
    fn mean_ages_ms(&self, pair: u32, with: bool) -> Vec<f64> {
        let run = format!("instrument-{}-{pair}-{with}", std::process::id());
        // Ages need no trace; the other instruments are tried as they are used, beside one.
        let record = self.instrument != Instrument::Recording || with;
        let sampled = self.instrument != Instrument::Sampling || with;
        let participants = self.stack.placed(&self.partition).len() + self.partition.services.len();
        let domain = self.host.free_domain(u64::from(pair), participants);
        let domain = domain.expect("a free domain");
        let services = lower(
            &self.stack,
            &self.partition,
            &LowerOptions {
                run: run.clone(),
                domain,
                seed: 1,
                block: pair,
                phases: PhaseDraw {
                    seed: 1,
                    block: pair,
                    blocks: self.pairs,
                },
                natural_phase: false,
                phase_spans: Vec::new(),
                injection: None,
                launching: stowplan_model::Launching::Ros2,
                work_scale: self.scale,
                record,
                record_callback_cpu: false,
                replay: Vec::new(),
            },
        );
        let mut deployment = command_plan(&run, "", Some("flat"), &[]);
        deployment.image_dir = self.image.dir.display().to_string();
        deployment.services = services.iter().map(start).collect();
        let engine = RemoteEngine::new(&self.host, "bare").expect("the engine");
        let trace = tempfile::tempdir().expect("a folder");
        let host = HostPlan {
            site: self.host.clone(),
            engine: &engine,
            services: &services,
            deployment,
            real: &[],
            cold: None,
        };
        let plan = SessionPlan {
            hosts: vec![host],
            domain,
            cyclonedds_xml: &cyclonedds_xml(DdsConfig {
                domain: Some(domain),
                ..DdsConfig::new(DdsProfile::Stowplan, participants, false)
            }),
            ring_bytes: 32 << 20,
            stall_timeout: Duration::from_secs(60),
            warm_up: WARM_UP,
            window: Some(self.window),
            preemption: self.instrument == Instrument::Preemption && with,
            // Longer than any run.
            sample_period: Duration::from_millis(if sampled { 200 } else { 3_600_000 }),
            trace_dir: trace.path(),
        };
        let measured = measure(&plan).expect("the run");
        let ages = self
            .ends
            .iter()
            .map(|end| age_at(end, &services, &measured));
        ages.map(|age| age.sum_ns as f64 / age.count as f64 / 1e6)
            .collect()
    }
}

fn start(service: &ServicePlan) -> ServiceStart {
    ServiceStart::new(&*service.service, Program::Node)
}

fn age_at(end: &End, services: &[ServicePlan], measured: &Measured) -> Age {
    let nodes = services
        .iter()
        .flat_map(|s| &s.processes)
        .flat_map(|p| &p.nodes);
    let callback = nodes
        .filter(|node| node.name == end.node)
        .flat_map(|node| &node.callbacks)
        .find(|callback| callback.name == end.callback)
        .expect("the callback");
    let ages = measured
        .announcements()
        .filter_map(|a| match &a.announcement {
            Announcement::Counters { ages, .. } => ages.get(&callback.id).copied(),
            _ => None,
        });
    ages.reduce(|a, b| Age {
        count: a.count + b.count,
        sum_ns: a.sum_ns + b.sum_ns,
    })
    .filter(|age| age.count > 0)
    .expect("data came to the chain's end")
}
