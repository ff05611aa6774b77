//! One row per sample of a process of a service.

use std::collections::HashMap;

use stowplan_model::{Name, Partition, Stack};
use stowplan_results::{Label, ProcessKind, ProcessRow};
use stowplan_wire::host::Running;

use super::{HostRows, since};

/// What rows of launchers have as their process.
const LAUNCH: &str = "launch";

/// Module of each process of a stack, by service and process; `A + B` where its nodes are of several.
#[derive(Debug)]
pub struct Modules(HashMap<(String, String), Label>);

impl Modules {
    /// Those of a deployment with this partition.
    #[must_use]
    pub fn of(stack: &Stack, partition: &Partition) -> Self {
        let placed = stack.placed(partition).into_iter().map(|placed| {
            let modules: Vec<&str> = placed.modules().into_iter().map(Name::as_str).collect();
            let at = (placed.service.to_string(), placed.process.name.to_string());
            (at, modules.join(" + ").into())
        });
        Self(placed.collect())
    }
}

/// The rows of all processes of a host, with times relative to the arming instant, else t0.
#[must_use]
pub fn process_rows(host: HostRows<'_>, modules: &Modules) -> Vec<ProcessRow> {
    let mut rows = Vec::new();
    let (key, zero_ns, name) = (host.key, host.of.zero_ns(), host.host());
    for usage in &host.of.processes {
        let (kind, process) = match &usage.running {
            Running::Launcher => (ProcessKind::Launcher, LAUNCH),
            Running::Process(name) => (ProcessKind::Nodes, &**name),
            Running::Program(name) => (ProcessKind::Program, &**name),
        };
        let at = (usage.service.clone(), process.to_owned());
        let module = modules.0.get(&at).filter(|_| kind == ProcessKind::Nodes);
        let (service, process): (Label, Label) = (usage.service.as_str().into(), process.into());
        rows.extend(usage.samples.iter().map(|sample| ProcessRow {
            run: key.run,
            block: key.block,
            deployment: key.deployment.clone(),
            host: name.clone(),
            service: service.clone(),
            kind,
            process: process.clone(),
            module: module.cloned(),
            pid: usage.pid,
            t_ns: since(zero_ns, sample.t_ns),
            cpu_ns: sample.cpu_ns,
            resident_bytes: sample.resident_bytes,
        }));
    }
    rows
}
