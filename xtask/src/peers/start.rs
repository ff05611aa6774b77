//! Start of many small services, in all ways that this machine has.

use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_host::Host;
use stowplan_image::ImageSpec;
use stowplan_remote::{AgentHost, Network};
use stowplan_site::Site as _;
use stowplan_stats::williams;
use stowplan_wire::deployment::DeploymentPlan;

use super::build::Workspace;
use super::error::PeersError;
use super::figures::{self, Series, median};
use super::interruption::Interruption;
use super::outstanding::{Alone, alone};
use super::services::{deployment, open_run, watch};
use super::ways::{Ground, REFERENCE, SAME, StartMethod, Starter, WAYS};

/// Longest wait until the machine is quiet before a start.
const QUIET: Duration = Duration::from_secs(5);

/// What is started, and how.
pub struct Wanted<'a> {
    /// How many services.
    pub services: u16,
    /// Names of ways; all where there is none.
    pub ways: &'a [String],
}

/// A way that this machine has, and what was measured of it.
struct Contender {
    way: StartMethod,
    starter: Starter,
    /// From the first request to the last first instruction, in ms.
    spans: Series,
    prepares: Vec<f64>,
    alone: Vec<Alone>,
    quiet: usize,
}

/// What one start took.
struct Start {
    prepare_ms: f64,
    span_ms: f64,
    alone: Option<Alone>,
    was_quiet: bool,
}

/// Measures and prints.
pub fn row(workspace: &Workspace, rounds: usize, wanted: &Wanted<'_>) -> Result<(), PeersError> {
    let interruption = Interruption::listen()?;
    let programs = workspace.static_programs()?;
    let spec = ImageSpec {
        node_program: programs.join("stowplan-node"),
        libs: Vec::new(),
    };
    let folder = workspace.peers();
    let ground = Ground {
        agent: programs.join("stowplan-agent"),
        image: stowplan_image::build(&spec, &folder.join("store"))?.dir,
        folder,
    };
    let mut contenders = open(&ground, wanted)?;
    for (block, order) in williams(contenders.len(), rounds, 0).iter().enumerate() {
        let begin = Instant::now();
        for index in order {
            let contender = &mut contenders[*index];
            interruption.check()?;
            let start = contender.start(&ground, wanted.services, &interruption);
            // An agent in the same terminal ends by the same Ctrl-C: that is what its caller has to tell then.
            let start = start.or_else(|error| interruption.check().and(Err(error)))?;
            contender.keep(&start);
        }
        eprintln!(
            "block {} of {rounds}: {:.0} s",
            block + 1,
            begin.elapsed().as_secs_f64()
        );
    }
    print(&contenders, wanted.services, rounds)
}

/// Those of the wanted ways that work here; says why the others do not.
fn open(ground: &Ground, wanted: &Wanted<'_>) -> Result<Vec<Contender>, PeersError> {
    let agent = AgentHost::spawn(&ground.agent, Network::Machine)?;
    let mut contenders = Vec::new();
    let is_wanted =
        |way: &&StartMethod| wanted.ways.is_empty() || wanted.ways.iter().any(|w| w == way.name);
    for way in WAYS.iter().filter(is_wanted) {
        match Starter::open(way, ground, &agent) {
            Ok(starter) => contenders.push(Contender {
                way: *way,
                starter,
                spans: Series::named(way.name),
                prepares: Vec::new(),
                alone: Vec::new(),
                quiet: 0,
            }),
            Err(error) => println!("left out: {}: {}", way.name, error.report()),
        }
    }
    if contenders.is_empty() {
        return Err(PeersError::missing(
            "every way to start services",
            "see above what each of them needs",
        ));
    }
    Ok(contenders)
}

