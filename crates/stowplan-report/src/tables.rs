//! The tables in the papers' layout, as text: for terminals and Markdown.

use stowplan_judge::{
    CallTimes, ChainLatency, DeploymentStartup, ENGINE, Instant, Judgement, MACHINE, Part,
    SERVICES, STOWPLAN, Spread, deployment_of,
};
use stowplan_results::{LossCause, RunRow, StartKind};
use stowplan_stats::Summary;

use crate::ablation_tables;
use crate::configured::{self, asked_at_once};
use crate::deadline_tables;
use crate::difference_tables;
use crate::engine_tables;
use crate::format::{TimeUnit, bytes, count, dash, value};
use crate::measurement_tables;
use crate::memory_tables;
use crate::module_tables;
use crate::phase_tables;
use crate::place_tables;
use crate::sensitivity_tables;
use crate::setting_tables;
use crate::slower_tables;
use crate::text_table::{TextTable, when};

/// Every table that has rows; with `detail` the latency of every part and of the steps of an ablation, else of what
/// answers.
pub(crate) fn all(report: &Judgement, detail: bool) -> Vec<TextTable> {
    let parts: &[Part] = if detail { &Part::ALL } else { &ANSWERING };
    let whole = |id: &str| {
        let deployment = report.figures.experiment.deployment(id);
        detail || !deployment.is_some_and(|d| report.figures.experiment.is_step(d))
    };
    let mut tables = vec![deployments(report)];
    for start in [StartKind::Cold, StartKind::Rerun, StartKind::Warm] {
        let views = report.figures.startup.iter().filter(|s| s.start == start);
        let views: Vec<&DeploymentStartup> = views.filter(|s| whole(&s.deployment)).collect();
        tables.push(startup(report, start, &views));
        tables.push(startup_modules(report, start, &views));
    }
    let mut chains: Vec<&str> = report.figures.latency.iter().map(|c| &*c.chain).collect();
    chains.dedup();
    for chain in chains {
        let views = report.figures.latency.iter().filter(|c| c.chain == chain);
        let views: Vec<&ChainLatency> = views.filter(|c| whole(&c.deployment)).collect();
        tables.push(statistics(report, chain, parts, &views));
    }
    tables.push(deadline_tables::table(report));
    tables.push(measurement_tables::table(report));
    tables.push(callbacks(report));
    tables.push(phase_tables::table(report));
    tables.push(usage(report));
    tables.extend(module_tables::tables(report, &whole));
    tables.push(memory_tables::table(report));
    tables.push(engine_tables::table(report));
    tables.push(losses(report));
    tables.extend(place_tables::tables(report));
    tables.push(configured::table(report));
    tables.push(difference_tables::differences(report));
    tables.push(difference_tables::effects(report));
    if detail {
        tables.extend(setting_tables::whole(report));
    } else {
        tables.push(setting_tables::short(report));
    }
    tables.push(slower_tables::slower(&report.slower, &|id| {
        label(report, id)
    }));
    tables.extend(ablation_tables::tables(report));
    tables.push(sensitivity_tables::table(report));
    if let Some(against) = &report.against {
        tables.extend(slower_tables::against(against, &|id| label(report, id)));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Label of a deployment, also of one that is named beside its earlier self.
fn label(report: &Judgement, id: &str) -> String {
    report.figures.label(deployment_of(id)).to_owned()
}

fn deployments(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Deployments",
        "Splitting turns same-process edges into edges that cross a boundary.",
        &["Deployment"],
        &[
            "Services",
            "Processes",
            "Participants",
            "Edges by class",
            "Runs",
        ],
    );
    for d in &report.figures.experiment.deployments {
        let finished = report.figures.finished(&d.id);
        let all = report
            .figures
            .runs
            .iter()
            .filter(|r| *r.deployment == *d.id)
            .count();
        let edges: Vec<String> = d
            .edges_by_class
            .iter()
            .filter(|(_, edges)| edges.edges > 0)
            .map(|(class, edges)| format!("{} {}", class.replace(['_', '-'], " "), edges.edges))
            .collect();
        table.rows.push(vec![
            d.label.clone(),
            count(d.services),
            count(d.processes),
            count(d.participants),
            if edges.is_empty() {
                dash()
            } else {
                edges.join(", ")
            },
            match &d.refused {
                Some(_) => "not run".to_owned(),
                None if finished == all => finished.to_string(),
                None => format!("{finished} of {all}"),
            },
        ]);
    }
    table
}

fn spread(unit: TimeUnit, spread: Option<Spread>) -> String {
    spread.map_or_else(dash, |s| {
        if s.n == 1 {
            unit.show(s.q50)
        } else {
            let (low, high) = (unit.show(s.q25), unit.show(s.q75));
            format!("{} [{low} – {high}]", unit.show(s.q50))
        }
    })
}

const STARTUP: [Instant; 9] = [
    Instant::FirstOutput,
    Instant::LastNodeLoaded,
    Instant::Scheduled,
    Instant::Sandbox,
    Instant::ContainerCreated,
    Instant::ContainerStarted,
    Instant::FirstInstruction,
    Instant::LaunchReady,
    Instant::Matched,
];

fn startup(report: &Judgement, start: StartKind, views: &[&DeploymentStartup]) -> TextTable {
    let largest = views
        .iter()
        .flat_map(|v| STARTUP.into_iter().filter_map(|i| v.spread(i)))
        .map(|s| s.q75)
        .fold(0.0, f64::max);
    let unit = TimeUnit::startup(largest);
    let mut table = TextTable::new(
        format!("Start-up, {start} ({})", unit.name),
        format!(
            "Median [quartiles] over the runs, from t0: before create, images present; preparation is what comes before that.{}",
            asked_at_once(report)
        ),
        &["Deployment"],
        &[],
    );
    table.headers.push("Runs".to_owned());
    let known: Vec<Instant> = STARTUP
        .into_iter()
        .filter(|i| views.iter().any(|v| v.spread(*i).is_some()))
        .collect();
    table
        .headers
        .extend(known.iter().map(|i| sentence(i.label())));
    for view in views {
        let mut row = vec![
            report.figures.label(&view.deployment).to_owned(),
            match report.figures.started(&view.deployment, start).count() {
                all if all > view.runs.len() => format!("{} of {all}", view.runs.len()),
                _ => view.runs.len().to_string(),
            },
        ];
        row.extend(known.iter().map(|i| spread(unit, view.spread(*i))));
        table.rows.push(row);
    }
    let of_runs: [(&str, &str, OfRun); 2] = [
        ("Preparation", "ns", |run| {
            run.prepare_ns.map(|ns| ns as f64)
        }),
        ("Read from disks", "bytes", |run| {
            run.cold_read_bytes.map(|bytes| bytes as f64)
        }),
    ];
    for (header, unit, of) in of_runs {
        let medians: Vec<Option<f64>> = views.iter().map(|v| median(report, v, of)).collect();
        if medians.iter().any(Option::is_some) {
            table.headers.push(header.to_owned());
            for (row, median) in table.rows.iter_mut().zip(medians) {
                row.push(value(unit, median));
            }
        }
    }
    table
}

/// A figure of a run as a whole.
type OfRun = fn(&RunRow) -> Option<f64>;

/// Over the runs of a view.
fn median(report: &Judgement, view: &DeploymentStartup, of: OfRun) -> Option<f64> {
    let counts = |run: &&RunRow| view.runs.iter().any(|counted| counted.run == run.run);
    let values = report.figures.runs.iter().filter(counts).filter_map(of);
    Some(Spread::of(values)?.q50)
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn startup_modules(
    report: &Judgement,
    start: StartKind,
    views: &[&DeploymentStartup],
) -> TextTable {
    let took = |view: &DeploymentStartup, module: &str| {
        let module = view.modules.iter().find(|m| m.module == module)?;
        Some(module.took?.q50)
    };
    let mut modules: Vec<&str> = Vec::new();
    for module in views.iter().flat_map(|v| &v.modules) {
        if !modules.contains(&&*module.module) {
            modules.push(&module.module);
        }
    }
    let values = views
        .iter()
        .flat_map(|v| modules.iter().filter_map(|m| took(v, m)));
    let unit = TimeUnit::startup(values.fold(0.0, f64::max));
    let mut table = TextTable::new(
        format!("Start-up per module, {start} ({})", unit.name),
        "Median time from the module's first node beginning to load to its last node loaded.",
        &["Module"],
        &[],
    );
    let labels = views
        .iter()
        .map(|v| report.figures.label(&v.deployment).to_owned());
    table.headers.extend(labels);
    for module in modules {
        let mut row = vec![module.to_owned()];
        row.extend(views.iter().map(|v| unit.show_or(took(v, module))));
        table.rows.push(row);
    }
    table
}

/// The papers' four, and what an input waits for.
const ANSWERING: [Part; 6] = [
    Part::E2ePaper,
    Part::Idle,
    Part::Communication,
    Part::Computation,
    Part::Reaction,
    Part::DataAge,
];

/// The layout of betz2024's Table VI, with P99.9 added.
fn statistics(
    report: &Judgement,
    chain: &str,
    parts: &[Part],
    views: &[&ChainLatency],
) -> TextTable {
    let largest = views
        .iter()
        .filter_map(|v| v.part(Part::E2ePaper)?.summary.q75)
        .fold(0.0, f64::max);
    let unit = TimeUnit::latency(largest);
    let mut table = TextTable::new(
        format!("Latency of chain {chain} ({})", unit.name),
        "All instances of all runs pooled, also for the mean: description, not inference. A quantile is left out where fewer than ten instances lie beyond it.",
        &["Metric", "Deployment"],
        &[
            "N", "Mean", "Std", "Skew", "Kurtosis", "Min", "Q25", "Q50", "Q75", "P99", "P99.9",
            "Max",
        ],
    );
    for part in parts.iter().copied() {
        let mut name = part.label();
        for view in views {
            if let Some(figures) = view.part(part) {
                let mut row = vec![
                    name.to_owned(),
                    report.figures.label(&view.deployment).to_owned(),
                ];
                row.extend(summary(unit, &figures.summary));
                table.rows.push(row);
                name = "";
            }
        }
    }
    table
}

fn summary(unit: TimeUnit, s: &Summary) -> Vec<String> {
    let pure = |v: Option<f64>| v.map_or_else(dash, |v| format!("{v:.2}"));
    let mut row = vec![count(s.n), unit.show_or(s.mean), unit.show_or(s.std)];
    row.extend([pure(s.skewness), pure(s.kurtosis)]);
    let times = [s.min, s.q25, s.q50, s.q75, s.p99, s.p999, s.max];
    row.extend(times.map(|v| unit.show_or(v)));
    row
}

fn usage(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        format!("Usage {}", when(report)),
        "CPU in CPUs (1 = one CPU busy all the time), mean over the runs; memory is the highest charged, mean over the runs.",
        &["Deployment"],
        &[
            "CPU services",
            "CPU machine",
            "CPU Stowplan",
            "CPU rest",
            "Memory services",
            "Memory Stowplan",
        ],
    );
    for view in &report.figures.usage {
        let cpus = |subject| view.cpus(subject);
        let show = |v: Option<f64>| value("cpus", v);
        table.rows.push(vec![
            report.figures.label(&view.deployment).to_owned(),
            show(cpus(SERVICES)),
            show(cpus(MACHINE)),
            show(cpus(STOWPLAN)),
            show(view.rest_cpus()),
            view.memory(SERVICES).map_or_else(dash, bytes),
            view.memory(STOWPLAN).map_or_else(dash, bytes),
        ]);
    }
    if report
        .figures
        .usage
        .iter()
        .any(|v| v.cpus(ENGINE).is_some())
    {
        table
            .headers
            .extend(["CPU engine", "Memory engine"].map(str::to_owned));
        for (row, view) in table.rows.iter_mut().zip(&report.figures.usage) {
            row.push(value("cpus", view.cpus(ENGINE)));
            row.push(view.memory(ENGINE).map_or_else(dash, bytes));
        }
    }
    table
}

const CAUSES: [LossCause; 6] = [
    LossCause::NotMatched,
    LossCause::SocketBuffer,
    LossCause::Reassembly,
    LossCause::SampleLost,
    LossCause::Overwritten,
    LossCause::NotToldApart,
];

/// Callbacks that the table has.
const CALLBACKS: usize = 12;

fn callbacks(report: &Judgement) -> TextTable {
    let shown = report.figures.callbacks.iter().take(CALLBACKS);
    let longest = shown
        .clone()
        .flat_map(|of| of.by.values())
        .map(CallTimes::wall_mean_ns)
        .fold(0.0, f64::max);
    let unit = TimeUnit::latency(longest);
    let mut table = TextTable::new(
        format!("Callbacks that took most time ({} a call)", unit.name),
        "Mean wall time of a call; in brackets its CPU time and how long it was preempted, where that was recorded.",
        &["Callback"],
        &[],
    );
    let deployments = report.figures.experiment.deployments.iter();
    let called: Vec<_> = deployments
        .filter(|d| {
            report
                .figures
                .callbacks
                .iter()
                .any(|of| of.by.contains_key(&d.id))
        })
        .collect();
    table.headers.extend(called.iter().map(|d| d.label.clone()));
    for of in shown {
        let times = called.iter().map(|d| of.by.get(&d.id));
        let cells = times.map(|times| {
            let Some(times) = times else { return dash() };
            let show = |ns| unit.show_or(Some(ns));
            let cpu = times.cpu_mean_ns().map(show);
            let preempted = times.preempted_mean_ns().map(show);
            let preempted = preempted.map(|ns| format!("preempted {ns}"));
            let parts: Vec<String> = cpu.into_iter().chain(preempted).collect();
            let wall = show(times.wall_mean_ns());
            if parts.is_empty() {
                wall
            } else {
                format!("{wall} ({})", parts.join(", "))
            }
        });
        table
            .rows
            .push([of.callback.clone()].into_iter().chain(cells).collect());
    }
    table
}

fn losses(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Losses (messages)",
        "Summed over the edges and runs, by cause; – is not known.",
        &["Deployment"],
        &[
            "Not matched",
            "Socket buffer",
            "Reassembly",
            "Sample lost",
            "Overwritten",
            "Not told apart",
            "Worst edge",
        ],
    );
    for view in &report.figures.losses {
        let mut row = vec![report.figures.label(&view.deployment).to_owned()];
        row.extend(CAUSES.iter().map(|cause| {
            let lost = view.causes.get(cause).copied().flatten();
            lost.map_or_else(dash, count)
        }));
        let worst = view
            .worst
            .first()
            .map(|(topic, subscriber, cause, lost, _)| {
                format!("{topic} → {subscriber}: {} {cause}", count(*lost))
            });
        row.push(worst.unwrap_or_else(dash));
        table.rows.push(row);
    }
    table
}
