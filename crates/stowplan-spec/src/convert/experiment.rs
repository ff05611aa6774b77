//! Experiments.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use stowplan_model::{
    DdsProfile, Isolation, Launching, Limits, METRICS, Name, Place, Resources, SchedulingClass,
};
use stowplan_plan::{KnownEngines, nearest};

use crate::at::{At, Entries, Mark};
use crate::context::Context;
use crate::elements::experiment::{
    DdsProfileSpec, ExperimentSpec, IsolationSpec, LaunchingSpec, LimitsSpec, PhaseSpec,
    SchedulingSpec, StartSpec,
};
use crate::experiment::{AskedCpu, Experiment, ListedDeployment, Start};

const DEFAULT_SEED: u64 = 1;
const DEFAULT_WARM_UP_NS: u64 = 2_000_000_000;
const DEFAULT_WINDOW_NS: u64 = 10_000_000_000;

/// Converts an experiment; problems stay in `context`.
pub(crate) fn convert(
    context: &mut Context,
    spec: &ExperimentSpec,
    known: &KnownEngines,
) -> Option<Experiment> {
    let places = places(context, spec, known);
    let ablation = ablation(context, spec);
    for (what, missing) in [
        (
            "places",
            spec.places.is_empty() && spec.deployments.is_empty() && !ablation,
        ),
        (
            "partitions",
            spec.partitions.is_empty() && spec.deployments.is_empty(),
        ),
    ] {
        if missing {
            context.problem(
                spec.name.mark,
                format!("the experiment has no {what}"),
                None,
            );
        }
    }
    let blocks = range(
        context,
        "the number of blocks",
        spec.blocks.as_ref(),
        1,
        10_000,
    );
    let utilisation = share(context, "the utilisation", spec.utilisation.as_ref(), 1.0);
    let resources = resources(context, spec);
    let deployments = deployments(context, spec, known, &resources);
    let budget_ns = spec.budget.as_ref().map(|b| b.value.whole());
    let warm_up_ns = context.fixed("warm_up", spec.warm_up.as_ref(), DEFAULT_WARM_UP_NS);
    let window_ns = context.fixed("window", spec.window.as_ref(), DEFAULT_WINDOW_NS);
    if window_ns == 0 {
        let mark = spec.window.as_ref().map_or(Mark::default(), |w| w.mark);
        context.problem(
            mark,
            "a window of 0 measures nothing",
            Some("for example 'window: 10s'".into()),
        );
    }
    Some(Experiment {
        name: context.name(&spec.name)?,
        stack: spec.stack.value.clone(),
        places,
        partitions: spec.partitions.iter().map(|p| p.value.clone()).collect(),
        blocks,
        pilot: spec.pilot,
        sensitivity: spec.sensitivity,
        budget_ns,
        delta: delta(context, spec),
        seed: spec.seed.unwrap_or(DEFAULT_SEED),
        warm_up_ns,
        window_ns: (spec.window.is_some() || spec.replay.is_none()).then_some(window_ns),
        utilisation,
        dds: dds_profile(spec.dds),
        natural_phase: spec.phase == PhaseSpec::Natural,
        launch: launch(context, spec),
        start: spec.start.map(|s| match s {
            StartSpec::Cold => Start::Cold,
            StartSpec::ReRun => Start::ReRun,
        }),
        resources,
        cpus: cpus(spec),
        deployments,
        isolation: isolation(&spec.isolation),
        ablation,
        parallelism: spec.parallelism.map(NonZeroU32::get),
        options: spec.options(),
    })
}

fn places(context: &mut Context, spec: &ExperimentSpec, known: &KnownEngines) -> Vec<Place> {
    let mut places = Vec::new();
    for text in &spec.places {
        match known.place(&text.value) {
            Ok(place) if places.contains(&place) => {
                let message = format!("place '{place}' is here a second time");
                context.problem(text.mark, message, None);
            }
            Ok(place) => places.push(place),
            Err(error) => context.problem(text.mark, error.to_string(), error.hint),
        }
    }
    places
}

