//! Start of many small services: `oci` beside `bare` and beside `runc run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stowplan_engine::Engine;
use stowplan_host::Host;
use stowplan_remote::{AgentHost, Network, RemoteEngine};
use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{
    DeploymentPlan, IsolationPlan, LimitsPlan, Program, Select, ServiceStart, StopMode,
};
use stowplan_wire::service::{LaunchPlan, ServicePlan};

use super::build::{Workspace, installed};
use super::error::PeersError;
use super::figures::{self, Series, median, order};
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

/// Where `oci` stands in [`CONTENDERS`].
const OCI: usize = 0;

/// What a block took, in milliseconds.
struct Block {
    prepare_ms: f64,
    start_ms: f64,
}

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
    let setting = Setting {
        runc: Runc::new(installed("runc", "runc")?, &workspace.peers()),
        agent,
        image,
    };
    let mut series: Vec<Series> = CONTENDERS
        .iter()
        .map(|(name, _)| Series::named(*name))
        .collect();
    let mut prepares = Series::named("prepare of oci");
    for round in 0..rounds {
        for index in order(round, CONTENDERS.len()) {
            let block = setting.block(CONTENDERS[index].1)?;
            series[index].values.push(block.start_ms);
            if index == OCI {
                prepares.values.push(block.prepare_ms);
            }
        }
    }
    let title =
        format!("create and start of {SERVICES} services until each has run its first instruction");
    figures::print(&title, "ms", &series, CONTENDERS.len() - 1)?;
    println!(
        "  before that, and not in it: prepare of oci starts its {SERVICES} helper processes, median {:.2} ms",
        median(&prepares.values)?
    );
    Ok(())
}

impl Setting {
    /// Prepares, starts and removes all services once. Start: from before create until the last service's first
    /// process runs.
    fn block(&self, way: Way) -> Result<Block, PeersError> {
        let agent = AgentHost::spawn(&self.agent, Network::Machine)?;
        let run_dir = open_run(&agent)?;
        let prepare_ns = agent.clock()?;
        let (begin_ns, heard) = match way {
            Way::Engine {
                engine,
                variant,
                isolation,
            } => {
                let plan = deployment(&run_dir, &self.image, variant, isolation);
                let engine = RemoteEngine::new(&agent, engine)?;
                let mut deployment = engine.prepare(&plan, agent.clone())?;
                let begin_ns = agent.clock()?;
                deployment.create(&Select::All)?;
                deployment.start(&Select::All)?;
                let heard = watch(&agent)?;
                deployment.stop(&Select::All, StopMode::Kill)?;
                deployment.destroy()?;
                (begin_ns, heard)
            }
            Way::Runc => {
                let plan = deployment(&run_dir, &self.image, None, ISOLATION);
                let bundles = self.runc.bundles(&plan, &self.image)?;
                let begin_ns = agent.clock()?;
                let containers = self.runc.start(&bundles)?;
                let heard = watch(&agent)?;
                containers.remove()?;
                (begin_ns, heard)
            }
        };
        agent.close_run()?;
        let last_ns = first_instructions(&heard).max().unwrap_or(begin_ns);
        Ok(Block {
            prepare_ms: begin_ns.saturating_sub(prepare_ns) as f64 / 1e6,
            start_ms: last_ns.saturating_sub(begin_ns) as f64 / 1e6,
        })
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

/// Listens until every service's first process has said that it runs.
fn watch(agent: &AgentHost) -> Result<Vec<Announced>, PeersError> {
    let deadline = Instant::now() + PATIENCE;
    let mut heard = Vec::new();
    while first_instructions(&heard).count() < SERVICES {
        if Instant::now() >= deadline {
            return Err(PeersError::output(
                format!("not all services came up within {PATIENCE:?}; what was heard"),
                &format!("{heard:#?}"),
            ));
        }
        heard.extend(agent.watch(200)?.announcements);
    }
    Ok(heard)
}

fn run_name() -> String {
    format!("peers-{}", std::process::id())
}

/// The run folder with an announce socket for each service; containers of `runc` use them too.
fn open_run(agent: &AgentHost) -> Result<String, PeersError> {
    let services = names().into_iter().map(service_plan).collect();
    Ok(agent.open_run(&run_name(), services, String::new(), 0)?)
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
    }
}
