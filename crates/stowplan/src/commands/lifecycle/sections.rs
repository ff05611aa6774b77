//! What a life cycle adds to the report: who detects what, one recovery as a picture, services on demand as tables.

use stowplan_judge::Judgement;
use stowplan_lifecycle::scenario::{Around, ScenarioSummary};
use stowplan_lifecycle::{Cell, Fault, Keeper, Plan, Recovery, RecoveryStep, Summary, Trial};
use stowplan_model::units::{show_bytes, show_ns};
use stowplan_report::{Piece, Section, Timeline, TimelineRow};
use stowplan_results::{Results, ResultsError};
use stowplan_spec::Scenario;

use super::show::{NONE, is_never, or_none};

/// The sections of a result; none where it is not of a life cycle.
pub fn sections(results: &Results, judgement: &Judgement) -> Result<Vec<Section>, ResultsError> {
    Ok(match stowplan_lifecycle::trial_of(&results.experiment) {
        Ok(Trial::Verbs(plan)) => {
            let summary = Summary::read(results)?;
            let recoveries = stowplan_lifecycle::recoveries(results)?;
            let mut sections = vec![
                of_verbs(&summary, &recoveries, &plan, judgement),
                of_applications(&summary),
            ];
            sections.retain(|section| !section.pieces.is_empty());
            sections
        }
        Ok(Trial::Scenario(scenario)) => {
            let summary = ScenarioSummary::read(results, &scenario)?;
            vec![of_scenario(&summary, &scenario)]
        }
        Err(_) => Vec::new(),
    })
}

fn of_verbs(
    summary: &Summary,
    recoveries: &[Recovery],
    plan: &Plan,
    judgement: &Judgement,
) -> Section {
    let mut pieces = Vec::new();
    if !plan.faults.is_empty() {
        pieces.push(who_detects(summary, plan));
    }
    if let Some(timeline) = timeline(recoveries, judgement) {
        pieces.push(Piece::Timeline(timeline));
    }
    Section {
        title: "Detection and recovery".to_owned(),
        pieces,
    }
}

/// A row for each application and step.
fn of_applications(summary: &Summary) -> Section {
    let labels = summary.deployments.iter().map(|(_, label)| label.clone());
    let rows = summary.applications.iter().map(|row| {
        let cells = row.cells.iter().map(|cell| told(cell.as_ref()));
        std::iter::once(row.label.clone()).chain(cells).collect()
    });
    let table = Piece::Table {
        caption: "Applications that the toolbox compiles: median (least – most)".to_owned(),
        head: std::iter::once("step".to_owned()).chain(labels).collect(),
        rows: rows.collect(),
    };
    Section {
        title: "Applications".to_owned(),
        pieces: Vec::from_iter(Some(table).filter(|_| !summary.applications.is_empty())),
    }
}

/// A row for each fault and place: until the engine, and until a watchdog, knows of it, and until it is ready again by each.
fn who_detects(summary: &Summary, plan: &Plan) -> Piece {
    let columns = [Keeper::Engine, Keeper::Watchdog, Keeper::Health];
    let back = [
        Keeper::ByDefault,
        Keeper::Policy,
        Keeper::Supervisor,
        Keeper::Watchdog,
        Keeper::Health,
        Keeper::HealthSupervisor,
    ];
    let head = [
        "fault",
        "deployment",
        "detected: engine",
        "watchdog",
        "health check",
    ];
    let ready = [
        "ready again: engine's default",
        "policy",
        "supervisor",
        "watchdog",
        "health check",
        "health check and supervisor",
    ];
    let mut rows = Vec::new();
    for fault in plan.faults.iter().copied() {
        for (number, (_, label)) in summary.deployments.iter().enumerate() {
            let cell = |rows: &[stowplan_lifecycle::Row], keeper: Keeper| {
                let subject = stowplan_lifecycle::subject(fault, keeper);
                let mut rows = rows.iter();
                let row = rows.find(|row| row.subject.as_deref() == Some(&*subject));
                told(row.and_then(|row| row.cells[number].as_ref()))
            };
            let detected = columns.map(|keeper| cell(&summary.detected, keeper));
            let again = back.map(|keeper| cell(&summary.ready_again, keeper));
            let names = [fault.to_string(), label.clone()];
            rows.push(names.into_iter().chain(detected).chain(again).collect());
        }
    }
    let head = head.into_iter().chain(ready);
    Piece::Table {
        caption: "Who detects what: median since the fault (least – most)".to_owned(),
        head: head.map(str::to_owned).collect(),
        rows,
    }
}