fn launch(context: &mut Context, spec: &ExperimentSpec) -> Vec<Launching> {
    let all = spec.launch.iter().map(|one| match one {
        LaunchingSpec::Ros2 => Launching::Ros2,
        LaunchingSpec::Native => Launching::Native,
    });
    let all: Vec<Launching> = all.collect();
    let repeated = (1..all.len()).find(|at| all[..*at].contains(&all[*at]));
    if let Some(at) = repeated {
        let message = format!("'launch' has '{}' twice", all[at].name());
        context.problem(spec.name.mark, message, None);
    }
    all
}

fn delta(context: &mut Context, spec: &ExperimentSpec) -> BTreeMap<String, f64> {
    let mut declared = BTreeMap::new();
    for (metric, share) in &spec.delta.0 {
        let name = &metric.value;
        if !METRICS.contains(&name.as_str()) {
            let message = format!("'delta' has '{name}', which is no metric");
            context.problem(
                metric.mark,
                message,
                Some(nearest::hint_or_all(name, &METRICS)),
            );
        }
        if declared.insert(name.clone(), share.value.0).is_some() {
            context.problem(metric.mark, format!("'delta' has '{name}' twice"), None);
        }
    }
    declared
}

fn dds_profile(spec: DdsProfileSpec) -> DdsProfile {
    match spec {
        DdsProfileSpec::Stowplan => DdsProfile::Stowplan,
        DdsProfileSpec::Autoware => DdsProfile::Autoware,
        DdsProfileSpec::RmwHumble => DdsProfile::RmwHumble,
        DdsProfileSpec::RmwJazzy => DdsProfile::RmwJazzy,
    }
}

fn ablation(context: &mut Context, spec: &ExperimentSpec) -> bool {
    let Some(ablation) = spec.ablation.as_ref().filter(|asked| asked.value) else {
        return false;
    };
    if spec.partitions.len() > 1 {
        let count = spec.partitions.len();
        context.problem(
            ablation.mark,
            format!("an ablation has one partition, here are {count}"),
            Some("leave one partition, or write an experiment for each".into()),
        );
    }
    true
}

fn range(
    context: &mut Context,
    what: &str,
    value: Option<&At<u32>>,
    low: u32,
    high: u32,
) -> Option<u32> {
    let value = value?;
    if (low..=high).contains(&value.value) {
        return Some(value.value);
    }
    context.problem(
        value.mark,
        format!("{what} is {}, it must be from {low} to {high}", value.value),
        None,
    );
    None
}

fn share(context: &mut Context, what: &str, value: Option<&At<f64>>, most: f64) -> Option<f64> {
    let value = value?;
    if value.value > 0.0 && value.value <= most {
        return Some(value.value);
    }
    context.problem(
        value.mark,
        format!(
            "{what} is {}, it must be above 0 and at most {most}",
            value.value
        ),
        None,
    );
    None
}

/// Each of the named allocations, or the one without a name.
fn resources(context: &mut Context, spec: &ExperimentSpec) -> Vec<Resources> {
    if let (Some((key, _)), false) = (spec.limits.0.first(), spec.resources.0.is_empty()) {
        context.problem(
            key.mark,
            "an experiment has 'limits' or 'resources', not both".to_owned(),
            Some("write the limits into each of the resources".into()),
        );
    }
    if spec.resources.0.is_empty() {
        let limits = limits(context, &spec.limits);
        return vec![Resources { name: None, limits }];
    }
    let mut all = Vec::new();
    for (key, of) in &spec.resources.0 {
        let limits = limits(context, of);
        if let Some(name) = context.name(key) {
            let name = Some(name);
            all.push(Resources { name, limits });
        }
    }
    all
}

fn limits(context: &mut Context, spec: &Entries<LimitsSpec>) -> Vec<(Name, Limits)> {
    let mut converted = Vec::new();
    for (key, limits) in &spec.0 {
        let limits = one_service(context, &key.value, limits);
        if let Some(name) = context.name(key) {
            converted.push((name, limits));
        }
    }
    converted
}

