//! `stowplan plan`: a stack in a partition, before anything is started.

use std::fmt::Write as _;
use std::path::Path;

use stowplan_host::network;
use stowplan_model::units::{show_bytes, show_ns};
use stowplan_model::{Endpoints, WorkSpeed};
use stowplan_plan::{MachineFacts, Plan, PlanOptions, Schedule};
use stowplan_run::{Calibration, Checked, Expected, Request, work_speed};
use stowplan_spec::{RunOptions, Spec};
use stowplan_stats::MIN_BLOCKS;

use crate::cli::PlanArgs;
use crate::commands::measure;
use crate::documents::plan::{EdgeClass, PlanDocument, PlannedEndpoints, PlannedService};
use crate::documents::{self};
use crate::engines;
use crate::execute::{failed, programs};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::output::tell_on;

/// Runs the command.
pub fn run(args: &PlanArgs) -> Result<(), CommandError> {
    if let Some(file) = &args.experiment {
        return experiment(file, args.skip_missing);
    }
    let utilisation = inputs::utilisation(args.utilisation)?;
    let name = args.stack.as_deref().unwrap_or_default();
    let spec = inputs::stack(name)?;
    let stack = spec.stack();
    let partition = inputs::partition(stack, &args.partition)?;
    if args.dot {
        return tell_on!("{}", stowplan_plan::dot(stack, &partition));
    }
    let (machine, no_calibration) = machine(&spec, utilisation.is_some())?;
    let calibration = machine.speed.as_ref().map(Calibration::now);
    let spec = match &calibration {
        Some(calibration) if !spec.timed_work().is_empty() => {
            inputs::stack_at(name, &calibration.speed())?
        }
        _ => spec,
    };
    let stack = spec.stack();
    let options = PlanOptions {
        utilisation,
        own_network: false,
        launching: stowplan_model::Launching::Ros2,
        dds: inputs::dds_profile(args.dds.as_deref())?,
        schedule: Some(one_run()),
    };
    let mut plan =
        stowplan_plan::plan(stack, &partition, &machine, &options).or_exit(ExitCode::BadInput)?;
    plan.notes.extend(timed(&spec, calibration.as_ref()));
    if args.json {
        return documents::print(&document(&plan, no_calibration));
    }
    tell_on!(
        "{}",
        text(&plan, spec.assumptions().len(), no_calibration.as_deref())
    )
}

/// Whether an experiment can be measured here, how long it takes, and what it lacks.
fn experiment(file: &Path, skip_missing: bool) -> Result<(), CommandError> {
    let mut request = measure::of_file(file, &RunOptions::default())?;
    request.skip_missing = skip_missing;
    let spec = request.spec().map_err(|e| failed(&e))?;
    let speed = speed(&WorkSpeed::sizes(spec.stack()))?;
    let request = request.calibrated(&speed).map_err(|e| failed(&e))?;
    let spec = request.spec().map_err(|e| failed(&e))?;
    let programs = programs()?;
    let checked = stowplan_run::check(&request, &speed, &programs, engines::TO_EXPERIMENTS);
    let checked = checked.map_err(|e| failed(&e))?;
    let durations = checked.expected.as_ref().map(durations);
    tell_on!(
        "{}{}{}",
        durations.unwrap_or_default(),
        conversions(&spec, request.calibration.as_ref()),
        notes(&request, &checked)
    )
}

