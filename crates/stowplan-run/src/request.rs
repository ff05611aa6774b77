//! What an experiment was asked to do: kept with the result, so that a resumed one does the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stowplan_model::dds::NoSuchProfile;
use stowplan_model::{
    DdsProfile, Isolation, Launching, Limits, Name, Partition, PhaseSpan, Resources,
    ServiceAssignment, Stack, Variant, WorkSpeed,
};
use stowplan_remote::Network;
use stowplan_replay::Replayed;
use stowplan_results::PilotRecord;
use stowplan_spec::{RunOptions, Spec};
use stowplan_suite::Asked;

use crate::calibration::Calibration;
use crate::error::ExperimentError;
use crate::isolation::isolation_by_name;
use crate::variants::{PhaseSpanRequest, VariantRequest};

/// File in the result folder.
pub const REQUEST_FILE: &str = "request.json";

/// Version of the file.
const VERSION: u32 = 2;

/// Which question the experiment answers; it decides what is primary and how runs start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// `stowplan run`.
    Everything,
    /// `stowplan startup`: a cold start, then the third start in a row.
    StartUp,
    /// `stowplan latency`.
    Latency,
    /// `stowplan usage`.
    Usage,
}

/// State of the page cache at the starts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// One start in the state that earlier runs left.
    Warm,
    /// One start, proven cold.
    Cold,
    /// Three starts in a row, of which the third counts.
    ReRun,
    /// A start proven cold, then two more, of which the last counts as re-run.
    ColdThenReRun,
}

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Version of this file.
    pub version: u32,
    /// Name of the experiment.
    pub name: String,
    /// The question.
    pub question: Question,
    /// Stack file as the user named it.
    pub stack_file: String,
    /// Its text.
    pub stack_text: String,
    /// What made work in time iterations; none where the stack has no such work, and before that is measured.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Places; the first is the reference.
    pub places: Vec<String>,
    /// Partitions with every node's service.
    pub partitions: Vec<PartitionRequest>,
    /// Number of blocks; with a pilot the most that there may be.
    pub blocks: u32,
    /// Whether the first blocks fix the number of all.
    #[serde(default)]
    pub pilot: bool,
    /// Whether assumed parameters have other values in every block.
    #[serde(default)]
    pub sensitivity: bool,
    /// Smallest differences that matter, by metric, as shares; 2 % of each that is not here.
    #[serde(default)]
    pub deltas: BTreeMap<String, f64>,
    /// Seed of order, phases and draws.
    pub seed: u64,
    /// Time between readiness and arming, ns; without a window, the longest that chains are given for their first output.
    pub warm_up_ns: u64,
    /// Measured window, ns; 0 measures starts alone.
    pub window_ns: u64,
    /// Most time to spend in a session, ns.
    pub budget_ns: Option<u64>,
    /// How runs start.
    pub starts: Starts,
    /// Utilisation asked for.
    pub utilisation: Option<f64>,
    /// Limits by service, where there is one allocation alone.
    pub limits: BTreeMap<String, Limits>,
    /// Several allocations, the first the reference; none where there is one alone.
    #[serde(default)]
    pub resources: Vec<ResourcesRequest>,
    /// Deployments one by one; none for the product of places, partitions and resources.
    #[serde(default)]
    pub listed: Vec<DeploymentRequest>,
    /// Isolation features of engines that can switch them, by name.
    pub isolation: BTreeMap<String, bool>,
    /// Whether `oci`'s isolation features are added one at a time on the one partition.
    #[serde(default)]
    pub ablation: bool,
    /// Several deployments of each partition at each place, of which the first is the reference; none for one.
    #[serde(default)]
    pub variants: Vec<VariantRequest>,
    /// Timers whose phases are drawn from a part of their period, in all deployments.
    #[serde(default)]
    pub phase_spans: Vec<PhaseSpanRequest>,
    /// Whether timers keep the phases that their start gave them.
    #[serde(default)]
    pub natural_phase: bool,
    /// Profile of the DDS configuration; the default one where there is none.
    #[serde(default)]
    pub dds: Option<String>,
    /// Most services that an engine is asked to create or start at once; all where there is none.
    #[serde(default)]
    pub parallelism: Option<u32>,
    /// Switches.
    #[serde(flatten)]
    pub options: RunOptions,
    /// What of the bag is replayed, where one is.
    #[serde(default)]
    pub replayed: Option<Replayed>,
    /// Whether what cannot be had here is left out, and the rest is measured.
    #[serde(default)]
    pub skip_missing: bool,
    /// The command line.
    pub command: Vec<String>,
}