fn deployments(
    context: &mut Context,
    spec: &ExperimentSpec,
    known: &KnownEngines,
    resources: &[Resources],
) -> Vec<ListedDeployment> {
    let mut all: Vec<ListedDeployment> = Vec::new();
    let product = !spec.places.is_empty() || !spec.partitions.is_empty();
    if let (Some(first), true) = (spec.deployments.first(), product) {
        context.problem(
            first.mark,
            "an experiment has 'deployments', or 'places' and 'partitions', not both".to_owned(),
            Some("leave out 'places' and 'partitions'".into()),
        );
        return all;
    }
    for listed in &spec.deployments {
        let (mark, listed) = (listed.mark, &listed.value);
        let place = known.place(&listed.place.value);
        let place = place.map_err(|e| context.problem(listed.place.mark, e.to_string(), e.hint));
        let name = listed.resources.as_ref().map(|at| at.value.as_str());
        let names = resources.iter().map(|r| r.name.as_ref());
        let found = names.clone().find(|known| known.map(Name::as_str) == name);
        let Some(found) = found else {
            let mark = listed.resources.as_ref().map_or(mark, |at| at.mark);
            let told = name.map_or_else(
                || "the deployment names none of 'resources'".to_owned(),
                |name| format!("'resources' has no '{name}'"),
            );
            let hint = nearest::hint(name.unwrap_or_default(), names.flatten().map(Name::as_str));
            context.problem(mark, told, hint);
            continue;
        };
        let Ok(place) = place else { continue };
        let listed = ListedDeployment {
            place,
            partition: listed.partition.value.clone(),
            resources: found.cloned(),
        };
        if all.contains(&listed) {
            context.problem(
                mark,
                "the deployment is here a second time".to_owned(),
                None,
            );
        }
        all.push(listed);
    }
    all
}

fn one_service(context: &mut Context, service: &str, spec: &LimitsSpec) -> Limits {
    const MOST_CPUS: f64 = 4096.0;
    let scheduling = spec.scheduling.as_ref().and_then(|at| {
        let (class, priority) = match at.value {
            SchedulingSpec::Other => (SchedulingClass::Other, 1),
            SchedulingSpec::Fifo(priority) => (SchedulingClass::Fifo(priority), priority),
            SchedulingSpec::RoundRobin(priority) => {
                (SchedulingClass::RoundRobin(priority), priority)
            }
        };
        if !(1..=99).contains(&priority) {
            context.problem(
                at.mark,
                format!("the priority is {priority}, it must be from 1 to 99"),
                None,
            );
            return None;
        }
        Some(class)
    });
    Limits {
        cpuset: spec
            .cpuset
            .as_ref()
            .map(|cpus| cpus.iter().map(|cpu| cpu.value).collect()),
        cpu_weight: range(
            context,
            "the CPU weight",
            spec.cpu_weight.as_ref(),
            1,
            10_000,
        ),
        cpu_quota: share(context, "the CPU quota", spec.cpu_quota.as_ref(), MOST_CPUS),
        memory_bytes: spec
            .memory
            .as_ref()
            .map(|m| context.fixed(&format!("limits.{service}.memory"), Some(m), 0)),
        scheduling,
    }
}

/// Every CPU that a limit names, with its place.
fn cpus(spec: &ExperimentSpec) -> Vec<AskedCpu> {
    let named = spec.resources.0.iter().map(|(_, limits)| limits);
    let services = named.chain([&spec.limits]).flat_map(|limits| &limits.0);
    let cpus = services.flat_map(|(service, limits)| {
        let cpus = limits.cpuset.iter().flatten();
        cpus.map(|cpu| AskedCpu {
            service: service.value.clone(),
            cpu: cpu.value,
            line: cpu.mark.line,
            column: cpu.mark.column,
        })
    });
    cpus.collect()
}

fn isolation(spec: &IsolationSpec) -> Isolation {
    let usual = Isolation::default();
    Isolation {
        mount: spec.mount.unwrap_or(usual.mount),
        pid: spec.pid.unwrap_or(usual.pid),
        ipc: spec.ipc.unwrap_or(usual.ipc),
        uts: spec.uts.unwrap_or(usual.uts),
        net: spec.net.unwrap_or(usual.net),
        user: spec.user.unwrap_or(usual.user),
        cgroup: spec.cgroup.unwrap_or(usual.cgroup),
        read_only_root: spec.read_only_root.unwrap_or(usual.read_only_root),
        overlay: spec.overlay.unwrap_or(usual.overlay),
        seccomp: spec.seccomp.unwrap_or(usual.seccomp),
        capabilities: spec.capabilities.unwrap_or(usual.capabilities),
    }
}
