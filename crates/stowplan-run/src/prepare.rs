//! What can run of what was asked for, planned and recorded before anything starts.

use std::collections::BTreeMap;
use std::time::Duration;

use stowplan_engine::Refusal;
use stowplan_measure::ReplayedInput;
use stowplan_model::{Deployment, PhaseSpan, Place, RealService, Stack};
use stowplan_plan::{KnownEngines, MachineFacts, Plan, PlanOptions};
use stowplan_results::{
    AblationDeployment, DeploymentRecord, EdgeCount, LimitsRecord, PlaceRecord,
};
use stowplan_spec::Spec;

use crate::ablation::Step;
use crate::edges::own_networks;
use crate::engines::Usable;
use crate::error::ExperimentError;
use crate::isolation::isolation_by_name;
use crate::replay;
use crate::request::Request;
use crate::ring::ring_bytes;
use crate::sensitivity;
use crate::variants::injection_record;
use crate::wire::deployment_plan;

/// An experiment that is ready to run.
pub struct Prepared {
    /// The stack with its assumptions.
    pub spec: Spec,
    /// The stack with scaled work.
    pub stack: Stack,
    /// Deployments that can run, the reference first.
    pub deployments: Vec<Planned>,
    /// Deployments that cannot, with the reason in the record.
    pub refused: Vec<DeploymentRecord>,
    /// The deployments of an ablation in their order.
    pub ablation: Vec<AblationDeployment>,
    /// The machine that it was planned for.
    pub machine: MachineFacts,
    /// Factor on callback work; 1 when nothing is scaled.
    pub work_scale: f64,
    /// What was not scaled with it.
    pub not_scaled: Vec<String>,
    /// Digests of the images of real programs, by `image of SERVICE`.
    pub image_digests: BTreeMap<String, String>,
    /// Trace buffer of every process in bytes.
    pub ring_bytes: u64,
    /// Timers whose phases are drawn from a part of their period.
    pub phase_spans: Vec<PhaseSpan>,
    /// What its sources replay; read with the image.
    pub replay: Vec<ReplayedInput>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Prepared {
    /// Takes a deployment to those that can run, or, where something speaks against it, to those that cannot.
    fn take(&mut self, mut planned: Planned, against: &[String]) {
        if against.is_empty() {
            let label = &planned.record.label;
            let warnings = planned.plan.warnings.iter();
            self.warnings
                .extend(warnings.map(|w| format!("{label}: {w}")));
            self.deployments.push(planned);
        } else {
            planned.record.refused = Some(against.join("; "));
            self.refused.push(planned.record);
        }
    }

    /// DDS participants of the deployment that has most.
    #[must_use]
    pub fn participants(&self) -> usize {
        let all = self.deployments.iter().map(|d| d.plan.participants);
        all.max().unwrap_or(0)
    }
}

/// A deployment with its plan.
#[derive(Debug)]
pub struct Planned {
    /// The deployment.
    pub deployment: Deployment,
    /// Its plan.
    pub plan: Plan,
    /// Its record in the result.
    pub record: DeploymentRecord,
    /// Real programs of the stack, with the devices that its engine has to be told of.
    pub real: Vec<RealService>,
}

/// Plans every deployment of `request`. `usable` gives what can be done at a place, or why it cannot be
/// used.
///
/// # Errors
/// When the stack or a name is wrong, or no deployment can run.
pub(crate) fn prepare(
    request: &Request,
    machine: &MachineFacts,
    known: &KnownEngines,
    usable: &mut dyn FnMut(&Place) -> Result<Usable, String>,
) -> Result<Prepared, ExperimentError> {
    let spec = request.spec()?;
    sensitivity::check(request, &spec)?;
    let asked = PlanOptions {
        utilisation: request.utilisation,
        dds: request.dds_profile()?,
        ..PlanOptions::default()
    };
    let mut prepared = Prepared {
        phase_spans: request.phase_spans(spec.stack())?,
        ablation: ablation(request, spec.stack(), known)?,
        stack: spec.stack().clone(),
        warnings: replay::warnings(request, spec.stack()),
        spec,
        deployments: Vec::new(),
        refused: Vec::new(),
        work_scale: 1.0,
        not_scaled: Vec::new(),
        machine: machine.clone(),
        image_digests: BTreeMap::new(),
        ring_bytes: 0,
        replay: Vec::new(),
    };
    let recorded =
        Duration::from_nanos(request.warm_up_ns + request.window_ns) + START_UP_ALLOWANCE;
    for deployment in request.deployments(prepared.spec.stack(), known)? {
        let options = PlanOptions {
            own_network: own_networks(&deployment),
            launching: deployment.launching(),
            ..asked.clone()
        };
        let stack = prepared.spec.stack();
        let plan = stowplan_plan::plan(stack, &deployment.partition, machine, &options)?;
        let mut record = record(&deployment, &plan, known);
        let plan_for_engine = deployment_plan(&stack.services, &deployment, "", "");
        let reasons = match usable(&deployment.place) {
            Err(reason) => vec![reason],
            Ok(Usable {
                capabilities,
                emulated,
            }) => {
                record.emulated = emulated.is_some();
                record.deviations.extend(emulated);
                capabilities
                    .refuse(&plan_for_engine)
                    .iter()
                    .map(in_words)
                    .chain(plan.refusals.clone())
                    .collect()
            }
        };
        prepared.ring_bytes =
            prepared
                .ring_bytes
                .max(ring_bytes(prepared.spec.stack(), &plan, recorded));
        if let Some(scaling) = &plan.scaling {
            prepared.work_scale = scaling.factor;
            prepared.not_scaled = scaling.not_scaled.iter().map(ToString::to_string).collect();
        }
        let planned = Planned {
            deployment,
            plan,
            record,
            real: stack.services.clone(),
        };
        prepared.take(planned, &reasons);
    }
    nothing_left(&prepared)?;
    whole_ablation(&prepared)?;
    prepared.stack = stowplan_plan::scale_work(prepared.spec.stack(), prepared.work_scale);
    Ok(prepared)
}

/// An experiment without a deployment that can run is an error that says why each cannot.
fn nothing_left(prepared: &Prepared) -> Result<(), ExperimentError> {
    if !prepared.deployments.is_empty() {
        return Ok(());
    }
    let why = |r: &DeploymentRecord| format!("{}: {}", r.label, r.refused.as_deref().unwrap_or(""));
    let reasons: Vec<String> = prepared.refused.iter().map(why).collect();
    Err(ExperimentError::NothingToRun {
        reasons: reasons.join("; "),
    })
}

fn ablation(
    request: &Request,
    stack: &Stack,
    known: &KnownEngines,
) -> Result<Vec<AblationDeployment>, ExperimentError> {
    let steps = request.ablation(stack, known)?;
    let of_step = |step: Step| AblationDeployment {
        deployment: id(&step.deployment),
        adds: step.adds.map(|(key, _)| key.to_owned()),
        label: step.adds.map(|(_, label)| label.to_owned()),
    };
    Ok(steps.into_iter().map(of_step).collect())
}

/// Without one of its deployments an ablation would take two additions for one.
fn whole_ablation(prepared: &Prepared) -> Result<(), ExperimentError> {
    let of_ablation = |r: &&DeploymentRecord| {
        let mut steps = prepared.ablation.iter();
        steps.any(|step| step.deployment == r.id)
    };
    match prepared.refused.iter().find(of_ablation) {
        None => Ok(()),
        Some(refused) => Err(ExperimentError::Ablation {
            label: refused.label.clone(),
            reason: refused.refused.clone().unwrap_or_default(),
        }),
    }
}

/// Time before readiness in which nodes record, at most, for the size of buffers.
const START_UP_ALLOWANCE: Duration = Duration::from_secs(30);

fn in_words(refusal: &Refusal) -> String {
    match &refusal.service {
        Some(service) => format!(
            "the engine cannot do {} for service '{service}'",
            refusal.capability
        ),
        None => format!("the engine cannot do {}", refusal.capability),
    }
}

/// What a place is, and which places of plain processes stand beside it.
#[must_use]
pub fn place_record(place: &Place, known: &KnownEngines) -> PlaceRecord {
    let controls = known.controls(place).into_iter();
    PlaceRecord {
        services: place.facts.services,
        cpu_groups: place.facts.cpu_groups,
        flat: known.flat().map(|flat| flat.to_string()),
        controls: controls.map(|control| control.to_string()).collect(),
    }
}

/// Id of a deployment in the tables: `bare-flat.single`, `bare-flat.single.RESOURCES`, `bare-flat.single.VARIANT`.
fn id(deployment: &Deployment) -> String {
    let place = deployment.place.to_string().replace([':', '/'], "-");
    let parts = [place.as_str(), &deployment.partition.name];
    let parts = parts.into_iter().chain(deployment.names());
    parts.collect::<Vec<_>>().join(".")
}

fn record(deployment: &Deployment, plan: &Plan, known: &KnownEngines) -> DeploymentRecord {
    let edges = plan
        .edges_by_class
        .iter()
        .map(|(class, flow)| {
            let count = EdgeCount {
                edges: flow.edges as u64,
                bytes_per_s: flow.bytes_per_s,
            };
            (class.name().to_owned(), count)
        })
        .collect();
    let limits: BTreeMap<String, LimitsRecord> = deployment
        .resources
        .limits
        .iter()
        .map(|(name, limits)| {
            let record = LimitsRecord {
                cpuset: limits.cpuset.clone(),
                cpu_weight: limits.cpu_weight,
                cpu_quota: limits.cpu_quota,
                memory_bytes: limits.memory_bytes,
                scheduling: limits
                    .scheduling
                    .map(|class| format!("{class:?}").to_lowercase()),
            };
            (name.to_string(), record)
        })
        .collect();
    DeploymentRecord {
        id: id(deployment),
        label: deployment.label(),
        place: deployment.place.to_string(),
        facts: Some(place_record(&deployment.place, known)),
        partition: deployment.partition.name.clone(),
        resources: deployment.resources.name.as_ref().map(ToString::to_string),
        variant: deployment.variant.as_ref().map(|v| v.name.to_string()),
        injected: deployment.injection().map(injection_record),
        services: plan.services.len() as u64,
        processes: plan.processes as u64,
        participants: plan.participants as u64,
        edges_by_class: edges,
        isolation: if deployment.place.is_plain() {
            BTreeMap::new()
        } else {
            isolation_by_name(deployment.isolation)
        },
        limits,
        ..DeploymentRecord::default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use stowplan_engine::{Capabilities, Variant};
    pub(crate) use stowplan_testkit::known_engines as known;

    use super::*;

    /// A machine whose work takes a nanosecond an iteration.
    pub(crate) fn machine() -> MachineFacts {
        MachineFacts {
            cpus: 2,
            speed: Some(stowplan_model::WorkSpeed::everywhere(1.0)),
            memory_bytes: None,
            multicast: true,
        }
    }

    /// What an engine can do that can do everything, in any of the forms of [`known`].
    pub(crate) fn container() -> Usable {
        let variants = ["", "flat", "session", "grouped"];
        Usable {
            capabilities: Capabilities {
                variants: variants.map(Variant::container).to_vec(),
                max_services: None,
            },
            emulated: None,
        }
    }

    #[test]
    fn what_runs_in_emulation_says_so() {
        let mut can = |place: &Place| {
            let emulated = (!place.is_plain()).then(|| "oci: no KVM here".to_owned());
            Ok(Usable {
                emulated,
                ..container()
            })
        };
        let request = Request {
            limits: BTreeMap::new(),
            isolation: BTreeMap::new(),
            ..crate::request::tests::request()
        };
        let prepared = prepare(&request, &machine(), &known(), &mut can).unwrap();
        let records = || prepared.deployments.iter().map(|d| &d.record);
        assert!(records().any(|r| r.emulated) && records().any(|r| !r.emulated));
        for record in records() {
            let facts = record.facts.as_ref().unwrap();
            assert_eq!(record.emulated, facts.controls == ["bare:grouped"]);
            let told = record.deviations.iter().any(|d| d.contains("no KVM"));
            assert_eq!(record.emulated, told);
        }
    }
}
