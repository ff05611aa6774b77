//! `stowplan doctor`: what this machine can do, and what to install or change for the rest.

use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{Engine, Probe, SharedNetwork, WITH_HOST_NETWORK};
use stowplan_host::Host;
use stowplan_host::preemption::SwitchRecorder;
use stowplan_judge::format;
use stowplan_remote::{AgentHost, Network, RemoteEngine};
use stowplan_run::PLANNED_ENGINE;
use stowplan_wire::agent::ProbeAnswer;

use crate::cli::DoctorArgs;
use crate::documents::doctor::{Doctor, EngineStatus, Machine, Quiet};
use crate::documents::{self};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::{calibration, engines, programs, table};

/// Status of what does not work here.
const ABSENT: &str = "absent";

/// Status of what works.
const AVAILABLE: &str = "available";

/// The condition of an engine that cannot be in a network of an experiment's own.
const IN_MACHINES: &str = "only with the machine's network, in which the whole experiment then is";

/// How long to look whether the machine is quiet, ms: a little more than the two seconds for which it has to be.
const QUIET_MS: u64 = 3_000;

/// Runs the command.
pub fn run(args: &DoctorArgs) -> Result<(), CommandError> {
    let host = AgentHost::spawn(&programs::agent()?, Network::Own).or_exit(ExitCode::RunFailed)?;
    let mut statuses = statuses(&host)?;
    statuses.extend(engines::PLANNED.iter().map(|(name, _)| EngineStatus {
        name: (*name).to_owned(),
        status: ABSENT.to_owned(),
        version: None,
        reason: Some(PLANNED_ENGINE.to_owned()),
        hint: None,
    }));
    let facts = host.facts().or_exit(ExitCode::RunFailed)?;
    let quiet = host.quiet(QUIET_MS).or_exit(ExitCode::RunFailed)?;
    let document = Doctor {
        schema: "stowplan.doctor/1",
        engines: statuses,
        tools: vec![lttng(), preemption()],
        calibrated: calibration::day(&facts.host, &facts.cpu_model, facts.cpu_count()),
        quiet: Quiet {
            quiet: quiet.quiet,
            busy: quiet.busy,
            dirty_bytes: quiet.dirty_bytes,
        },
        machine: Machine {
            cpus: facts.cpu_count(),
            host: facts.host,
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

/// What every engine is here.
fn statuses(host: &Rc<AgentHost>) -> Result<Vec<EngineStatus>, CommandError> {
    let mut statuses = Vec::new();
    for name in host.engines() {
        let engine = RemoteEngine::new(host, name).or_exit(ExitCode::RunFailed)?;
        statuses.push(status(name, engine.probe(host.as_ref())));
    }
    for name in engines::OUTSIDE {
        let made = |network_of| engines::make(name, network_of);
        let probe = |engine: Rc<dyn Engine>| engine.probe(host.as_ref());
        // This process is in the machine's network.
        let in_machines = || made(SharedNetwork::of_this_process());
        let Some(engine) = made(host.shared_network()) else {
            continue;
        };
        let variants = engine.capabilities().variants;
        statuses.push(if variants.iter().any(|variant| variant.joins_network) {
            status_of_either(name, probe(engine), || in_machines().map(probe))
        } else {
            status_in_machines(name, probe(in_machines().unwrap_or(engine)))
        });
    }
    Ok(statuses)
}

/// Names of the engines that work here.
pub(super) fn available() -> Result<Vec<String>, CommandError> {
    let host = AgentHost::spawn(&programs::agent()?, Network::Own).or_exit(ExitCode::RunFailed)?;
    let works = statuses(&host)?.into_iter();
    let works = works.filter(|engine| engine.status == AVAILABLE);
    Ok(works.map(|engine| engine.name).collect())
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

/// The status of an engine in the network of an experiment, or where it refuses that alone, in the machine's, with the condition.
fn status_of_either(
    name: &str,
    in_own: Probe,
    in_machines: impl FnOnce() -> Option<Probe>,
) -> EngineStatus {
    let alone = status(name, in_own);
    if alone.hint.as_deref() != Some(WITH_HOST_NETWORK) {
        return alone;
    }
    match in_machines().map(|probe| status(name, probe)) {
        Some(works) if works.status == AVAILABLE => EngineStatus {
            reason: alone
                .reason
                .map(|why| format!("only with --host-network: {why}")),
            hint: alone.hint,
            ..works
        },
        // There it lacks something else as well.
        Some(fails) => fails,
        None => alone,
    }
}

/// The status of an engine whose services can only be in the machine's network, with that condition.
fn status_in_machines(name: &str, probe: Probe) -> EngineStatus {
    let found = status(name, probe);
    if found.status == ABSENT {
        return found;
    }
    EngineStatus {
        reason: Some(IN_MACHINES.to_owned()),
        ..found
    }
}

fn lttng() -> EngineStatus {
    let name = "lttng".to_owned();
    match stowplan_lttng::Tools::find() {
        Ok(tools) => EngineStatus {
            name,
            status: AVAILABLE.to_owned(),
            version: Some(tools.version),
            reason: None,
            hint: None,
        },
        Err(error) => EngineStatus {
            name,
            status: ABSENT.to_owned(),
            version: None,
            reason: Some(stowplan_host::chain(&error)),
            hint: error.hint,
        },
    }
}

/// What `--preemption` needs.
fn preemption() -> EngineStatus {
    let tried = SwitchRecorder::start(Duration::ZERO).map(drop);
    let failed = tried.err();
    EngineStatus {
        name: "preemption".to_owned(),
        status: if failed.is_some() {
            ABSENT
        } else {
            "available"
        }
        .to_owned(),
        version: None,
        reason: failed.as_ref().map(|error| stowplan_host::chain(error)),
        hint: failed.and_then(|error| error.hint),
    }
}

fn print(doctor: &Doctor) -> Result<(), CommandError> {
    let machine = &doctor.machine;
    tell!("{}", conclusion(doctor))?;
    tell!(
        "{}: {} × {}, {}, kernel {}, cgroup {}",
        machine.host,
        machine.cpus,
        machine.cpu_model,
        format::bytes(machine.memory_bytes as f64),
        machine.kernel,
        machine.cgroup
    )?;
    let is_there = |row: &&EngineStatus| row.status != ABSENT;
    for (of, rows) in [("engine", &doctor.engines), ("tool", &doctor.tools)] {
        let mut table = table::new([of, "status", "version", "condition"]);
        // Its cells are sentences, for people to read where there is no terminal, too.
        table.set_width(table::width());
        for row in rows.iter().filter(is_there) {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            table.add_row([
                row.name.clone(),
                row.status.clone(),
                text(&row.version),
                text(&row.reason),
            ]);
        }
        if table.row_count() > 0 {
            tell!("\n{table}")?;
        }
    }
    let all = doctor.engines.iter().chain(&doctor.tools);
    let absent: Vec<String> = all.filter(|row| !is_there(row)).map(in_one_line).collect();
    if !absent.is_empty() {
        tell!("\nabsent:\n  {}", absent.join("\n  "))?;
    }
    tell!("\nsettings:")?;
    for (setting, value) in &machine.settings {
        tell!("  {setting}: {value}")?;
    }
    Ok(())
}

/// What can be measured here, and what limits it.
fn conclusion(doctor: &Doctor) -> String {
    let there = doctor.engines.iter().filter(|row| row.status != ABSENT);
    let there: Vec<&str> = there.map(|row| &*row.name).collect();
    let can = match there.is_empty() {
        true => "no engine works here".to_owned(),
        false => format!("can measure {}", there.join(", ")),
    };
    let calibrated = doctor.calibrated.as_ref().map_or_else(
        || "no (run 'stowplan selftest')".to_owned(),
        |day| format!("yes ({day})"),
    );
    let quiet = &doctor.quiet;
    let busy = format!(
        "{:.0} % busy, {} to be written",
        quiet.busy * 100.0,
        format::bytes(quiet.dirty_bytes as f64)
    );
    let word = if quiet.quiet { "yes" } else { "no" };
    format!("{can}\ncalibrated: {calibrated}\nquiet: {word} ({busy})\n")
}

/// What is absent, and what it takes.
fn in_one_line(row: &EngineStatus) -> String {
    let hint = row.hint.as_ref().map(|hint| format!(": {hint}"));
    match (&row.reason, hint) {
        (_, Some(hint)) => format!("{}{hint}", row.name),
        (Some(reason), None) => format!("{}: {reason}", row.name),
        (None, None) => row.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available() -> Probe {
        Probe::Available {
            version: "CRI-O 1.37".to_owned(),
        }
    }

    fn absent(hint: &str) -> Probe {
        Probe::Absent {
            reason: "no way".to_owned(),
            hint: hint.to_owned(),
        }
    }

    /// Status, version, reason and hint; the engine is asked again only where `again` has an answer.
    fn cells(in_own: Probe, again: Option<Probe>) -> [String; 4] {
        let status = status_of_either("cri", in_own, || Some(again.expect("asked again")));
        let text = |field: Option<String>| field.unwrap_or_default();
        [
            status.status,
            text(status.version),
            text(status.reason),
            text(status.hint),
        ]
    }

    #[test]
    fn an_engine_that_refuses_networks_of_experiments_alone_is_available_with_that_condition() {
        assert_eq!(
            cells(absent(WITH_HOST_NETWORK), Some(available())),
            [
                "available",
                "CRI-O 1.37",
                "only with --host-network: no way",
                WITH_HOST_NETWORK
            ]
        );
        let else_absent = cells(absent(WITH_HOST_NETWORK), Some(absent("start it")));
        assert_eq!(else_absent, ["absent", "", "no way", "start it"]);
    }

    #[test]
    fn an_engine_of_the_machines_network_says_so_where_it_works() {
        let works = status_in_machines("swarm", available());
        assert_eq!(works.reason.as_deref(), Some(IN_MACHINES));
        let fails = status_in_machines("swarm", absent("start it"));
        assert_eq!(fails.reason.as_deref(), Some("no way"));
    }

    #[test]
    fn the_conclusion_says_what_can_be_measured_and_what_limits_it() {
        let row = |name: &str, status: &str, hint: Option<&str>| EngineStatus {
            name: name.to_owned(),
            status: status.to_owned(),
            version: None,
            reason: Some("because".to_owned()),
            hint: hint.map(str::to_owned),
        };
        let doctor = Doctor {
            schema: "stowplan.doctor/1",
            engines: vec![
                row("bare", "available", None),
                row("oci", "available", None),
                row("kube", ABSENT, None),
            ],
            tools: Vec::new(),
            machine: Machine {
                cpus: 2,
                host: "h".to_owned(),
                cpu_model: "m".to_owned(),
                memory_bytes: 1 << 30,
                kernel: "6".to_owned(),
                cgroup: "v2".to_owned(),
                settings: std::collections::BTreeMap::new(),
            },
            calibrated: None,
            quiet: Quiet {
                quiet: false,
                busy: 0.12,
                dirty_bytes: 0,
            },
        };
        assert_eq!(
            conclusion(&doctor),
            "can measure bare, oci\ncalibrated: no (run 'stowplan selftest')\nquiet: no (12 % busy, 0 B to be written)\n"
        );
        assert_eq!(in_one_line(&doctor.engines[2]), "kube: because");
        let hint = row("lxd", ABSENT, Some("install it"));
        assert_eq!(in_one_line(&hint), "lxd: install it");
    }

    #[test]
    fn any_other_engine_is_asked_once() {
        assert_eq!(
            cells(available(), None),
            ["available", "CRI-O 1.37", "", ""]
        );
        let absent = cells(absent("start it"), None);
        assert_eq!(absent, ["absent", "", "no way", "start it"]);
    }
}
