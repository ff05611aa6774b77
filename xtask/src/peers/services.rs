//! Small services, equal for all ways to start them, and when each has run its first instruction.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use stowplan_remote::AgentHost;
use stowplan_site::Site as _;
use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{DeploymentPlan, IsolationPlan, Program, ServiceStart};
use stowplan_wire::service::{LaunchPlan, ServicePlan};

use super::error::PeersError;
use super::interruption::Interruption;

/// Longest time until all services are up once what starts them has done its part.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest wait before a look at whether to go on, in ms.
const LOOK_MS: u64 = 200;

/// Opens a run with so many services, each with an announce socket that containers of every kind use; gives its folder.
pub fn open_run(agent: &AgentHost, services: u16) -> Result<String, PeersError> {
    let services = names(services).map(service_plan).collect();
    Ok(agent.open_run(&run_name(), services, String::new(), 0)?)
}

/// What an engine is to start: the services of [`open_run`].
pub fn deployment(
    run_dir: &str,
    image: &Path,
    services: u16,
    variant: Option<&str>,
    isolation: IsolationPlan,
) -> DeploymentPlan {
    let start = |name: String| ServiceStart {
        log: format!("{run_dir}/{name}/service.log"),
        ..ServiceStart::new(name, Program::Node)
    };
    DeploymentPlan {
        run: run_name(),
        run_dir: run_dir.to_owned(),
        variant: variant.map(str::to_owned),
        image_dir: image.display().to_string(),
        services: names(services).map(start).collect(),
        isolation,
        parallelism: 0,
    }
}

/// Listens until the first process of every service has said that it runs; gives when it ran its first instruction, in ns
/// of CLOCK_MONOTONIC, by service.
pub fn watch(
    agent: &AgentHost,
    plan: &DeploymentPlan,
    interruption: &Interruption,
) -> Result<BTreeMap<String, u64>, PeersError> {
    let deadline = Instant::now() + PATIENCE;
    let mut heard = Vec::new();
    loop {
        let up = first_instructions(&heard);
        let names = plan.services.iter().map(|service| service.name.as_str());
        let missing: Vec<&str> = names.filter(|name| !up.contains_key(*name)).collect();
        if missing.is_empty() {
            return Ok(up);
        }
        interruption.check()?;
        if Instant::now() >= deadline {
            let missing = missing.join(", ");
            return Err(PeersError::output(
                format!("services {missing} did not come up within {PATIENCE:?}; what was heard"),
                &format!("{heard:#?}"),
            ));
        }
        heard.extend(agent.watch(LOOK_MS)?.announcements);
    }
}

fn first_instructions(heard: &[Announced]) -> BTreeMap<String, u64> {
    let mut first = BTreeMap::new();
    for one in heard {
        if let Announcement::Up {
            process: None,
            first_instruction_ns,
            ..
        } = one.announcement
        {
            first
                .entry(one.service.clone())
                .or_insert(first_instruction_ns);
        }
    }
    first
}

fn names(services: u16) -> impl Iterator<Item = String> {
    (0..services).map(|number| format!("s{number}"))
}

/// Begins with a number, as every run's name: `stowplan clean` works ledgers off by name, containers before their images.
fn run_name() -> String {
    format!("{}-peers", std::process::id())
}

/// A launcher that launches nothing.
fn service_plan(service: String) -> ServicePlan {
    ServicePlan {
        build_id: stowplan_wire::build_id(),
        run: run_name(),
        service,
        domain: 0,
        seed: 0,
        record: false,
        record_callback_cpu: false,
        recordings: Vec::new(),
        answers: false,
        launch: Some(LaunchPlan {
            start_iterations: 0,
            entity_iterations: 0,
            files: Vec::new(),
            memory_bytes: 0,
        }),
        topics: Vec::new(),
        processes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(service: &str, process: Option<&str>, first_instruction_ns: u64) -> Announced {
        Announced {
            host: String::new(),
            service: service.into(),
            pid: 1,
            announcement: Announcement::Up {
                process: process.map(str::to_owned),
                first_instruction_ns,
                build_id: String::new(),
            },
        }
    }

    #[test]
    fn only_first_processes_count() {
        let heard = [
            up("a", None, 5),
            up("a", Some("p"), 9),
            up("b", None, 7),
            up("c", Some("p"), 1),
        ];
        let expected = BTreeMap::from([("a".to_owned(), 5), ("b".to_owned(), 7)]);
        assert_eq!(first_instructions(&heard), expected);
    }
}
