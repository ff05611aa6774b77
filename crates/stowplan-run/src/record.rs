//! `experiment.json` of a new experiment: everything that is needed to repeat it.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};
use stowplan_host::facts::{SWAP, VIRTUAL_MACHINE};
use stowplan_image::Image;
use stowplan_model::{PlacedProcess, WorkSpeed};
use stowplan_results::{
    Assumption, DDS_PROFILE, Experiment, Machine, MetricPlan, NATURAL, PartitionRecord,
    ProcessRecord, RE_BASED, REPLAY, STACKS, StackRecord,
};
use stowplan_stats::DEFAULT_DELTA;
use stowplan_suite::planned;
use stowplan_wire::host::MachineFacts;

use crate::prepare::Prepared;
use crate::request::{Question, Request, Starts};
use crate::{sensitivity, speed};

/// Environment variables whose values are kept; of all others only the name, because a value may be a secret.
const ENVIRONMENT: [&str; 4] = ["LANG", "PATH", "SHELL", "TERM"];

pub(crate) fn experiment(
    request: &Request,
    prepared: &Prepared,
    facts: &MachineFacts,
    image: &Image,
    versions: &BTreeMap<String, String>,
    speed: &WorkSpeed,
) -> Experiment {
    let scaled = request.utilisation.is_some();
    let pilot = request.pilot();
    let blocks = planned(request.blocks, pilot.as_ref());
    let deployments: Vec<_> = prepared
        .deployments
        .iter()
        .map(|d| d.record.clone())
        .chain(prepared.refused.iter().cloned())
        .collect();
    Experiment {
        build_id: stowplan_wire::build_id(),
        command: request.command.clone(),
        stack: stack(request, prepared),
        places: request.places.clone(),
        partitions: partitions(request, prepared),
        ablation: prepared.ablation.clone(),
        reference: prepared.deployments.first().map(|d| d.record.id.clone()),
        deployments,
        blocks_planned: blocks,
        pilot,
        metrics: metrics(request),
        seed: request.seed,
        phase: Some(phase(request).to_owned()),
        window_s: request.window_ns as f64 / 1e9,
        warm_up_s: request.warm_up_ns as f64 / 1e9,
        budget_s: request.budget_ns.map(|ns| ns as f64 / 1e9),
        utilisation: request.utilisation,
        scale_factor: scaled.then_some(prepared.work_scale),
        not_scaled: prepared.not_scaled.clone(),
        machine: machine(facts),
        versions: versions.clone(),
        digests: prepared
            .image_digests
            .clone()
            .into_iter()
            .chain([
                ("stowplan-node".to_owned(), image.program_sha256.clone()),
                ("image".to_owned(), image.digest.clone()),
            ])
            .collect(),
        assumptions: assumptions(request, prepared),
        sensitivity: sensitivity::plan(request, &prepared.spec),
        environment: environment(),
        parameters: parameters(request, prepared, speed),
        warnings: warnings(request, prepared, facts),
        ..Experiment::new(STACKS, &request.name)
    }
}

/// The machine as a result keeps it.
#[must_use]
pub fn machine(facts: &MachineFacts) -> Machine {
    Machine {
        host: facts.host.clone(),
        cpus: facts.cpu_count(),
        cpu_model: facts.cpu_model.clone(),
        memory_bytes: facts.memory_bytes,
        kernel: facts.kernel.clone(),
        cgroup: facts.cgroup.clone(),
        settings: facts.settings.clone(),
    }
}

fn phase(request: &Request) -> &'static str {
    if request.natural_phase {
        NATURAL
    } else {
        RE_BASED
    }
}

fn warnings(request: &Request, prepared: &Prepared, facts: &MachineFacts) -> Vec<String> {
    let mut warnings = prepared.warnings.clone();
    let cold = matches!(request.starts, Starts::Cold | Starts::ColdThenReRun);
    let virtual_machine = facts.settings.get(VIRTUAL_MACHINE);
    if cold && virtual_machine.is_some_and(|is| is == "yes") {
        warnings.push(
            "cold starts are cold by the page cache of this virtual machine; that of its host is not controlled".to_owned(),
        );
    }
    if request.all_limits().any(|(_, l)| l.memory_bytes.is_some()) {
        warnings.extend(unlimited_swap(facts));
    }
    warnings
}

