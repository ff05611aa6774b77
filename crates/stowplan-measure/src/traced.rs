//! Real programs whose ROS 2 events are recorded through LTTng, beside the traces of the modelled nodes.
//!
//! The daemon is a child of this process and so in none of the services' control groups: what it uses is Stowplan's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use stowplan_engine::{Capabilities, IsolationFeature};
use stowplan_host::cgroup::{Group, processes};
use stowplan_host::process::tree_of;
use stowplan_host::{Host, HostError, chain};
use stowplan_lttng::{
    Buffers, Memory, Naming, ObservedProcess, Options, Produced, Recorder, Tools, look, produced,
    verdict,
};
use stowplan_model::RealService;
use stowplan_wire::deployment::{BindMount, DeploymentPlan, Locator, Program};

use crate::error::RunError;

/// Folder of LTTng's trace in that of a run: no service can have this name.
const FOLDER: &str = "_lttng";

/// What LTTng recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recording {
    /// Events in its trace, with its own.
    pub events: u64,
    /// Events that found no room.
    pub discarded: u64,
}

/// The recording of a run.
pub(crate) struct Traced {
    recorder: Recorder,
    buffers: Buffers,
    dir: PathBuf,
    /// Processes of the traced services, by pid.
    seen: BTreeMap<String, BTreeMap<u32, Looked>>,
}

/// A process, and how many looks it was there for.
struct Looked {
    seen: ObservedProcess,
    looks: u32,
}

impl Traced {
    /// Begins to record if a service asks for it.
    pub(crate) fn begin(
        real: &[RealService],
        trace_dir: &Path,
        run: &str,
        host: &dyn Host,
    ) -> Result<Option<Self>, RunError> {
        let traced: Vec<&RealService> = real.iter().filter(|service| service.trace).collect();
        if traced.is_empty() {
            return Ok(None);
        }
        let users: BTreeSet<Option<&str>> = traced.iter().map(|s| s.user.as_deref()).collect();
        let dir = trace_dir.join(FOLDER);
        let start = || -> Result<(Recorder, Buffers), HostError> {
            let buffers = Buffers::by_rule(Memory::of_this_machine()?, users.len() as u64)?;
            let options = Options {
                tools: &Tools::find()?,
                name: run,
                trace_dir: &dir,
                buffers,
                container: None,
            };
            let recorder = Recorder::start(&options, &mut |object| host.enter(object))?;
            Ok((recorder, buffers))
        };
        let (recorder, buffers) = start().map_err(RunError::from)?;
        let names = traced.iter().map(|service| service.name.to_string());
        Ok(Some(Self {
            recorder,
            buffers,
            dir,
            seen: names.map(|name| (name, BTreeMap::new())).collect(),
        }))
    }

    /// Lets the programs find the daemon.
    pub(crate) fn surround(&self, deployment: &mut DeploymentPlan, can: &Capabilities) {
        let way = DaemonAccess {
            services: self.seen.keys().collect(),
            environment: self.recorder.environment(),
            sockets: self.recorder.sockets().display().to_string(),
        };
        way.show(deployment, can);
    }

    /// The processes that record.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.recorder.pids()
    }

    /// Looks at the services' processes; not while they are measured, because that takes their locks.
    pub(crate) fn look(&mut self, locators: &[Locator]) {
        for locator in locators {
            let Some(seen) = self.seen.get_mut(&locator.service) else {
                continue;
            };
            for pid in pids_of(locator) {
                let before = seen.get_mut(&pid);
                let looks = before.as_ref().map_or(1, |before| before.looks + 1);
                match before {
                    // One that has loaded the tracer stays so.
                    Some(before) if before.seen.tracer => before.looks = looks,
                    _ => {
                        if let Some(found) = look(pid) {
                            seen.insert(pid, Looked { seen: found, looks });
                        }
                    }
                }
            }
        }
    }

    /// Ends the recording, when the programs have ended: what was recorded, and what should have been and was not.
    pub(crate) fn end(self) -> Result<(Recording, Vec<String>), RunError> {
        let recorded = self.recorder.stop().map_err(RunError::from)?;
        let found = produced(&self.dir)
            .map_err(|e| RunError::new(format!("cannot read LTTng's trace: {}", chain(&e))))?;
        let mut warnings = Vec::new();
        for (service, seen) in self.seen {
            let seen: Vec<Looked> = seen.into_values().collect();
            warnings.extend(silent(&service, &seen, &found));
        }
        if found.discarded_events > 0 || found.discarded_packets > 0 {
            let short = if self.buffers.short {
                ": free memory allows for no larger buffers"
            } else {
                ""
            };
            warnings.push(format!(
                "LTTng discarded {} events and {} packets of traced services{short}",
                found.discarded_events, found.discarded_packets
            ));
        }
        if !recorded.left_out.is_empty() {
            let contexts = recorded.left_out.join(", ");
            warnings.push(format!(
                "LTTng recorded without the contexts {contexts}: processes of containers may be mixed"
            ));
        }
        let recording = Recording {
            events: found.all_events,
            discarded: found.discarded_events,
        };
        Ok((recording, warnings))
    }
}