/// A partition, written out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionRequest {
    /// Name.
    pub name: String,
    /// Services in starting order with their nodes.
    pub services: Vec<(String, Vec<String>)>,
    /// What its table says about itself.
    pub notes: Vec<String>,
}

/// One of several allocations of the machine, as a request keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourcesRequest {
    /// Name.
    pub name: String,
    /// Limits by service.
    pub limits: BTreeMap<String, Limits>,
}

/// One of the deployments that were asked for one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeploymentRequest {
    /// Place.
    pub place: String,
    /// Name of one of the request's partitions.
    pub partition: String,
    /// Name of one of its resources, where they have names.
    pub resources: Option<String>,
}

/// What the caller knows of an experiment before it becomes a [`Request`].
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// Name of the experiment.
    pub name: String,
    /// The question.
    pub question: Question,
    /// Stack file as the user named it, and its text.
    pub stack: (&'a str, &'a str),
    /// Places, as results name them; the first is the reference.
    pub places: Vec<String>,
    /// Partitions.
    pub partitions: Vec<Partition>,
    /// Number of blocks; with a pilot the most that there may be.
    pub blocks: u32,
    /// Whether the first blocks fix the number of all.
    pub pilot: bool,
    /// Whether assumed parameters have other values in every block.
    pub sensitivity: bool,
    /// Seed.
    pub seed: u64,
    /// Time between readiness and arming, ns; without a window, the longest that chains are given for their first output.
    pub warm_up_ns: u64,
    /// Measured window, ns; 0 measures starts alone.
    pub window_ns: u64,
    /// Most time to spend, ns.
    pub budget_ns: Option<u64>,
    /// How runs start.
    pub starts: Starts,
    /// Utilisation asked for.
    pub utilisation: Option<f64>,
    /// What services are given of the machine, one by one: one without a name, or several with names.
    pub resources: Vec<Resources>,
    /// Deployments one by one; none for the product of places, partitions and resources.
    pub listed: Vec<DeploymentRequest>,
    /// Isolation features.
    pub isolation: Isolation,
    /// Whether `oci`'s isolation features are added one at a time on the one partition.
    pub ablation: bool,
    /// Several deployments of each partition at each place; none for one.
    pub variants: Vec<Variant>,
    /// Timers whose phases are drawn from a part of their period.
    pub phase_spans: Vec<PhaseSpan>,
    /// Whether timers keep the phases that their start gave them.
    pub natural_phase: bool,
    /// Profile of the DDS configuration.
    pub dds: DdsProfile,
    /// Most services that an engine is asked to create or start at once; `None` for all.
    pub parallelism: Option<u32>,
    /// Switches.
    pub options: RunOptions,
    /// The command line.
    pub command: Vec<String>,
}

impl Request {
    /// The request that a caller's experiment is.
    #[must_use]
    pub fn new(ask: Ask<'_>) -> Self {
        let unnamed = ask.resources.iter().find(|of| of.name.is_none());
        let named = ask.resources.iter().filter_map(|of| {
            Some(ResourcesRequest {
                name: of.name.as_ref()?.to_string(),
                limits: by_service(&of.limits),
            })
        });
        Self {
            version: VERSION,
            name: ask.name,
            question: ask.question,
            stack_file: ask.stack.0.to_owned(),
            stack_text: ask.stack.1.to_owned(),
            calibration: None,
            places: ask.places,
            partitions: ask.partitions.iter().map(PartitionRequest::of).collect(),
            blocks: ask.blocks,
            pilot: ask.pilot,
            sensitivity: ask.sensitivity,
            deltas: BTreeMap::new(),
            seed: ask.seed,
            warm_up_ns: ask.warm_up_ns,
            window_ns: ask.window_ns,
            budget_ns: ask.budget_ns,
            starts: ask.starts,
            utilisation: ask.utilisation,
            limits: unnamed.map(|of| by_service(&of.limits)).unwrap_or_default(),
            resources: named.collect(),
            listed: ask.listed,
            isolation: isolation_by_name(ask.isolation),
            ablation: ask.ablation,
            variants: ask.variants.iter().map(VariantRequest::of).collect(),
            phase_spans: ask.phase_spans.iter().map(PhaseSpanRequest::of).collect(),
            natural_phase: ask.natural_phase,
            dds: Some(ask.dds.to_string()),
            parallelism: ask.parallelism,
            options: ask.options,
            replayed: None,
            skip_missing: false,
            command: ask.command,
        }
    }