/// What becomes of a memory limit where the kernel cannot limit swap.
fn unlimited_swap(facts: &MachineFacts) -> Option<String> {
    let swaps = facts.settings.get(SWAP).is_some_and(|bytes| bytes != "0");
    (swaps && !facts.swap_accounting).then(|| {
        "this machine has swap space that its kernel does not account for: a service at its memory limit may swap in one \
         engine and be killed in another"
            .to_owned()
    })
}

fn parameters(
    request: &Request,
    prepared: &Prepared,
    speed: &WorkSpeed,
) -> BTreeMap<String, Value> {
    let mut parameters = BTreeMap::from([
        ("ring_bytes".to_owned(), prepared.ring_bytes.into()),
        (
            "starts".to_owned(),
            serde_json::to_value(request.starts).unwrap_or_default(),
        ),
        (DDS_PROFILE.to_owned(), request.dds.clone().into()),
        ("parallelism".to_owned(), parallelism(request).into()),
    ]);
    // By their names, which are those that results are read by.
    if let Ok(Value::Object(options)) = serde_json::to_value(&request.options) {
        parameters.extend(options);
    }
    if let Some(replayed) = &request.replayed {
        let replayed = serde_json::to_value(replayed).unwrap_or_default();
        parameters.insert(REPLAY.to_owned(), replayed);
    }
    parameters.extend(speed::parameters(speed));
    if !request.phase_spans.is_empty() {
        let spans = serde_json::to_value(&request.phase_spans).unwrap_or_default();
        parameters.insert("phase_spans".to_owned(), spans);
    }
    parameters
}

/// How many services an engine is asked for at once.
fn parallelism(request: &Request) -> String {
    let most = request.parallelism;
    most.map_or_else(
        || "all services at once".to_owned(),
        |most| format!("at most {most} services at once"),
    )
}

fn stack(request: &Request, prepared: &Prepared) -> StackRecord {
    let stack = &prepared.stack;
    StackRecord {
        name: stack.name.to_string(),
        sha256: hex::encode(Sha256::digest(request.stack_text.as_bytes())),
        file: Some(request.stack_file.clone()),
        nodes: stack.nodes.len() as u64,
        topics: stack.topics.len() as u64,
        modules: stack
            .modules()
            .into_iter()
            .map(ToString::to_string)
            .collect(),
        chains: stack.chains.iter().map(|c| c.name.to_string()).collect(),
        chain_callbacks: stack
            .chains
            .iter()
            .map(|c| {
                let callbacks = c.callbacks.iter().map(ToString::to_string);
                (c.name.to_string(), callbacks.collect())
            })
            .collect(),
        deadlines_ns: stack
            .chains
            .iter()
            .filter_map(|c| Some((c.name.to_string(), c.deadline_ns?)))
            .collect(),
    }
}

fn partitions(request: &Request, prepared: &Prepared) -> Vec<PartitionRecord> {
    let processes = |name: &str| {
        let mut partitions = prepared.deployments.iter().map(|d| &d.deployment.partition);
        let partition = partitions.find(|partition| partition.name == name)?;
        let placed = prepared.stack.placed(partition).into_iter();
        Some(placed.map(|placed| process(&placed)).collect())
    };
    let record = |p: &crate::request::PartitionRequest| PartitionRecord {
        name: p.name.clone(),
        services: p
            .services
            .iter()
            .map(|(service, _)| service.clone())
            .collect(),
        nodes: p
            .services
            .iter()
            .flat_map(|(s, nodes)| nodes.iter().map(move |n| (n.clone(), s.clone())))
            .collect(),
        processes: processes(&p.name).unwrap_or_default(),
    };
    request.partitions.iter().map(record).collect()
}