/// How programs find the daemon.
struct DaemonAccess<'a> {
    services: BTreeSet<&'a String>,
    environment: [(String, String); 1],
    sockets: String,
}

impl DaemonAccess<'_> {
    /// By their environment, and where they have mounts of their own by the folder of its sockets at the same place. An
    /// engine that cannot show them that folder is found out afterwards: they record nothing.
    fn show(&self, deployment: &mut DeploymentPlan, can: &Capabilities) {
        let variant = can.variant(deployment.variant.as_deref());
        let own_mounts = variant.is_some_and(|variant| {
            let switches = variant.isolation.contains(&IsolationFeature::Mount);
            variant.mounts && (deployment.isolation.mount || !switches)
        });
        for service in &mut deployment.services {
            let Program::Command { env, access, .. } = &mut service.program else {
                continue;
            };
            if !self.services.contains(&service.name) {
                continue;
            }
            for (name, value) in &self.environment {
                env.retain(|(given, _)| given != name);
                env.push((name.clone(), value.clone()));
            }
            if own_mounts {
                access.mounts.push(BindMount {
                    from: self.sockets.clone(),
                    to: self.sockets.clone(),
                    // Sockets can be connected to, and not be removed.
                    read_only: true,
                });
            }
        }
    }
}

/// What is to be said of a service that recorded nothing, or of those of its processes that did not.
fn silent(service: &str, seen: &[Looked], found: &Produced) -> Vec<String> {
    let of = format!("service '{service}'");
    if seen.is_empty() {
        return vec![format!(
            "{of} had ended before it could be seen whether it recorded events"
        )];
    }
    let all: Vec<ObservedProcess> = seen.iter().map(|looked| looked.seen.clone()).collect();
    let theirs = found.of(&all);
    // What was there for one look alone may be a moment's work: LTTng itself forks to make a file for a new user.
    let stayed = seen.iter().filter(|looked| looked.looks > 1);
    let mut judged: Vec<ObservedProcess> = stayed.map(|looked| looked.seen.clone()).collect();
    if judged.is_empty() && theirs.events() == 0 {
        judged = all;
    }
    let verdict = verdict(&of, &judged, &theirs, Naming::Names);
    let told = verdict.warnings.into_iter().zip(verdict.hints);
    told.map(|(warning, hint)| format!("{warning} (hint: {hint})"))
        .collect()
}

/// Processes of a service: all of its control group, else those below its first.
fn pids_of(locator: &Locator) -> Vec<u32> {
    let group = Group::from_paths(&locator.cgroups);
    group
        .private_folder()
        .map_or_else(|| tree_of(locator.pid), processes)
}

#[cfg(test)]
mod tests {
    use stowplan_engine::{CpuGroups, LimitSupport, Variant};
    use stowplan_lttng::TracedProcess;
    use stowplan_wire::deployment::{Access, IsolationPlan, ServiceStart};

    use super::*;

    const SOCKETS: &str = "/dev/shm/stowplan-r-lttng/.lttng";

