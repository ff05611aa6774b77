//! Scenarios.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_plan::nearest;

use crate::at::At;
use crate::context::Context;
use crate::elements::scenario::{ScenarioSpec, StepSpec, StrategySpec};
use crate::scenario::{Scenario, Step, Strategy};

const DEFAULT_PARTITION: &str = "modules";
const DEFAULT_WINDOW_NS: u64 = 1_000_000_000;

/// Converts a scenario; problems stay in `context`.
pub(crate) fn convert(context: &mut Context, spec: &ScenarioSpec) -> Option<Scenario> {
    let window_ns = context.fixed("window", spec.window.as_ref(), DEFAULT_WINDOW_NS);
    let length_ns = context.fixed("length", Some(&spec.length), 0);
    let deadlines = deadlines(context, spec);
    let timeline: Vec<Step> = spec.timeline.iter().map(|s| step(context, s)).collect();
    check_instants(context, spec, &timeline, window_ns, length_ns);
    check_services(context, spec, &deadlines);
    let name = context.name(&spec.name)?;
    let partition = spec.partition.as_ref();
    Some(Scenario {
        name: name.to_string(),
        description: spec.description.trim_end().to_owned(),
        stack: spec.stack.value.clone(),
        partition: partition.map_or_else(|| DEFAULT_PARTITION.to_owned(), |p| p.value.clone()),
        places: spec.places.iter().map(|p| p.value.clone()).collect(),
        utilisation: utilisation(context, spec.utilisation.as_ref()),
        strategies: strategies(context, spec),
        window_ns,
        length_ns,
        deadlines,
        timeline,
    })
}

fn utilisation(context: &mut Context, asked: Option<&At<f64>>) -> Option<f64> {
    let share = asked?;
    if !(share.value > 0.0 && share.value <= 1.0) {
        let message = format!(
            "the utilisation is {}, it must be above 0 and at most 1",
            share.value
        );
        context.problem(share.mark, message, None);
    }
    Some(share.value)
}

fn strategies(context: &mut Context, spec: &ScenarioSpec) -> Vec<Strategy> {
    let mut all = Vec::new();
    for one in &spec.strategies {
        let strategy = match one.value {
            StrategySpec::Cold => Strategy::Cold,
            StrategySpec::Created => Strategy::Created,
            StrategySpec::Paused => Strategy::Paused,
            StrategySpec::Frozen => Strategy::Frozen,
            StrategySpec::AlwaysOn => Strategy::AlwaysOn,
        };
        if all.contains(&strategy) {
            let message = format!("strategy '{strategy}' is here a second time");
            context.problem(one.mark, message, None);
        }
        all.push(strategy);
    }
    if all.is_empty() {
        return Strategy::ALL.to_vec();
    }
    all
}

fn deadlines(context: &mut Context, spec: &ScenarioSpec) -> BTreeMap<String, u64> {
    let mut deadlines = BTreeMap::new();
    for (key, service) in &spec.services.0 {
        let path = format!("services.{}.deadline", key.value);
        let deadline = context.fixed(&path, Some(&service.deadline), 0);
        if deadlines.insert(key.value.clone(), deadline).is_some() {
            let message = format!("service '{}' is here a second time", key.value);
            context.problem(key.mark, message, None);
        }
    }
    deadlines
}

fn step(context: &mut Context, spec: &At<StepSpec>) -> Step {
    let spec = &spec.value;
    let texts = |all: &[At<String>]| all.iter().map(|one| one.value.clone()).collect();
    Step {
        at_ns: context.fixed("at", Some(&spec.at), 0),
        event: spec.event.value.clone(),
        start: texts(&spec.start),
        stop: texts(&spec.stop),
    }
}

/// Steps follow each other so far apart that each start has its windows to itself.
fn check_instants(
    context: &mut Context,
    spec: &ScenarioSpec,
    timeline: &[Step],
    window_ns: u64,
    length_ns: u64,
) {
    let show = |ns: u64| stowplan_model::units::show_ns(ns as f64);
    if timeline.is_empty() {
        context.problem(spec.name.mark, "the timeline has no steps", None);
    }
    if window_ns == 0 {
        let mark = spec.window.as_ref().map_or(spec.name.mark, |w| w.mark);
        let hint = Some("for example 'window: 1s'".to_owned());
        context.problem(mark, "a window of 0 has no latency", hint);
    }
    let mut free_ns = 0;
    let mut events = BTreeSet::new();
    for (at, step) in spec.timeline.iter().zip(timeline) {
        if step.at_ns < free_ns + window_ns {
            let message = format!(
                "'{}' comes at {}, and needs {} for itself before that",
                step.event,
                show(step.at_ns),
                show(window_ns)
            );
            let hint = "steps are in order of time, three windows apart";
            context.problem(at.value.at.mark, message, Some(hint.to_owned()));
        }
        free_ns = step.at_ns + 2 * window_ns;
        if !events.insert(&step.event) {
            let message = format!("event '{}' is here a second time", step.event);
            context.problem(at.value.event.mark, message, None);
        }
        if step.start.is_empty() && step.stop.is_empty() {
            let message = format!("'{}' starts and stops nothing", step.event);
            context.problem(at.mark, message, None);
        }
    }
    if length_ns < free_ns {
        let message = format!("the timeline needs {}", show(free_ns));
        let hint = "after the last step come two windows";
        context.problem(spec.length.mark, message, Some(hint.to_owned()));
    }
}

/// Nothing is started that runs, or stopped that does not; everything that is started has a deadline.
fn check_services(context: &mut Context, spec: &ScenarioSpec, deadlines: &BTreeMap<String, u64>) {
    let mut runs: BTreeMap<&str, bool> = BTreeMap::new();
    for step in spec.timeline.iter().map(|step| &step.value) {
        for one in &step.start {
            let name = one.value.as_str();
            if runs.insert(name, true) == Some(true) {
                context.problem(one.mark, format!("'{name}' runs already"), None);
            }
            if !deadlines.contains_key(name) {
                let known = deadlines.keys().map(String::as_str);
                let hint = nearest::nearest(name, known).map_or_else(
                    || format!("add it to 'services', as {name}: {{ deadline: 500ms }}"),
                    |near| format!("did you mean '{near}'?"),
                );
                let message = format!("'{name}' is started and has no deadline");
                context.problem(one.mark, message, Some(hint));
            }
        }
        for one in &step.stop {
            if runs.insert(&one.value, false) == Some(false) {
                context.problem(one.mark, format!("'{}' does not run", one.value), None);
            }
        }
    }
    for (key, _) in &spec.services.0 {
        if !runs.contains_key(key.value.as_str()) {
            let message = format!("the timeline has nothing of '{}'", key.value);
            context.problem(key.mark, message, None);
        }
    }
}
