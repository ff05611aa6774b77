//! `stowplan doctor`: what this machine can do, and what to install or change for the rest.

use stowplan_engine::{Engine, Probe};
use stowplan_host::Host;
use stowplan_model::units::show_bytes;
use stowplan_remote::{AgentHost, Network, RemoteEngine};
use stowplan_wire::agent::ProbeAnswer;

use crate::cli::DoctorArgs;
use crate::documents::doctor::{Doctor, EngineStatus, Machine};
use crate::documents::{self};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::{engines, programs, table};

/// Runs the command.
pub fn run(args: &DoctorArgs) -> Result<(), CommandError> {
    let host = AgentHost::spawn(&programs::agent()?, Network::Own).or_exit(ExitCode::RunFailed)?;
    let mut statuses = Vec::new();
    for name in host.engines() {
        let engine = RemoteEngine::new(&host, name).or_exit(ExitCode::RunFailed)?;
        statuses.push(status(name, engine.probe(host.as_ref())));
    }
    for name in engines::OUTSIDE {
        if let Some(engine) = engines::make(name, host.agent_pid()) {
            statuses.push(status(name, engine.probe(host.as_ref())));
        }
    }
    statuses.extend(engines::PLANNED.iter().map(|name| EngineStatus {
        name: (*name).to_owned(),
        status: "absent".to_owned(),
        version: None,
        reason: Some("this version of stowplan has no such engine yet".to_owned()),
        hint: None,
    }));
    let facts = host.facts().or_exit(ExitCode::RunFailed)?;
    let document = Doctor {
        schema: "stowplan.doctor/1",
        engines: statuses,
        tools: vec![lttng()],
        machine: Machine {
            host: facts.host,
            cpus: facts.cpus,
            cpu_model: facts.cpu_model,
            memory_bytes: facts.memory_bytes,
            kernel: facts.kernel,
            cgroup: facts.cgroup,
            settings: facts.settings,
        },
    };
    if args.json {
        return documents::print(&document);
    }
    print(&document)
}

fn status(name: &str, probe: Probe) -> EngineStatus {
    let ProbeAnswer {
        status,
        version,
        reason,
        hint,
    } = probe.into();
    EngineStatus {
        name: name.to_owned(),
        status,
        version,
        reason,
        hint,
    }
}

fn lttng() -> EngineStatus {
    let name = "lttng".to_owned();
    match stowplan_lttng::Tools::find() {
        Ok(tools) => EngineStatus {
            name,
            status: "available".to_owned(),
            version: Some(tools.version),
            reason: None,
            hint: None,
        },
        Err(error) => EngineStatus {
            name,
            status: "absent".to_owned(),
            version: None,
            reason: Some(stowplan_host::chain(&error)),
            hint: error.hint,
        },
    }
}

fn print(doctor: &Doctor) -> Result<(), CommandError> {
    let machine = &doctor.machine;
    tell!(
        "{}: {} × {}, {}, kernel {}, cgroup {}",
        machine.host,
        machine.cpus,
        machine.cpu_model,
        show_bytes(machine.memory_bytes as f64),
        machine.kernel,
        machine.cgroup
    )?;
    for (of, rows) in [("engine", &doctor.engines), ("program", &doctor.tools)] {
        let mut table = table::new([of, "status", "version", "why", "what to do"]);
        // Its cells are sentences, for people to read where there is no terminal, too.
        table.set_width(table::width());
        for row in rows {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            table.add_row([
                row.name.clone(),
                row.status.clone(),
                text(&row.version),
                text(&row.reason),
                text(&row.hint),
            ]);
        }
        tell!("\n{table}")?;
    }
    for (setting, value) in &machine.settings {
        tell!("  {setting}: {value}")?;
    }
    Ok(())
}