    fn can(mounts: bool, isolation: &[IsolationFeature]) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                isolation: isolation.to_vec(),
                ..if mounts {
                    Variant::container("")
                } else {
                    Variant::processes("", CpuGroups::One, LimitSupport::default())
                }
            }],
            max_services: None,
        }
    }

    /// Environment and mounts of a service.
    type Shown = (Vec<(String, String)>, Vec<String>);

    /// Those of the services `traced` and `other`, which begin alike.
    fn shown(can: &Capabilities, mount: bool) -> [Shown; 2] {
        let start = |name: &str| {
            ServiceStart::new(
                name,
                Program::Command {
                    command: vec!["/program".to_owned()],
                    env: vec![("LTTNG_HOME".to_owned(), "/of/the/image".to_owned())],
                    rootfs: None,
                    access: Access::default(),
                },
            )
        };
        let mut deployment = DeploymentPlan {
            run: "r".to_owned(),
            run_dir: String::new(),
            variant: None,
            image_dir: String::new(),
            services: vec![start("traced"), start("other")],
            isolation: IsolationPlan {
                mount,
                ..IsolationPlan::default()
            },
            parallelism: 0,
        };
        let traced = "traced".to_owned();
        let way = DaemonAccess {
            services: BTreeSet::from([&traced]),
            environment: [(
                "LTTNG_HOME".to_owned(),
                "/dev/shm/stowplan-r-lttng".to_owned(),
            )],
            sockets: SOCKETS.to_owned(),
        };
        way.show(&mut deployment, can);
        let mut programs = deployment
            .services
            .into_iter()
            .map(|service| match service.program {
                Program::Command { env, access, .. } => {
                    let mounts = access.mounts.into_iter();
                    (
                        env,
                        mounts
                            .map(|mount| format!("{} {}", mount.to, mount.read_only))
                            .collect(),
                    )
                }
                Program::Node => panic!("a real program"),
            });
        [programs.next().unwrap(), programs.next().unwrap()]
    }

    #[test]
    fn a_traced_program_finds_the_daemon_and_no_other_does() {
        let switchable = can(true, &[IsolationFeature::Mount]);
        for (can, mount, mounted) in [
            (&can(false, &[]), true, false),
            (&switchable, true, true),
            (&switchable, false, false),
            (&can(true, &[]), false, true),
        ] {
            let [traced, other] = shown(can, mount);
            let home = |value: &str| vec![("LTTNG_HOME".to_owned(), value.to_owned())];
            assert_eq!(traced.0, home("/dev/shm/stowplan-r-lttng"));
            assert_eq!(traced.1.len(), usize::from(mounted), "{can:?} {mount}");
            assert!(traced.1.iter().all(|at| *at == format!("{SOCKETS} true")));
            assert_eq!(other, (home("/of/the/image"), Vec::new()));
        }
    }

    fn looked(vpid: i64, looks: u32) -> Looked {
        let seen = ObservedProcess {
            pid: 100 + u32::try_from(vpid).unwrap(),
            name: format!("p{vpid}"),
            vpid,
            pid_ns: 7,
            tracer: true,
            ros: false,
        };
        Looked { seen, looks }
    }

    #[test]
    fn a_process_of_a_moment_is_judged_only_where_there_is_no_other() {
        let traced = |vpid, events| TracedProcess {
            name: format!("p{vpid}"),
            vpid,
            pid_ns: Some(7),
            events,
        };
        let produced = |processes| Produced {
            processes,
            ..Produced::default()
        };
        let recorded = produced(vec![traced(1, 9)]);
        let told = |seen: &[Looked], found: &Produced| silent("s", seen, found);
        assert_eq!(told(&[looked(1, 3), looked(2, 1)], &recorded), [""; 0]);
        assert_eq!(told(&[looked(1, 1), looked(2, 1)], &recorded), [""; 0]);
        let both = told(&[looked(1, 3), looked(2, 2)], &recorded);
        let unreached =
            "processes of service 's' that did not reach LTTng's session daemon (1): p2";
        assert!(both[0].starts_with(unreached), "{both:?}");
        let ended = told(&[looked(2, 1)], &produced(Vec::new()));
        assert!(ended[0].starts_with(unreached), "{ended:?}");
    }

    #[test]
    fn a_service_of_which_nothing_was_seen_is_not_said_to_be_silent() {
        let told = silent("setup", &[], &Produced::default());
        assert_eq!(
            told,
            ["service 'setup' had ended before it could be seen whether it recorded events"]
        );
    }
}