    /// Profile of the DDS configuration.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn dds_profile(&self) -> Result<DdsProfile, ExperimentError> {
        let wrong = |error: NoSuchProfile| ExperimentError::Name {
            what: error.to_string(),
        };
        self.dds
            .as_deref()
            .map_or(Ok(DdsProfile::default()), |name| {
                name.parse().map_err(wrong)
            })
    }

    /// What is asked of the schedule.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            blocks: self.blocks,
            seed: self.seed,
            budget: self.budget_ns.map(Duration::from_nanos),
        }
    }

    /// The pilot of a new experiment, if one is asked for.
    #[must_use]
    pub fn pilot(&self) -> Option<PilotRecord> {
        self.pilot.then(|| stowplan_suite::pilot(self.blocks))
    }

    /// Service and limits of all allocations.
    pub(crate) fn all_limits(&self) -> impl Iterator<Item = (&String, &Limits)> {
        let named = self.resources.iter().map(|of| &of.limits);
        named.chain([&self.limits]).flatten()
    }

    /// Replaces what starts the processes of services.
    pub fn launch(&mut self, all: &[Launching]) {
        let variants = Launching::variants(all);
        self.variants = variants.iter().map(VariantRequest::of).collect();
    }

    /// The network that services without one of their own share.
    #[must_use]
    pub fn network(&self) -> Network {
        if self.options.host_network {
            Network::Machine
        } else {
            Network::Own
        }
    }

    /// Reads the request of a result folder.
    ///
    /// # Errors
    /// When the file is missing, is not a request, or has another version.
    pub fn load(result: &Path) -> Result<Self, ExperimentError> {
        let path = result.join(REQUEST_FILE);
        let text = std::fs::read_to_string(&path).map_err(|source| ExperimentError::Read {
            path: path.clone(),
            source,
        })?;
        let request: Self =
            serde_json::from_str(&text).map_err(|source| ExperimentError::Request {
                path: path.clone(),
                source,
            })?;
        if request.version != VERSION {
            return Err(ExperimentError::Version {
                path,
                found: request.version,
                known: VERSION,
            });
        }
        Ok(request)
    }

    /// Writes the request into a result folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, result: &Path) -> Result<(), ExperimentError> {
        let path = result.join(REQUEST_FILE);
        let text = serde_json::to_vec_pretty(self).map_err(|source| ExperimentError::Request {
            path: path.clone(),
            source,
        })?;
        std::fs::write(&path, text).map_err(|source| ExperimentError::Write { path, source })
    }

    /// The stack with its assumptions.
    ///
    /// # Errors
    /// When the text is not a sound stack.
    pub fn spec(&self) -> Result<Spec, ExperimentError> {
        self.spec_with(&BTreeMap::new())
    }

    /// The stack with these values in place of assumed ones.
    pub(crate) fn spec_with(
        &self,
        values: &BTreeMap<String, f64>,
    ) -> Result<Spec, ExperimentError> {
        let speed = self.calibration.as_ref().map(Calibration::speed);
        let (text, file) = (&self.stack_text, &self.stack_file);
        stowplan_spec::parse_with_values(text, file, values, speed.as_ref())
            .and_then(|spec| spec.with_timers(&self.options.timers))
            .and_then(|spec| spec.with_neighbours(self.options.neighbours))
            .map(|spec| self.as_replayed(spec))
            .map_err(ExperimentError::Spec)
    }

    /// A stack whose sources have the rates and sizes of what they replay.
    fn as_replayed(&self, spec: Spec) -> Spec {
        match &self.replayed {
            Some(replayed) => spec.with_stack(|stack| replayed.apply(stack)),
            None => spec,
        }
    }

    /// The request with work in time as iterations at this speed, unless that was fixed before.
    ///
    /// # Errors
    /// When the text is not a sound stack.
    pub fn calibrated(self, speed: &WorkSpeed) -> Result<Self, ExperimentError> {
        if self.calibration.is_some() || self.spec()?.timed_work().is_empty() {
            return Ok(self);
        }
        Ok(Self {
            calibration: Some(Calibration::now(speed)),
            ..self
        })
    }

    /// Counts work in time as an earlier request did: what both are given as 5 ms is then the same work.
    pub fn calibrate_as(&mut self, earlier: &Self) {
        self.calibration.clone_from(&earlier.calibration);
    }

    /// Timers whose phases are drawn from a part of their period.
    ///
    /// # Errors
    /// When a timer is not one of the stack's, or its period does not hold the part.
    pub fn phase_spans(&self, stack: &Stack) -> Result<Vec<PhaseSpan>, ExperimentError> {
        let spans = self.phase_spans.iter();
        spans.map(|span| span.to_model(stack)).collect()
    }
}

