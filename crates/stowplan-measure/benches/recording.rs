//! What recording does to latency: the mean age of data at the end of a chain, from the payload's own origin time, with
//! recording and without, in pairs of runs of `hello` on `bare:flat`. Both runs of a pair have equal phases and draws.
//!
//! `cargo bench -p stowplan-measure --bench recording -- [PAIRS [WINDOW_S]]`

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_image::{Image, ImageSpec, LibFile};
use stowplan_measure::dds::{DdsProfile, cyclonedds_xml, free_domain};
use stowplan_measure::lower::{LowerOptions, lower, start_up_files};
use stowplan_measure::{Measured, SessionPlan, measure};
use stowplan_model::{Partition, Stack};
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
}

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let pairs = numbers
        .first()
        .map_or(PAIRS, |n| u32::try_from(*n).expect("pairs"));
    let window = Duration::from_secs(numbers.get(1).copied().unwrap_or(WINDOW_S));
    let bench = Bench::new(pairs, window);
    println!("pair   recorded ms   not recorded ms   difference %");
    let mut logs = Vec::new();
    for pair in 0..pairs {
        // Which of the two comes first alternates.
        let first = pair % 2 == 0;
        let one = bench.mean_age_ms(pair, first);
        let other = bench.mean_age_ms(pair, !first);
        let (on, off) = if first { (one, other) } else { (other, one) };
        logs.push((on / off).ln());
        println!(
            "{:4} {on:13.4} {off:17.4} {:14.3}",
            pair + 1,
            (on / off - 1.0) * 100.0
        );
    }
    let Ok(interval) = t_interval(&logs, 0.95) else {
        return println!("no interval from {pairs} pairs");
    };
    let percent = |log: f64| log.exp_m1() * 100.0;
    let mean = logs.iter().sum::<f64>() / f64::from(pairs);
    let (low, high) = (percent(interval.low), percent(interval.high));
    println!(
        "recording changes the mean by {:+.3} % [{low:+.3}, {high:+.3}], {pairs} pairs",
        percent(mean)
    );
    let within = low > -1.0 && high < 1.0;
    println!(
        "{}",
        if within {
            "equivalent at 1 %"
        } else {
            "not shown to be equivalent at 1 %"
        }
    );
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
            stack,
            pairs,
            window,
        }
    }

    /// Mean age of the data at the end of the stack's first chain.
    fn mean_age_ms(&self, pair: u32, record: bool) -> f64 {
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
                blocks: self.pairs,
                natural_phase: false,
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
            cyclonedds_xml: &cyclonedds_xml(DdsProfile {
                domain: Some(domain),
                ..DdsProfile::for_participants(participants)
            }),
            ring_bytes: 32 << 20,
            cold: None,
            stall_timeout: Duration::from_secs(60),
            warm_up: WARM_UP,
            window: Some(self.window),
            sample_period: Duration::from_millis(200),
            trace_dir: trace.path(),
        };
        let measured = measure(&self.host, &engine, &plan).expect("the run");
        let age = age_at_the_end(&self.stack, &services, &measured);
        age.sum_ns as f64 / age.count as f64 / 1e6
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

fn age_at_the_end(stack: &Stack, services: &[ServicePlan], measured: &Measured) -> Age {
    let end = stack.chains[0].callbacks.last().expect("a callback");
    let nodes = services
        .iter()
        .flat_map(|s| &s.processes)
        .flat_map(|p| &p.nodes);
    let callback = nodes
        .filter(|node| node.name == end.node.as_str())
        .flat_map(|node| &node.callbacks)
        .find(|callback| callback.name == end.callback.as_str())
        .expect("the chain's last callback");
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