impl Contender {
    /// Prepares, starts and removes all services once.
    fn start(
        &self,
        ground: &Ground,
        services: u16,
        interruption: &Interruption,
    ) -> Result<Start, PeersError> {
        let agent = AgentHost::spawn(&ground.agent, Network::Machine)?;
        let run_dir = open_run(&agent, services)?;
        let way = &self.way;
        let plan = deployment(
            &run_dir,
            &ground.image,
            services,
            way.variant,
            way.isolation,
        );
        let start = self.measure(&agent, &plan, interruption);
        // Also after an error: the ledger goes with the run.
        let closed = agent.close_run();
        let start = start?;
        closed?;
        Ok(start)
    }

    fn measure(
        &self,
        agent: &Rc<AgentHost>,
        plan: &DeploymentPlan,
        interruption: &Interruption,
    ) -> Result<Start, PeersError> {
        let begin_ns = agent.clock()?;
        let mut prepared = self.starter.prepare(agent, plan)?;
        let prepare_ns = agent.clock()?.saturating_sub(begin_ns);
        let quiet = agent.quiet(u64::try_from(QUIET.as_millis()).unwrap_or(u64::MAX))?;
        interruption.check()?;
        let begin_ns = agent.clock()?;
        prepared.start()?;
        let first = watch(agent, plan, interruption)?;
        let requests = prepared.requests()?;
        prepared.remove()?;
        let end_ns = first.values().copied().max().unwrap_or(begin_ns);
        Ok(Start {
            prepare_ms: ms(prepare_ns),
            span_ms: ms(end_ns.saturating_sub(begin_ns)),
            alone: alone(begin_ns..end_ns, &requests, &first),
            was_quiet: quiet.quiet,
        })
    }

    fn keep(&mut self, start: &Start) {
        self.spans.values.push(start.span_ms);
        self.prepares.push(start.prepare_ms);
        self.alone.extend(start.alone);
        self.quiet += usize::from(start.was_quiet);
    }

    /// What its span has, and Stowplan's part in it.
    fn describe(&self) -> Result<String, PeersError> {
        let told = self.starter.describe()?;
        let told = told.map_or_else(String::new, |told| format!(" ({told})"));
        let own: Vec<f64> = self.alone.iter().map(|one| 100.0 * one.own).collect();
        let coming_up: Vec<f64> = self.alone.iter().map(|one| 100.0 * one.coming_up).collect();
        let shares = match own.iter().copied().reduce(f64::max) {
            None => format!("{:>8} {:>8} {:>10}", "–", "–", "–"),
            Some(most) => format!(
                "{:>8.2} {most:>8.2} {:>10.2}",
                median(&own)?,
                median(&coming_up)?
            ),
        };
        Ok(format!(
            "  {:<16} {shares}   {}{told}",
            self.way.name, self.way.span
        ))
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn print(contenders: &[Contender], services: u16, rounds: usize) -> Result<(), PeersError> {
    let place = |name: &str| contenders.iter().position(|one| one.way.name == name);
    let series: Vec<Series> = contenders.iter().map(|one| one.spans.clone()).collect();
    let title = format!(
        "start of {services} services, all at once: from before the first request to the last one's first instruction"
    );
    figures::print(&title, "ms", &series, place(REFERENCE).unwrap_or(0))?;
    if let [Some(ours), Some(theirs)] = SAME.map(place) {
        let pair = [series[ours].clone(), series[theirs].clone()];
        figures::print("the same configuration twice", "ms", &pair, 1)?;
    }
    println!(
        "\nshares of a span without a request of Stowplan's outstanding, %: before the last answer, and after it"
    );
    println!(
        "  {:<16} {:>8} {:>8} {:>10}   what a span has",
        "", "median", "greatest", "after it"
    );
    for contender in contenders {
        println!("{}", contender.describe()?);
    }
    if let Some(oci) = place(REFERENCE) {
        println!(
            "  before that, and not in it: prepare of {REFERENCE} starts its {services} helper processes, median {:.2} ms",
            median(&contenders[oci].prepares)?
        );
    }
    let quiet: usize = contenders.iter().map(|one| one.quiet).sum();
    println!(
        "  {quiet} of {} starts began on a quiet machine (less than 3 % busy for two seconds)",
        contenders.len() * rounds
    );
    Ok(())
}
