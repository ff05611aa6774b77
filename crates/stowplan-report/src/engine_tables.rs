//! What the programs of an engine use beside the services: its daemons, and what watches over each service.

use std::collections::BTreeSet;

use stowplan_judge::{DeploymentMemory, DeploymentUsage, Judgement, engine_program};

use crate::format::{bytes, dash, value};
use crate::text_table::{TextTable, when};

/// A row for each program of each deployment.
pub(crate) fn table(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        format!("The engine's own processes {}", when(report)),
        "By program, or by part of an orchestrator; CPU in CPUs, mean over the runs; memory is the highest resident, in which \
         pages that processes share count for each, mean over the runs. PSS counts them by their share, just after the window. \
         Idle is the second before the services were created.",
        &["Deployment", "Program"],
        &[
            "CPU",
            "Memory",
            "PSS",
            "CPU idle",
            "Memory idle",
            "PSS idle",
        ],
    );
    let memory = &report.figures.memory;
    for view in &report.figures.usage {
        let label = report.figures.label(&view.deployment);
        let shared = memory.iter().find(|m| m.deployment == view.deployment);
        for row in rows(view, shared) {
            table.rows.push([vec![label.to_owned()], row].concat());
        }
    }
    table
}

fn rows(view: &DeploymentUsage, shared: Option<&DeploymentMemory>) -> Vec<Vec<String>> {
    let subjects = view
        .runs
        .iter()
        .flat_map(|run| run.cpus.keys().chain(run.idle_cpus.keys()));
    let programs: BTreeSet<(&str, &str)> = subjects
        .filter_map(|subject| Some((engine_program(subject)?, subject.as_str())))
        .collect();
    let pss = |of: &dyn Fn(&DeploymentMemory) -> Option<f64>| {
        shared.and_then(of).map_or_else(dash, bytes)
    };
    let row = |(program, subject): (&str, &str)| {
        vec![
            program.to_owned(),
            value("cpus", view.cpus(subject)),
            view.memory(subject).map_or_else(dash, bytes),
            pss(&|shared| shared.program(subject)),
            value("cpus", view.idle_cpus(subject)),
            view.idle_memory(subject).map_or_else(dash, bytes),
            pss(&|shared| shared.idle_program(subject)),
        ]
    };
    programs.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use stowplan_judge::{RunMemory, RunUsage};

    #[test]
    fn a_program_has_a_row_whether_it_runs_with_services_or_before_them() {
        let used = |program: &str, value: f64| BTreeMap::from([(program.to_owned(), value)]);
        let run = RunUsage {
            cpus: [
                used("engine: shim", 0.25),
                used("engine: daemon", 0.5),
                used("engine", 0.75),
            ]
            .into_iter()
            .flatten()
            .collect(),
            memory: used("engine: daemon", 1_048_576.0),
            idle_cpus: used("engine: daemon", 0.0625),
            ..RunUsage::default()
        };
        let view = DeploymentUsage {
            deployment: String::new(),
            runs: vec![run],
            series: Vec::new(),
        };
        let shared = DeploymentMemory {
            deployment: String::new(),
            runs: vec![RunMemory {
                programs: used("engine: daemon", 2048.0),
                ..RunMemory::default()
            }],
        };
        let rows = rows(&view, Some(&shared));
        let programs: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(programs, ["daemon", "shim"]);
        assert_eq!(rows[0][1], value("cpus", Some(0.5)));
        assert_eq!(rows[0][3], bytes(2048.0));
        assert_eq!(rows[0][4], value("cpus", Some(0.0625)));
        assert_eq!(rows[1][4], value("cpus", None));
        assert_eq!([&rows[0][5], &rows[1][2]], [&dash(), &dash()]);
        assert_eq!([&rows[0][6], &rows[1][3]], [&dash(), &dash()]);
    }
}
