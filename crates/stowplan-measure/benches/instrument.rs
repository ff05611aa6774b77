//! What recording does to latency: the mean age of data at the end of a chain, from the payload's own origin time, with
//! recording and without, in pairs of runs of `hello` on `bare:flat`. Both runs of a pair have equal phases and draws.
//!
//! `cargo bench -p stowplan-measure --bench recording -- [PAIRS [WINDOW_S]]`

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_image::{Image, ImageSpec, LibFile};
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml, free_domain};
use stowplan_measure::lower::{LowerOptions, lower, start_up_files};
use stowplan_measure::phases::PhaseDraw;
use stowplan_measure::{Measured, SessionPlan, measure};
use stowplan_model::{CallbackRef, DdsProfile, Partition, Stack, Trigger};
use stowplan_plan::{Choice, Preset};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_stats::t_interval;
use stowplan_testkit::{agent_program, command_plan, node_program, private_state};
use stowplan_wire::announce::{Age, Announcement};
use stowplan_wire::deployment::{LimitsPlan, Program, ServiceStart};
use stowplan_wire::service::ServicePlan;

const PAIRS: u32 = 20;
const WINDOW_S: u64 = 10;
const WARM_UP: Duration = Duration::from_secs(1);

/// What all runs share.
struct Bench {
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
/// period when the data comes a little later or earlier, which hides what recording does.
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

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let pairs = numbers
        .first()
        .map_or(PAIRS, |n| u32::try_from(*n).expect("pairs"));
    let window = Duration::from_secs(numbers.get(1).copied().unwrap_or(WINDOW_S));
    let bench = Bench::new(pairs, window);
    let mut logs = vec![Vec::new(); bench.ends.len()];
    println!("ms recorded / not recorded, and the difference, up to each of these callbacks:");
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

/// What recording changes, with its 95 % interval; equivalent is what the 90 % interval says, as in all of Stowplan.
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
    fn new(pairs: u32, window: Duration) -> Self {
        let spec = stowplan_spec::find_spec("hello", Path::new(".")).expect("hello is shipped");
        let stack = spec.into_stack();
        let libs = start_up_files(&stack).into_iter();
        let image = ImageSpec {
            node_program: node_program().to_owned(),
            libs: libs.map(|(path, bytes)| LibFile { path, bytes }).collect(),
        };
        let state = [("STOWPLAN_STATE", private_state().as_os_str())];
        Self {
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
    fn mean_ages_ms(&self, pair: u32, record: bool) -> Vec<f64> {
        let run = format!("recording-{}-{pair}-{record}", std::process::id());
        let participants = 30;
        let domain = free_domain(u64::from(pair), participants).expect("a free domain");
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
                work_scale: 1.0,
                record,
                record_callback_cpu: false,
            },
        );
        let mut deployment = command_plan(&run, "", Some("flat"), &[]);
        deployment.image_dir = self.image.dir.display().to_string();
        deployment.services = services.iter().map(start).collect();
        let engine = RemoteEngine::new(&self.host, "bare").expect("the engine");
        let trace = tempfile::tempdir().expect("a folder");
        let plan = SessionPlan {
            services: &services,
            deployment,
            real: &[],
            domain,
            cyclonedds_xml: &cyclonedds_xml(DdsConfig {
                domain: Some(domain),
                ..DdsConfig::new(DdsProfile::Stowplan, participants, false)
            }),
            ring_bytes: 32 << 20,
            cold: None,
            stall_timeout: Duration::from_secs(60),
            warm_up: WARM_UP,
            window: Some(self.window),
            preemption: false,
            sample_period: Duration::from_millis(200),
            trace_dir: trace.path(),
        };
        let measured = measure(&self.host, &engine, &plan).expect("the run");
        let ages = self
            .ends
            .iter()
            .map(|end| age_at(end, &services, &measured));
        ages.map(|age| age.sum_ns as f64 / age.count as f64 / 1e6)
            .collect()
    }
}

fn start(service: &ServicePlan) -> ServiceStart {
    ServiceStart {
        name: service.service.clone(),
        program: Program::Node,
        limits: LimitsPlan::default(),
        log: String::new(),
    }
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
        .announcements
        .iter()
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
