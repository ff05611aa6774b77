//! When services and modules came up, for the page.

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_judge::{DeploymentStartup, DeploymentUsage, ServiceTimes, Spread, engine_program};

use super::whole;

/// How a part of an orchestrator begins among the programs of an engine (docs/results.md).
const PART: &str = "orchestrator ";

#[derive(Serialize)]
pub(super) struct Startup<'a> {
    deployment: &'a str,
    start: &'static str,
    /// An orchestrator starts its services.
    orchestrated: bool,
    runs: Vec<StartupRun>,
    modules: Vec<Module<'a>>,
    services: Vec<Service<'a>>,
}

#[derive(Serialize)]
struct StartupRun {
    run: u32,
    block: u32,
    /// ns since t0 by instant.
    ns: BTreeMap<&'static str, i64>,
}

/// Quartiles in ns.
type Quartiles = Option<[i64; 3]>;

#[derive(Serialize)]
struct Module<'a> {
    module: &'a str,
    begin: Quartiles,
    end: Quartiles,
    took: Quartiles,
}

/// Medians of when a service came up, ns since t0.
#[derive(Serialize)]
struct Service<'a> {
    service: &'a str,
    scheduled: Option<i64>,
    sandbox: Option<i64>,
    container_created: Option<i64>,
    first_instruction: Option<i64>,
    launch_ready: Option<i64>,
    first_load: Option<i64>,
    last_loaded: Option<i64>,
    matched: Option<i64>,
    first_output: Option<i64>,
}

pub(super) fn one<'a>(view: &'a DeploymentStartup, usage: &[DeploymentUsage]) -> Startup<'a> {
    Startup {
        deployment: &view.deployment,
        start: view.start.word(),
        orchestrated: is_orchestrated(view, usage),
        runs: view
            .runs
            .iter()
            .map(|run| StartupRun {
                run: run.run,
                block: run.block,
                ns: run
                    .instants
                    .iter()
                    .map(|(instant, ns)| (instant.key(), whole(*ns)))
                    .collect(),
            })
            .collect(),
        modules: view
            .modules
            .iter()
            .map(|m| Module {
                module: &m.module,
                begin: quartiles(m.begin),
                end: quartiles(m.end),
                took: quartiles(m.took),
            })
            .collect(),
        services: view.services.iter().map(service).collect(),
    }
}

/// Whether the engine has told where services were placed, or parts of an orchestrator were measured beside them.
fn is_orchestrated(view: &DeploymentStartup, usage: &[DeploymentUsage]) -> bool {
    let own = usage.iter().filter(|of| of.deployment == view.deployment);
    let mut subjects = own.flat_map(|of| &of.runs).flat_map(|run| run.cpus.keys());
    let is_part = |subject: &String| engine_program(subject).is_some_and(|of| of.starts_with(PART));
    view.services.iter().any(|of| of.scheduled.is_some()) || subjects.any(is_part)
}

fn service(of: &ServiceTimes) -> Service<'_> {
    let median = |spread: Option<Spread>| spread.map(|s| whole(s.q50));
    Service {
        service: &of.service,
        scheduled: median(of.scheduled),
        sandbox: median(of.sandbox),
        container_created: median(of.container_created),
        first_instruction: median(of.first_instruction),
        launch_ready: median(of.launch_ready),
        first_load: median(of.first_load),
        last_loaded: median(of.last_loaded),
        matched: median(of.matched),
        first_output: median(of.first_output),
    }
}

fn quartiles(spread: Option<Spread>) -> Quartiles {
    spread.map(|s| [whole(s.q25), whole(s.q50), whole(s.q75)])
}