fn process(placed: &PlacedProcess<'_>) -> ProcessRecord {
    ProcessRecord {
        service: placed.service.to_string(),
        process: placed.process.name.to_string(),
        modules: placed.modules().iter().map(ToString::to_string).collect(),
        nodes: placed.nodes.iter().map(|n| n.name.to_string()).collect(),
    }
}

/// What is compared: the primary metric answers the question, all else is exploratory (docs/measuring.md §5).
fn metrics(request: &Request) -> Vec<MetricPlan> {
    let primary = match request.question {
        Question::StartUp => "startup_first_output",
        Question::Latency | Question::Everything => "e2e_paper_mean",
        Question::Usage => "cpu",
    };
    let declared = &request.deltas;
    let plan = |metric: &str| MetricPlan {
        metric: metric.to_owned(),
        delta: declared.get(metric).copied().unwrap_or(DEFAULT_DELTA),
        primary: metric == primary,
    };
    let others = declared
        .keys()
        .map(String::as_str)
        .filter(|m| *m != primary);
    std::iter::once(primary).chain(others).map(plan).collect()
}

fn assumptions(request: &Request, prepared: &Prepared) -> Vec<Assumption> {
    let record = |a: &stowplan_spec::Assumption| Assumption {
        parameter: a.path.clone(),
        value: format!("{} {}", a.value, unit(a.unit)),
        range: Some(format!("{} to {} {}", a.low, a.high, unit(a.unit))),
        why: Some(a.because.clone()),
    };
    let mut all: Vec<Assumption> = if request.sensitivity {
        let all = sensitivity::assumptions(&prepared.spec);
        all.iter().map(record).collect()
    } else {
        prepared.spec.assumptions().iter().map(record).collect()
    };
    let timed = prepared.spec.timed_work().iter();
    let calibrations = request.calibration.iter();
    all.extend(calibrations.flat_map(|of| timed.clone().map(|work| of.assumption(work))));
    all
}

/// The environment variables of this process: values of an allow-list alone, because others may be secrets.
#[must_use]
pub fn environment() -> BTreeMap<String, Option<String>> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .map(|(name, value)| {
            let shown = ENVIRONMENT
                .contains(&name.as_str())
                .then(|| value.to_string_lossy().into_owned());
            (name, shown)
        })
        .collect()
}

fn unit(unit: stowplan_spec::Unit) -> &'static str {
    match unit {
        stowplan_spec::Unit::Bytes => "bytes",
        stowplan_spec::Unit::Nanoseconds => "ns",
        stowplan_spec::Unit::Iterations => "iterations",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    #[test]
    fn what_is_declared_goes_with_the_primary_metric() {
        let plans = |declared: &[(&str, f64)]| {
            let mut request = request();
            request.deltas = declared
                .iter()
                .map(|(metric, delta)| ((*metric).to_owned(), *delta))
                .collect();
            let plans = metrics(&request).into_iter();
            let plans = plans.map(|plan| (plan.metric, plan.delta, plan.primary));
            plans.collect::<Vec<_>>()
        };
        let primary = |delta| ("e2e_paper_mean".to_owned(), delta, true);
        assert_eq!(plans(&[]), [primary(DEFAULT_DELTA)]);
        assert_eq!(
            plans(&[("cpu", 0.05), ("e2e_paper_mean", 0.03)]),
            [primary(0.03), ("cpu".to_owned(), 0.05, false)]
        );
    }

    #[test]
    fn swap_that_a_memory_limit_cannot_limit_is_told() {
        let told = |bytes: &str, swap_accounting| {
            let facts = MachineFacts {
                host: "h".to_owned(),
                cpus: vec![0, 1],
                cpu_model: "m".to_owned(),
                memory_bytes: 1 << 30,
                kernel: "k".to_owned(),
                cgroup: "v2".to_owned(),
                swap_accounting,
                settings: BTreeMap::from([(SWAP.to_owned(), bytes.to_owned())]),
            };
            unlimited_swap(&facts).is_some()
        };
        assert!(told("4096", false));
        assert!(!told("4096", true));
        assert!(!told("0", false));
    }
}
