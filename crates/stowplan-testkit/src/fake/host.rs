//! The fake host.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use stowplan_host::ledger::Object;
use stowplan_host::{Host, HostError};
use stowplan_wire::agent::ProgramDigest;
use stowplan_wire::deployment::{EngineEventKind, Locator, SchedulingPlan};
use stowplan_wire::host::{
    CpuLevel, LimitsReadBack, MachineFacts, MemorySample, SampleSubject, Sampled, UsageSample,
};

use super::process::{FakeProcess, Life};
use super::site::Asked;
use super::world::{Sampling, World};

/// A host that is nowhere.
#[derive(Debug)]
pub struct FakeHost {
    pub(super) world: Rc<RefCell<World>>,
    entered: RefCell<Vec<Object>>,
    pub(super) asked: Asked,
}

impl FakeHost {
    pub(super) fn new(world: Rc<RefCell<World>>) -> Self {
        Self {
            world,
            entered: RefCell::new(Vec::new()),
            asked: Asked::default(),
        }
    }

    /// Begins a run; gives the folder for its logs.
    #[must_use]
    pub fn open_run(&self, run: &str) -> String {
        self.world.borrow_mut().open(run);
        format!("/fake/{run}")
    }

    /// Lets time pass, on all hosts that share it.
    pub(super) fn passes(&self, ns: u64) {
        self.world.borrow_mut().advance(ns);
    }

    /// How many processes of services live on it.
    #[must_use]
    pub fn living(&self) -> usize {
        let world = self.world.borrow();
        let processes = world.processes.iter();
        processes.filter(|p| p.life != Life::Ended).count()
    }

    /// What has been entered in the ledger.
    #[must_use]
    pub fn entered(&self) -> Vec<Object> {
        self.entered.borrow().clone()
    }

    fn found<T>(
        &self,
        locator: &Locator,
        give: impl Fn(&FakeProcess) -> T,
    ) -> Result<T, HostError> {
        let world = self.world.borrow();
        world
            .processes
            .iter()
            .find(|p| p.pid == locator.pid && p.life != Life::Ended)
            .map(give)
            .ok_or_else(|| HostError::new(format!("there is no process {}", locator.pid)))
    }

    /// A file, made up when it is asked for.
    fn file(&self, path: &str) -> Option<String> {
        let world = self.world.borrow();
        for process in &world.processes {
            let group = world.group(&process.service);
            if path == format!("/proc/{}/stat", process.pid) && process.life != Life::Ended {
                let zeros = "0 ".repeat(17);
                return Some(format!(
                    "{} (fake) S 1 {zeros}{} 0\n",
                    process.pid, process.start_ticks
                ));
            }
            if path == format!("/proc/{}/status", process.pid) {
                return Some(format!("NSpid:\t{}\n", process.pid));
            }
            if path == format!("{group}.log") {
                return Some(process.log.clone());
            }
            if path == format!("{group}/cgroup.procs") {
                let lines = process.pids().into_iter().map(|pid| format!("{pid}\n"));
                return Some(lines.collect());
            }
        }
        None
    }
}

impl Host for FakeHost {
    fn id(&self) -> String {
        self.world.borrow().name.clone()
    }

    fn clock(&self) -> Result<u64, HostError> {
        let read = self.called("clock");
        read.map_err(|error| HostError::new(error.message).of_kind(error.kind))?;
        Ok(self.world.borrow_mut().now())
    }

    fn facts(&self) -> Result<MachineFacts, HostError> {
        Ok(MachineFacts {
            host: self.id(),
            cpus: vec![0, 1],
            cpu_model: "none".to_owned(),
            memory_bytes: 1 << 30,
            kernel: "none".to_owned(),
            cgroup: "v2".to_owned(),
            swap_accounting: true,
            settings: BTreeMap::new(),
        })
    }

    fn start_sampling(
        &self,
        subjects: &[SampleSubject],
        _: &[u32],
        _: u64,
    ) -> Result<(), HostError> {
        let mut world = self.world.borrow_mut();
        let begin = world.now();
        let bases = subjects
            .iter()
            .map(|subject| {
                let group = subject.cgroups.get("unified").cloned().unwrap_or_default();
                let base = cpu_in(&world, &group).unwrap_or(0);
                (subject.subject.clone(), group, base)
            })
            .collect();
        world.sampling = Some(Sampling { begin, bases });
        Ok(())
    }

