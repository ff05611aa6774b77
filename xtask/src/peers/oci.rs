//! Start of many small services: `oci` beside `bare` and beside `runc run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stowplan_wire::agent::{Announced, Answer, Call};
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{
    DeploymentPlan, IsolationPlan, LimitsPlan, Program, Select, ServiceStart, StopMode,
};
use stowplan_wire::service::{LaunchPlan, ServicePlan};

use super::agent::Agent;
use super::build::{Workspace, installed};
use super::error::PeersError;
use super::figures::{self, Series, order};
use super::runc::Runc;

/// As in the largest partition of the papers.
const SERVICES: usize = 26;

/// Longest time for all services to come up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What Docker isolates by default, on the host's network. The root file system is a folder for every contender:
/// `runc` mounts no overlay.
const ISOLATION: IsolationPlan = IsolationPlan {
    mount: true,
    pid: true,
    ipc: true,
    uts: true,
    net: false,
    user: false,
    cgroup: true,
    read_only_root: false,
    overlay: false,
    seccomp: true,
    capabilities: true,
};

const NO_ISOLATION: IsolationPlan = IsolationPlan {
    mount: false,
    pid: false,
    ipc: false,
    uts: false,
    net: false,
    user: false,
    cgroup: false,
    read_only_root: false,
    overlay: false,
    seccomp: false,
    capabilities: false,
};

/// How services are started.
#[derive(Clone, Copy)]
enum Way {
    Engine {
        engine: &'static str,
        variant: Option<&'static str>,
        isolation: IsolationPlan,
    },
    Runc,
}

const CONTENDERS: [(&str, Way); 4] = [
    (
        "oci",
        Way::Engine {
            engine: "oci",
            variant: None,
            isolation: ISOLATION,
        },
    ),
    (
        "bare:flat",
        Way::Engine {
            engine: "bare",
            variant: Some("flat"),
            isolation: NO_ISOLATION,
        },
    ),
    (
        "bare:grouped",
        Way::Engine {
            engine: "bare",
            variant: Some("grouped"),
            isolation: NO_ISOLATION,
        },
    ),
    ("runc run", Way::Runc),
];

/// Everything that a block needs.
struct Setting {
    agent: PathBuf,
    image: PathBuf,
    runc: Runc,
}

/// Measures and prints.
pub fn row(workspace: &Workspace, rounds: usize) -> Result<(), PeersError> {
    let programs = workspace.static_programs()?;
    let image = image(workspace, &programs.join("stowplan-node"))?;
    let agent = programs.join("stowplan-agent");
    let bundle = bundle_of_oci(&agent, &image)?;
    let setting = Setting {
        runc: Runc::new(installed("runc", "runc")?, &workspace.peers(), bundle),
        agent,
        image,
    };
    let mut series: Vec<Series> = CONTENDERS.iter().map(|(name, _)| Series::named(*name)).collect();
    for round in 0..rounds {
        for index in order(round, CONTENDERS.len()) {
            let milliseconds = setting.block(CONTENDERS[index].1)?;
            series[index].values.push(milliseconds);
        }
    }
    let title = format!("create and start of {SERVICES} services until each has run its first instruction");
    figures::print(&title, "ms", &series, CONTENDERS.len() - 1)?;
    Ok(())
}

impl Setting {
    /// Milliseconds from before create until the last service's first process runs.
    fn block(&self, way: Way) -> Result<f64, PeersError> {
        let mut agent = Agent::start(&self.agent)?;
        let run_dir = open_run(&mut agent)?;
        let (begin_ns, heard) = match way {
            Way::Engine {
                engine,
                variant,
                isolation,
            } => {
                let plan = deployment(&run_dir, &self.image, variant, isolation);
                prepare(&mut agent, engine, plan)?;
                let begin_ns = clock(&mut agent)?;
                agent.call(Call::Create(Select::All))?;
                agent.call(Call::Start(Select::All))?;
                let heard = agent.watch(PATIENCE, all_up)?;
                agent.call(Call::Stop(Select::All, StopMode::Kill))?;
                agent.call(Call::Destroy)?;
                (begin_ns, heard)
            }
            Way::Runc => {
                let bundles = self.runc.bundles(&names(), &run_dir)?;
                let begin_ns = clock(&mut agent)?;
                let containers = self.runc.start(&bundles)?;
                let heard = agent.watch(PATIENCE, all_up)?;
                containers.remove()?;
                (begin_ns, heard)
            }
        };
        agent.call(Call::CloseRun)?;
        let last_ns = first_instructions(&heard).max().unwrap_or(begin_ns);
        Ok(last_ns.saturating_sub(begin_ns) as f64 / 1e6)
    }
}