/// A median, never, or why there is none.
fn told(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else {
        return NONE.to_owned();
    };
    match (cell.median_ns, cell.reason.as_deref()) {
        (Some(median), _) => {
            let ends = cell.min_ns.zip(cell.max_ns).filter(|_| cell.n > 1);
            let ends = ends.map(|(min, max)| format!(" ({} – {})", show_ns(min), show_ns(max)));
            show_ns(median) + &ends.unwrap_or_default()
        }
        (None, Some(why)) if is_never(why) => "never".to_owned(),
        (None, Some(why)) => why.to_owned(),
        (None, None) => NONE.to_owned(),
    }
}

/// One recovery of each deployment by each keeper, from the first fault that has some.
fn timeline(recoveries: &[Recovery], judgement: &Judgement) -> Option<Timeline> {
    let fault: Fault = recoveries.first()?.fault;
    let rows = recoveries.iter().filter(|one| one.fault == fault);
    let rows = rows.map(|one| {
        let label = judgement.figures.label(&one.deployment);
        let steps = one.steps.iter();
        TimelineRow {
            label: format!("{label}, {}", one.keeper.name()),
            steps: steps
                .map(|(step, ns)| (until(*step).to_owned(), *ns))
                .collect(),
        }
    });
    Some(Timeline {
        caption: format!(
            "One recovery from '{fault}': what took how long, until the service is ready again"
        ),
        rows: rows.collect(),
    })
}

/// What is done when a step is.
const fn until(step: RecoveryStep) -> &'static str {
    match step {
        RecoveryStep::Detected => "until the end is stamped",
        RecoveryStep::Heard => "until it is heard",
        RecoveryStep::Removed => "remove",
        RecoveryStep::Created => "create",
        RecoveryStep::Up => "start until it runs",
        RecoveryStep::Ready => "until ready",
    }
}

fn of_scenario(summary: &ScenarioSummary, scenario: &Scenario) -> Section {
    let steps = scenario.timeline.iter().map(|step| {
        let list = |what: &str, services: &[String]| match services {
            [] => String::new(),
            all => format!(", {what} {}", all.join(", ")),
        };
        let at = show_ns(step.at_ns as f64);
        let (starts, stops) = (list("starts", &step.start), list("stops", &step.stop));
        format!("{at}: {}{starts}{stops}", step.event)
    });
    let steps: Vec<String> = steps.collect();
    Section {
        title: format!("On-demand start: {}", scenario.name),
        pieces: vec![
            Piece::Text(format!("Timeline: {}.", steps.join("; "))),
            starts(summary),
            chains(summary),
        ],
    }
}

fn starts(summary: &ScenarioSummary) -> Piece {
    let mut rows = Vec::new();
    for row in &summary.starts {
        for (cell, (_, label)) in row.cells.iter().zip(&summary.deployments) {
            let Some(cell) = cell else { continue };
            let memory = cell.memory.as_ref().and_then(|of| of.median_ns);
            let had = cell.ready.median_ns.is_some() || cell.ready.reason.is_none();
            let count = |of: usize| {
                had.then_some(of)
                    .map_or_else(|| NONE.to_owned(), |n| n.to_string())
            };
            let why = cell.ready.reason.clone().unwrap_or_default();
            rows.push(vec![
                row.event.clone(),
                row.service.clone(),
                row.strategy.to_string(),
                label.clone(),
                or_none(cell.ready.median_ns, show_ns),
                or_none(cell.ready.max_ns, show_ns),
                show_ns(row.deadline_ns as f64),
                count(cell.met),
                count(cell.missed()),
                or_none(memory, show_bytes),
                why,
            ]);
        }
    }
    let head = [
        "event",
        "service",
        "strategy",
        "deployment",
        "request → ready",
        "max",
        "deadline",
        "met",
        "missed",
        "memory while it waits",
        "why none",
    ];
    Piece::Table {
        caption: "Time to ready against the deadline".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
}

fn chains(summary: &ScenarioSummary) -> Piece {
    let mut rows = Vec::new();
    for row in &summary.chains {
        for (cells, (_, label)) in row.cells.iter().zip(&summary.deployments) {
            let Some(cells) = cells else { continue };
            let mut texts = vec![
                row.event.clone(),
                row.chain.clone(),
                row.strategy.to_string(),
                label.clone(),
            ];
            for (median, largest) in cells {
                for ns in [median.median_ns, largest.max_ns] {
                    texts.push(or_none(ns, show_ns));
                }
            }
            rows.push(texts);
        }
    }
    let mut head = ["event", "chain", "strategy", "deployment"]
        .map(str::to_owned)
        .to_vec();
    for around in Around::ALL {
        let name = match around {
            Around::Before => "before",
            Around::During => "during the start",
            Around::After => "after",
        };
        head.extend([format!("{name}: median"), "max".to_owned()]);
    }
    Piece::Table {
        caption: "End-to-end latency of the chain around each start".to_owned(),
        head,
        rows,
    }
}