    fn sample_also(&self, subjects: &[SampleSubject]) -> Result<(), HostError> {
        let mut world = self.world.borrow_mut();
        let sampling = world.sampling.as_mut();
        let sampling = sampling.ok_or_else(|| HostError::new("sampling was not started"))?;
        sampling.bases.extend(subjects.iter().map(|subject| {
            let group = subject.cgroups.get("unified").cloned().unwrap_or_default();
            (subject.subject.clone(), group, 0)
        }));
        Ok(())
    }

    fn stop_sampling(&self) -> Result<Sampled, HostError> {
        let mut world = self.world.borrow_mut();
        let now = world.now();
        let Sampling { begin, bases } = world
            .sampling
            .take()
            .ok_or_else(|| HostError::new("sampling was not started"))?;
        let usage = bases
            .into_iter()
            .map(|(subject, group, base)| {
                let cpu_ns = cpu_in(&world, &group).map(|cpu| cpu - base);
                UsageSample {
                    subject,
                    t_ns: now,
                    cpu_ns,
                    memory_bytes: cpu_ns.map(|_| 1 << 20),
                    anon_bytes: None,
                    file_bytes: None,
                    read_bytes: None,
                    write_bytes: None,
                    // A hog is throttled in every period.
                    throttled: cpu_ns.map(|_| (now - begin) / 100_000_000),
                }
            })
            .collect();
        Ok(Sampled {
            usage,
            processes: Vec::new(),
        })
    }

    fn memory(&self, subjects: &[SampleSubject]) -> Result<Vec<MemorySample>, HostError> {
        let of = |subject: &SampleSubject| MemorySample {
            subject: subject.subject.clone(),
            processes: 1,
            ..MemorySample::default()
        };
        Ok(subjects.iter().map(of).collect())
    }

    fn limits(&self, service: &Locator) -> Result<LimitsReadBack, HostError> {
        self.found(service, |process| LimitsReadBack {
            cpuset: process.limits.cpuset.clone(),
            cpu_weight: process.limits.cpu_weight,
            cpu_quota: process.limits.cpu_quota,
            memory_bytes: process.limits.memory_bytes,
            swap_bytes: process.limits.memory_bytes.map(|_| 0),
            scheduling: Some(SchedulingPlan::Other),
            cpu_levels: vec![CpuLevel {
                weight: process.limits.cpu_weight.unwrap_or(100),
                quota: process.limits.cpu_quota,
            }],
        })
    }

    fn digests(&self, pids: &[u32]) -> Result<Vec<ProgramDigest>, HostError> {
        Ok(vec![ProgramDigest {
            file: "0:1".to_owned(),
            sha256: "0".repeat(64),
            processes: u32::try_from(pids.len()).unwrap_or(u32::MAX),
        }])
    }

    fn fetch(&self, from: &str, to: &Path) -> Result<(), HostError> {
        let text = self
            .file(from)
            .ok_or_else(|| HostError::new(format!("{} has no file {from}", self.id())))?;
        std::fs::write(to, text).map_err(|e| HostError::io("write", to, e))
    }

    fn kill_tree(&self, service: &Locator) -> Result<(), HostError> {
        self.found(service, |_| ())?;
        let mut world = self.world.borrow_mut();
        world.end(&service.service, Some(EngineEventKind::Exited(128 + 9)));
        Ok(())
    }

    fn freeze(&self, service: &Locator, frozen: bool) -> Result<(), HostError> {
        self.called("freeze")
            .map_err(|e| HostError::new(e.to_string()).of_kind(e.kind))?;
        self.found(service, |_| ())?;
        self.world.borrow_mut().freezes(&service.service, frozen);
        Ok(())
    }

    fn enter(&self, object: &Object) -> Result<(), HostError> {
        self.entered.borrow_mut().push(object.clone());
        Ok(())
    }

    fn gone(&self, object: &Object) {
        self.entered
            .borrow_mut()
            .retain(|entered| entered != object);
    }
}

fn cpu_in(world: &World, group: &str) -> Option<u64> {
    let process = world
        .processes
        .iter()
        .find(|p| world.group(&p.service) == group)?;
    Some(process.cpu_ns)
}