fn names() -> Vec<String> {
    (0..SERVICES).map(|number| format!("s{number}")).collect()
}

fn first_instructions(heard: &[Announced]) -> impl Iterator<Item = u64> {
    heard.iter().filter_map(|one| match &one.announcement {
        Announcement::Up {
            process: None,
            first_instruction_ns,
            ..
        } => Some(*first_instruction_ns),
        _ => None,
    })
}

fn all_up(heard: &[Announced]) -> bool {
    first_instructions(heard).count() >= SERVICES
}

fn clock(agent: &mut Agent) -> Result<u64, PeersError> {
    match agent.call(Call::Clock)? {
        Answer::Clock(ns) => Ok(ns),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(answer: &Answer) -> PeersError {
    PeersError::output("the agent answered another call", &format!("{answer:?}"))
}

fn run_name() -> String {
    format!("peers-{}", std::process::id())
}

/// The run folder with an announce socket for each service; containers of `runc` use them too.
fn open_run(agent: &mut Agent) -> Result<String, PeersError> {
    let services = names().into_iter().map(service_plan).collect();
    let call = Call::OpenRun {
        run: run_name(),
        services,
        cyclonedds_xml: String::new(),
        ring_bytes: 0,
    };
    match agent.call(call)? {
        Answer::RunDir(folder) => Ok(folder),
        other => Err(unexpected(&other)),
    }
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
        launch: LaunchPlan {
            start_iterations: 0,
            entity_iterations: 0,
            files: Vec::new(),
            memory_bytes: 0,
        },
        topics: Vec::new(),
        processes: Vec::new(),
    }
}

fn deployment(
    run_dir: &str,
    image: &Path,
    variant: Option<&str>,
    isolation: IsolationPlan,
) -> DeploymentPlan {
    let start = |name: String| ServiceStart {
        log: format!("{run_dir}/{name}/service.log"),
        name,
        program: Program::Node,
        limits: LimitsPlan::default(),
    };
    DeploymentPlan {
        run: run_name(),
        run_dir: run_dir.to_owned(),
        variant: variant.map(str::to_owned),
        image_dir: image.display().to_string(),
        services: names().into_iter().map(start).collect(),
        isolation,
        parallelism: 0,
    }
}

fn prepare(agent: &mut Agent, engine: &str, plan: DeploymentPlan) -> Result<(), PeersError> {
    agent
        .call(Call::Prepare {
            engine: engine.to_owned(),
            plan: Box::new(plan),
        })
        .map(drop)
}

/// A root file system with nothing but the node program.
fn image(workspace: &Workspace, node: &Path) -> Result<PathBuf, PeersError> {
    let root = workspace.peers().join("rootfs");
    let make = || {
        for folder in ["files", "proc", "sys", "dev"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::copy(node, root.join("stowplan-node"))
    };
    make().map_err(PeersError::io(format!("make {}", root.display())))?;
    Ok(root)
}

/// The runtime configuration that our own engine uses, read from its helper: `runc` gets the same.
fn bundle_of_oci(program: &Path, image: &Path) -> Result<String, PeersError> {
    let mut agent = Agent::start(program)?;
    let run_dir = open_run(&mut agent)?;
    let plan = deployment(&run_dir, image, None, ISOLATION);
    prepare(&mut agent, "oci", plan)?;
    agent.call(Call::Create(Select::All))?;
    let Answer::Locators(locators) = agent.call(Call::Locators)? else {
        return Err(PeersError::output("the agent told no locators", ""));
    };
    let first = locators
        .first()
        .ok_or_else(|| PeersError::output("the engine created nothing", ""))?;
    let helper = parent(first.pid)?;
    let path = format!("/proc/{helper}/root{run_dir}/{}/.oci/bundle/config.json", first.service);
    let text = fs::read_to_string(&path).map_err(PeersError::io(format!("read {path}")))?;
    agent.call(Call::CloseRun)?;
    Ok(text)
}

fn parent(pid: u32) -> Result<u32, PeersError> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(PeersError::io(format!("read {path}")))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
        .ok_or_else(|| PeersError::output(format!("{path} names no parent"), &status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(process: Option<&str>, first_instruction_ns: u64) -> Announced {
        Announced {
            service: "s0".into(),
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
        let heard = [up(None, 5), up(Some("p"), 9), up(None, 7)];
        assert_eq!(first_instructions(&heard).collect::<Vec<_>>(), [5, 7]);
        assert!(!all_up(&heard));
    }

    #[test]
    fn our_own_parent_is_found() {
        assert_eq!(parent(std::process::id()).unwrap(), std::os::unix::process::parent_id());
    }
}