/// What became of work that is given in time, a sentence for each time.
fn timed(spec: &Spec, calibration: Option<&Calibration>) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(calibration) = calibration else {
        return sentences;
    };
    for sentence in spec
        .timed_work()
        .iter()
        .map(|work| calibration.sentence(work))
    {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// The same for people, where nothing is amiss with it.
fn conversions(spec: &Spec, calibration: Option<&Calibration>) -> String {
    let sentences = timed(spec, calibration).into_iter();
    let lines = sentences.map(|sentence| format!("W{}.\n", &sentence[1..]));
    lines.collect()
}

/// What will be missing from the result, or keep it from a verdict.
fn notes(request: &Request, checked: &Checked) -> String {
    let mut out = String::new();
    for note in budget(request, checked.expected.as_ref())
        .into_iter()
        .chain(stowplan_judge::lacking_controls(&checked.deployments))
        .chain(checked.warnings.iter().cloned())
    {
        let _ = writeln!(out, "note: {note}");
    }
    for d in &checked.deployments {
        if let Some(reason) = &d.refused {
            let _ = writeln!(out, "skipped: {}: {reason}", d.label);
        }
    }
    out
}

/// What becomes of the blocks within the budget, and of verdicts with so few.
fn budget(request: &Request, expected: Option<&Expected>) -> Vec<String> {
    let short = expected.and_then(|expected| expected.short_of(request.budget_ns?));
    let few = (request.blocks as usize) < MIN_BLOCKS;
    let few = few.then(|| format!("below {MIN_BLOCKS} blocks every verdict is inconclusive"));
    short.into_iter().chain(few).collect()
}

/// Expected durations for people.
fn durations(expected: &Expected) -> String {
    let mut table = crate::table::new(["deployment", "one run, at least"]);
    for (label, run_s) in &expected.runs {
        table.add_row([label.clone(), show_ns(run_s * 1e9)]);
    }
    let blocks = |blocks: u32| show_ns(expected.blocks_s(blocks) * 1e9);
    let mut out = format!("{table}\n\nOne block takes at least {}", blocks(1));
    let _ = match expected.pilot {
        Some(pilot) => writeln!(
            out,
            ", the pilot of {pilot} blocks {}, and the most that it may fix, {} blocks, {}.",
            blocks(pilot),
            expected.blocks,
            blocks(expected.blocks)
        ),
        None => writeln!(
            out,
            ", the experiment of {} blocks {}.",
            expected.blocks,
            blocks(expected.blocks)
        ),
    };
    out
}

/// One start with the warm-up and the window that `latency` has by default.
fn one_run() -> Schedule {
    Schedule {
        deployments: 1,
        blocks: 1,
        warm_up_ns: 2_000_000_000,
        window_ns: 20_000_000_000,
        starts: 1,
    }
}

/// Whether the services of an experiment would have multicast here.
fn multicast() -> bool {
    network::may_have_own() || network::loopback_has_multicast().unwrap_or(false)
}

/// This machine, and why the iterations of a stack's work are not calibrated, where they are not.
fn machine(
    spec: &Spec,
    calibration_needed: bool,
) -> Result<(MachineFacts, Option<String>), CommandError> {
    let cpus = std::thread::available_parallelism()
        .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
    let facts = |speed| MachineFacts {
        cpus,
        speed,
        memory_bytes: None,
        multicast: multicast(),
    };
    match speed(&WorkSpeed::sizes(spec.stack())) {
        Ok(speed) => Ok((facts(Some(speed)), None)),
        Err(error) if !spec.timed_work().is_empty() => Err(no_time(error)),
        Err(error) if calibration_needed => Err(error),
        Err(error) => Ok((facts(None), Some(error.message))),
    }
}

/// Work in time is no work without a calibration.
fn no_time(error: CommandError) -> CommandError {
    let message = format!(
        "the stack has work in time, and this machine cannot be calibrated: {}",
        error.message
    );
    CommandError { message, ..error }
}

/// How fast this machine works, with working sets of these sizes.
pub fn speed(working_sets: &[u64]) -> Result<WorkSpeed, CommandError> {
    let node = crate::programs::node()?;
    let measured = stowplan_host::calibrate(&node, 0, working_sets).or_exit(ExitCode::RunFailed)?;
    work_speed(&measured).ok_or_else(|| {
        let message = format!("{} did not calibrate what it was asked to", node.display());
        CommandError::new(ExitCode::RunFailed, message)
    })
}

fn document(plan: &Plan, no_calibration: Option<String>) -> PlanDocument {
    PlanDocument {
        schema: "stowplan.plan/1",
        stack: plan.stack.clone(),
        partition: plan.partition.clone(),
        nodes: plan.nodes as u64,
        processes: plan.processes as u64,
        participants: plan.participants as u64,
        endpoints: PlannedEndpoints {
            publishers: plan.endpoints.publishers,
            subscriptions: plan.endpoints.subscriptions,
            services: plan.endpoints.services,
            clients: plan.endpoints.clients,
            timers: plan.endpoints.timers,
        },
        services: plan
            .services
            .iter()
            .map(|s| PlannedService {
                name: s.name.clone(),
                nodes: s.nodes().map(str::to_owned).collect(),
                processes: s.processes.len() as u64,
            })
            .collect(),
        edges_by_class: plan
            .edges_by_class
            .iter()
            .map(|(class, flow)| {
                let edges = EdgeClass {
                    edges: flow.edges as u64,
                    messages_per_s: flow.messages_per_s,
                    bytes_per_s: flow.bytes_per_s,
                };
                (class.name().to_owned(), edges)
            })
            .collect(),
        utilisation: plan.utilisation,
        utilisation_reason: plan
            .utilisation
            .is_none()
            .then(|| no_calibration.clone())
            .flatten(),
        work_scale: plan.scaling.as_ref().map_or(1.0, |s| s.factor),
        not_scaled: plan
            .scaling
            .as_ref()
            .map(|s| owned(&s.not_scaled))
            .unwrap_or_default(),
        expected_duration_s: plan.duration.as_ref().map(|d| d.run_s),
        expected_duration_s_reason: plan.duration.is_none().then_some(no_calibration).flatten(),
        refusals: plan.refusals.clone(),
        notes: plan.notes.iter().chain(&plan.warnings).cloned().collect(),
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn endpoints(of: Endpoints) -> String {
    format!(
        "{} publishers, {} subscriptions, {} services, {} clients, {} timers\n",
        of.publishers, of.subscriptions, of.services, of.clients, of.timers
    )
}

/// The plan for people.
pub fn text(plan: &Plan, assumptions: usize, no_calibration: Option<&str>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} · {}: {} nodes in {} processes, {} services, {} DDS participants (a launcher in each service)",
        plan.stack,
        plan.partition,
        plan.nodes,
        plan.processes,
        plan.services.len(),
        plan.participants
    );
    out.push_str(&endpoints(plan.endpoints));
    out.push_str(&services(plan));
    out.push_str(&edges(plan));
    match plan.utilisation {
        Some(share) => {
            let sending = plan.serialisation_utilisation.filter(|share| *share > 0.0);
            let of_which = sending.map_or_else(String::new, |sending| {
                format!(" ({:.1} % to serialise messages)", sending * 100.0)
            });
            let _ = writeln!(
                out,
                "\nCallbacks need {:.1} % of this machine's CPUs{of_which}.",
                share * 100.0
            );
        }
        None => {
            let _ = writeln!(
                out,
                "\nUtilisation is not known: {}.",
                no_calibration.unwrap_or("not calibrated")
            );
        }
    }
    if let (Some(scaling), Some(face)) = (&plan.scaling, plan.face_utilisation) {
        let _ = writeln!(
            out,
            "Work is multiplied by {:.4} (at face value it would need {:.1} %); {}. Not scaled: {}.",
            scaling.factor,
            face * 100.0,
            scaling.caveat,
            scaling.not_scaled.join("; ")
        );
    }
    if let Some(duration) = &plan.duration {
        let _ = writeln!(
            out,
            "One run with a window of {} takes at least {}, of which start-up {}.",
            show_ns(one_run().window_ns as f64),
            show_ns(duration.run_s * 1e9),
            show_ns(duration.start_up_s * 1e9)
        );
    }
    if assumptions > 0 {
        let _ = writeln!(
            out,
            "{assumptions} parameters of the stack are assumptions with a range."
        );
    }
    for note in plan.notes.iter().chain(&plan.warnings) {
        let _ = writeln!(out, "note: {note}");
    }
    for refusal in &plan.refusals {
        let _ = writeln!(out, "cannot run: {refusal}");
    }
    out
}

fn services(plan: &Plan) -> String {
    let mut table = crate::table::new(["service", "nodes", "processes", "memory kept", "CPUs"]);
    for service in &plan.services {
        table.add_row([
            service.name.clone(),
            service.nodes().count().to_string(),
            service.processes.len().to_string(),
            show_bytes(service.memory_bytes as f64),
            service
                .cpus
                .map_or_else(|| "–".to_owned(), |cpus| format!("{cpus:.3}")),
        ]);
    }
    format!("\n{table}\n")
}

fn edges(plan: &Plan) -> String {
    let mut table = crate::table::new(["edges", "number", "messages/s", "bytes/s"]);
    let mut row = |name: String, flow: &stowplan_plan::Flow| {
        let bytes = format!("{}/s", show_bytes(flow.bytes_per_s));
        table.add_row([
            name,
            flow.edges.to_string(),
            format!("{:.0}", flow.messages_per_s),
            bytes,
        ]);
    };
    for (class, flow) in &plan.edges_by_class {
        row(class.name().to_owned(), flow);
    }
    row("of these, between services".to_owned(), &plan.crossing);
    for crossing in plan.crossings.iter().take(5) {
        row(
            format!("  {} → {}: {}", crossing.from, crossing.to, crossing.topic),
            &crossing.flow,
        );
    }
    format!("\n{table}\n")
}