impl PartitionRequest {
    fn of(partition: &Partition) -> Self {
        let nodes = |s: &ServiceAssignment| s.nodes.iter().map(ToString::to_string).collect();
        Self {
            name: partition.name.clone(),
            services: partition
                .services
                .iter()
                .map(|s| (s.service.to_string(), nodes(s)))
                .collect(),
            notes: partition.notes.clone(),
        }
    }

    pub(crate) fn to_model(&self) -> Result<Partition, ExperimentError> {
        let name = |text: &String| {
            Name::new(text.as_str()).map_err(|e| ExperimentError::Name {
                what: e.to_string(),
            })
        };
        let services = self
            .services
            .iter()
            .map(|(service, nodes)| {
                Ok(ServiceAssignment {
                    service: name(service)?,
                    nodes: nodes.iter().map(name).collect::<Result<_, _>>()?,
                })
            })
            .collect::<Result<_, ExperimentError>>()?;
        Ok(Partition {
            name: self.name.clone(),
            services,
            notes: self.notes.clone(),
        })
    }
}

fn by_service(limits: &[(Name, Limits)]) -> BTreeMap<String, Limits> {
    let limits = limits.iter();
    limits
        .map(|(name, limits)| (name.to_string(), limits.clone()))
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::prepare::tests::known;
    use stowplan_model::{Deployment, SchedulingClass};

    pub(crate) fn request() -> Request {
        let text = stowplan_spec::shipped("hello").unwrap();
        let spec = stowplan_spec::parse_spec(text, "hello.yaml").unwrap();
        let choice = |name| stowplan_spec::find_partition(name, Path::new(".")).unwrap();
        let partition = |name| stowplan_plan::partition(spec.stack(), &choice(name)).unwrap();
        let limits = Limits {
            cpu_quota: Some(0.5),
            scheduling: Some(SchedulingClass::Fifo(3)),
            ..Limits::default()
        };
        Request::new(Ask {
            name: "t".to_owned(),
            question: Question::Latency,
            stack: ("hello.yaml", text),
            places: vec!["bare:flat".to_owned(), "oci".to_owned()],
            partitions: vec![partition("single"), partition("modules")],
            blocks: 6,
            pilot: false,
            sensitivity: false,
            seed: 1,
            warm_up_ns: 1,
            window_ns: 2,
            budget_ns: None,
            starts: Starts::Warm,
            utilisation: None,
            resources: vec![Resources {
                name: None,
                limits: vec![(Name::new("sensing").unwrap(), limits)],
            }],
            listed: vec![],
            isolation: Isolation {
                net: true,
                ..Isolation::default()
            },
            ablation: false,
            variants: vec![],
            phase_spans: vec![],
            natural_phase: false,
            dds: DdsProfile::Stowplan,
            parallelism: Some(5),
            options: RunOptions::default(),
            command: vec![],
        })
    }

    #[test]
    fn a_saved_request_gives_the_same_deployments() {
        let folder = tempfile::tempdir().unwrap();
        request().save(folder.path()).unwrap();
        let loaded = Request::load(folder.path()).unwrap();
        assert_eq!(loaded, request());
        let spec = loaded.spec().unwrap();
        let deployments = loaded.deployments(spec.stack(), &known()).unwrap();
        let labels: Vec<String> = deployments.iter().map(Deployment::label).collect();
        assert_eq!(
            labels,
            [
                "bare:flat · single",
                "oci · single",
                "bare:flat · modules",
                "oci · modules"
            ]
        );
        assert!(
            deployments[0].resources.limits.is_empty(),
            "'single' has no service 'sensing'"
        );
        assert_eq!(
            deployments[3].resources.limits[0].1.scheduling,
            Some(SchedulingClass::Fifo(3))
        );
        assert!(deployments[3].isolation.net);
    }

    /// As 0.1.0 before the class of a limit was written as the model has it.
    #[test]
    fn limits_of_older_requests_are_read() {
        let text = r#"{"cpuset": [1], "cpu_weight": null, "cpu_quota": null, "memory_bytes": 5,
            "scheduling": "round-robin", "priority": 7}"#;
        let read: Limits = serde_json::from_str(text).unwrap();
        assert_eq!(read.scheduling, Some(SchedulingClass::RoundRobin(7)));
        assert_eq!((read.cpuset, read.memory_bytes), (Some(vec![1]), Some(5)));
        let without = r#"{"cpuset": null, "scheduling": null, "priority": null}"#;
        let read: Limits = serde_json::from_str(without).unwrap();
        assert_eq!(read, Limits::default());
        let other: Limits =
            serde_json::from_str(r#"{"scheduling": "other", "priority": null}"#).unwrap();
        assert_eq!(other.scheduling, Some(SchedulingClass::Other));
    }

    #[test]
    fn work_in_time_is_counted_once() {
        let text = "name: t\nmodules: { m: { nodes: { n: { timer: 10Hz, work: 5ms } } } }\n";
        let asked = Request {
            stack_text: text.to_owned(),
            ..request()
        };
        let begun = asked.calibrated(&WorkSpeed::everywhere(1.25)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        begun.save(folder.path()).unwrap();
        let iterations = |request: &Request| {
            let spec = request.spec().unwrap();
            spec.stack().nodes[0].callbacks[0].work.iterations.mean()
        };
        let resumed = Request::load(folder.path()).unwrap();
        let resumed = resumed.calibrated(&WorkSpeed::everywhere(2.0)).unwrap();
        assert_eq!(iterations(&resumed), 4e6, "as it began");
        let mut beside = Request {
            calibration: None,
            ..begun.clone()
        };
        beside.calibrate_as(&begun);
        assert_eq!(iterations(&beside), 4e6, "as the earlier one");
        let plain = request().calibrated(&WorkSpeed::everywhere(2.0)).unwrap();
        assert_eq!(plain.calibration, None, "there is no work in time");
    }

    #[test]
    fn the_profile_of_dds_is_found_by_its_name() {
        let named = |dds: Option<&str>| {
            let dds = dds.map(str::to_owned);
            Request { dds, ..request() }.dds_profile()
        };
        assert_eq!(named(None).unwrap(), DdsProfile::Stowplan);
        assert_eq!(named(Some("autoware")).unwrap(), DdsProfile::Autoware);
        let error = named(Some("rmw")).unwrap_err();
        assert!(error.to_string().contains("'rmw'"), "{error}");
    }

    #[test]
    fn a_request_of_before_there_were_variants_has_none() {
        let mut value = serde_json::to_value(request()).unwrap();
        let object = value.as_object_mut().unwrap();
        object.remove("ablation").unwrap();
        object.remove("pilot").unwrap();
        object.remove("sensitivity").unwrap();
        object.remove("variants").unwrap();
        object.remove("phase_spans").unwrap();
        object.remove("natural_phase").unwrap();
        let read: Request = serde_json::from_value(value).unwrap();
        assert_eq!(read, request());
    }
}
