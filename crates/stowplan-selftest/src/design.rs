//! What a selftest was asked to do, and the experiments that it consists of: kept in its folder, so that a resumed one
//! does the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stowplan_model::{
    DdsProfile, Injection, Isolation, Launching, Name, Partition, Resources, Stack, Variant,
};
use stowplan_plan::{Choice, Preset};
use stowplan_results::{InjectedDifference, SelftestKind};
use stowplan_run::request::REQUEST_FILE;
use stowplan_run::{Calibration, Question, Request, Starts};
use stowplan_spec::RunOptions;

use crate::error::SelftestError;
use crate::phases::spans;
use crate::target::Target;

/// File in the folder of a selftest.
const DESIGN_FILE: &str = "selftest-request.json";

/// Version of the file.
const VERSION: u32 = 1;

/// Blocks are seeded with consecutive numbers. Experiments whose seeds lie further apart than they have blocks share no
/// draw, and so are independent.
const SEEDS_APART: u64 = 1 << 20;

/// What a selftest was asked to do, and what it has fixed since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    version: u32,
    /// What was asked.
    pub ask: Ask,
    /// The difference that is injected: fixed once, from the comparisons of equal deployments.
    pub injected: Option<InjectedDifference>,
}

/// What a selftest is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Stack file as the user named it.
    pub stack_file: String,
    /// Its text.
    pub stack_text: String,
    /// What made work in time iterations; none where the stack has no such work.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Place of all deployments.
    pub place: String,
    /// Comparisons of equal deployments; half as many, rounded up, of each kind with a difference.
    pub comparisons: u32,
    /// Blocks of each comparison, fewer than a million.
    pub blocks: u32,
    /// Seed.
    pub seed: u64,
    /// Time between readiness and arming, ns.
    pub warm_up_ns: u64,
    /// Measured window, ns.
    pub window_ns: u64,
    /// Whether services run in the machine's network namespace.
    pub host_network: bool,
    /// The command line.
    pub command: Vec<String>,
}

/// One experiment of a selftest, from 1 in its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Two equal deployments.
    Equal(u32),
    /// A reference, one deployment with more work and one with more idle time.
    Injected(u32),
}

impl Part {
    /// Name of the experiment.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Equal(number) => format!("equal-{number:02}"),
            Self::Injected(number) => format!("injected-{number:02}"),
        }
    }

    /// Kinds of its comparisons with the variants that are the candidates.
    #[must_use]
    pub fn candidates(self) -> &'static [(SelftestKind, &'static str)] {
        match self {
            Self::Equal(_) => &[(SelftestKind::Equal, "same")],
            Self::Injected(_) => &[
                (SelftestKind::Work, "more-work"),
                (SelftestKind::Idle, "more-idle"),
            ],
        }
    }

    /// Deployments in each block.
    #[must_use]
    pub fn deployments(self) -> u32 {
        match self {
            Self::Equal(_) => 2,
            Self::Injected(_) => 3,
        }
    }
}

impl Design {
    /// A new one.
    #[must_use]
    pub fn new(ask: Ask) -> Self {
        Self {
            version: VERSION,
            ask,
            injected: None,
        }
    }

    /// Reads that of a folder.
    ///
    /// # Errors
    /// When the file is missing, is not one, or has another version.
    pub fn load(folder: &Path) -> Result<Self, SelftestError> {
        let path = folder.join(DESIGN_FILE);
        let text = std::fs::read_to_string(&path).map_err(|source| SelftestError::Io {
            doing: "read",
            path: path.clone(),
            source,
        })?;
        let design: Self =
            serde_json::from_str(&text).map_err(|source| SelftestError::Request {
                path: path.clone(),
                source,
            })?;
        if design.version != VERSION {
            return Err(SelftestError::Version {
                path,
                found: design.version,
                known: VERSION,
            });
        }
        Ok(design)
    }

    /// Writes it into a folder, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), SelftestError> {
        let path = folder.join(DESIGN_FILE);
        let text = serde_json::to_vec_pretty(self).map_err(|source| SelftestError::Request {
            path: path.clone(),
            source,
        })?;
        let new = folder.join(format!("{DESIGN_FILE}.new"));
        std::fs::write(&new, text)
            .and_then(|()| std::fs::rename(&new, &path))
            .map_err(|source| SelftestError::Io {
                doing: "write",
                path,
                source,
            })
    }

    /// The stack.
    ///
    /// # Errors
    /// When its text is not a sound stack.
    pub fn stack(&self) -> Result<Stack, SelftestError> {
        let speed = self.ask.calibration.as_ref().map(Calibration::speed);
        let (text, file) = (&self.ask.stack_text, &self.ask.stack_file);
        let spec = stowplan_spec::parse_with_values(text, file, &BTreeMap::new(), speed.as_ref())?;
        Ok(spec.into_stack())
    }

    /// Its experiments in order: what is injected is sized by the equal pairs, which come first.
    pub fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let equal = self.ask.comparisons;
        let injected = equal.div_ceil(2);
        let equal = (1..=equal).map(Part::Equal);
        equal.chain((1..=injected).map(Part::Injected))
    }

    /// Seed of an experiment.
    #[must_use]
    pub fn seed(&self, part: Part) -> u64 {
        let number = match part {
            Part::Equal(number) => u64::from(number),
            Part::Injected(number) => u64::from(self.ask.comparisons) + u64::from(number),
        };
        self.ask.seed.wrapping_add(number * SEEDS_APART)
    }

    /// An experiment as the ordinary commands would ask for it.
    ///
    /// # Errors
    /// When the stack is wrong or has no chain for it.
    ///
    /// # Panics
    /// When a difference is to be injected and none is fixed.
    pub fn request(&self, part: Part, budget_ns: Option<u64>) -> Result<Request, SelftestError> {
        let stack = self.stack()?;
        let target = Target::find(&stack)?;
        let partition = single(&stack)?;
        let (variants, phase_spans) = match part {
            Part::Equal(_) => (
                vec![variant("reference", None), variant("same", None)],
                Vec::new(),
            ),
            Part::Injected(_) => {
                let injected = self
                    .injected
                    .as_ref()
                    .expect("the difference is fixed before it is injected");
                (
                    with_differences(&target, injected),
                    spans(&target, injected),
                )
            }
        };
        let request = Request::new(stowplan_run::Ask {
            name: part.name(),
            question: Question::Latency,
            stack: (&self.ask.stack_file, &self.ask.stack_text),
            places: vec![self.ask.place.clone()],
            partitions: vec![partition],
            blocks: self.ask.blocks,
            pilot: false,
            sensitivity: false,
            seed: self.seed(part),
            warm_up_ns: self.ask.warm_up_ns,
            window_ns: self.ask.window_ns,
            budget_ns,
            starts: Starts::Warm,
            utilisation: None,
            resources: vec![Resources::default()],
            listed: Vec::new(),
            isolation: Isolation::default(),
            ablation: false,
            variants,
            phase_spans,
            natural_phase: false,
            dds: DdsProfile::default(),
            parallelism: None,
            options: RunOptions {
                // What the injected work took is read from it.
                callback_cpu: true,
                host_network: self.ask.host_network,
                ..RunOptions::default()
            },
            command: self.ask.command.clone(),
        });
        Ok(Request {
            calibration: self.ask.calibration.clone(),
            ..request
        })
    }

    /// Folder of an experiment that was begun: the last one of its name that can go on.
    #[must_use]
    pub fn result(folder: &Path, part: Part) -> Option<PathBuf> {
        let begins = format!("{}-", part.name());
        let entries = std::fs::read_dir(folder).ok()?.flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begins))
            .map(|entry| entry.path())
            // A kill between the making of a folder and of its request leaves nothing to go on with.
            .filter(|path| path.join(REQUEST_FILE).is_file())
            .max()
    }
}

/// The partition of all deployments.
pub(crate) fn single(stack: &Stack) -> Result<Partition, SelftestError> {
    Ok(stowplan_plan::partition(
        stack,
        &Choice::Preset(Preset::Single),
    )?)
}

fn variant(name: &str, injection: Option<Injection>) -> Variant {
    Variant {
        name: Name::new(name).expect("a name of ours is one"),
        injection,
        launching: Launching::Ros2,
    }
}

fn with_differences(target: &Target, injected: &InjectedDifference) -> Vec<Variant> {
    let work = Injection::Work {
        callback: target.worker.clone(),
        factor: injected.work_factor,
    };
    let idle = Injection::Phase {
        callback: target.timer.clone(),
        later_ns: injected.ns,
    };
    vec![
        variant("reference", None),
        variant("more-work", Some(work)),
        variant("more-idle", Some(idle)),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use stowplan_testkit::known_engines;

    use super::*;

    pub(crate) fn design(comparisons: u32) -> Design {
        Design::new(Ask {
            stack_file: "hello.yaml".to_owned(),
            stack_text: stowplan_spec::shipped("hello").unwrap().to_owned(),
            calibration: None,
            place: "bare:flat".to_owned(),
            comparisons,
            blocks: 10,
            seed: 1,
            warm_up_ns: 1_000_000_000,
            window_ns: 2_000_000_000,
            host_network: false,
            command: vec![],
        })
    }

    pub(crate) fn difference() -> InjectedDifference {
        InjectedDifference {
            share: 0.1,
            ns: 4_000_000,
            work_callback: "planner/timer".to_owned(),
            work_factor: 2.0,
            work_iterations: 3e6,
            ns_per_iteration: 4.0 / 3.0,
            timer: "planner/timer".to_owned(),
            arrival_ns: 12_000_000,
        }
    }

    #[test]
    fn it_is_read_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut design = design(3);
        design.injected = Some(difference());
        design.save(folder.path()).unwrap();
        assert_eq!(Design::load(folder.path()).unwrap(), design);
    }

    #[test]
    fn half_as_many_experiments_have_a_difference_and_none_shares_a_seed() {
        let design = design(3);
        let parts: Vec<Part> = design.parts().collect();
        let names: Vec<String> = parts.iter().map(|p| p.name()).collect();
        assert_eq!(
            names,
            [
                "equal-01",
                "equal-02",
                "equal-03",
                "injected-01",
                "injected-02"
            ]
        );
        let mut seeds: Vec<u64> = parts.iter().map(|p| design.seed(*p)).collect();
        seeds.sort_unstable();
        let apart = seeds.windows(2).all(|s| s[1] - s[0] > 1_000_000);
        assert!(apart, "{seeds:?}");
    }

    #[test]
    fn deployments_differ_by_what_is_injected_and_nothing_else() {
        let mut design = design(1);
        let equal = design.request(Part::Equal(1), None).unwrap();
        let stack = design.stack().unwrap();
        let deployments = equal.deployments(&stack, &known_engines()).unwrap();
        assert_eq!(deployments.len(), 2);
        let injections = |d: &[stowplan_model::Deployment]| -> Vec<Option<Injection>> {
            let variants = d.iter().map(|d| d.variant.clone().unwrap());
            variants.map(|v| v.injection).collect()
        };
        assert_eq!(injections(&deployments), [None, None]);
        assert!(equal.phase_spans.is_empty());

        design.injected = Some(difference());
        let injected = design.request(Part::Injected(1), None).unwrap();
        let deployments = injected.deployments(&stack, &known_engines()).unwrap();
        let target = Target::find(&stack).unwrap();
        assert_eq!(
            injections(&deployments),
            [
                None,
                Some(Injection::Work {
                    callback: target.worker,
                    factor: 2.0
                }),
                Some(Injection::Phase {
                    callback: target.timer,
                    later_ns: 4_000_000
                })
            ]
        );
        assert_eq!(injected.phase_spans(&stack).unwrap().len(), 2);
    }

    #[test]
    fn the_last_folder_of_a_name_that_can_go_on_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, request: bool| {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            if request {
                std::fs::write(folder.path().join(name).join(REQUEST_FILE), "").unwrap();
            }
        };
        assert_eq!(Design::result(folder.path(), Part::Equal(1)), None);
        make("equal-01-20260101T000000Z", true);
        make("equal-01-20260102T000000Z", true);
        make("equal-01-20260103T000000Z", false);
        make("equal-011-20260104T000000Z", true);
        assert_eq!(
            Design::result(folder.path(), Part::Equal(1)),
            Some(folder.path().join("equal-01-20260102T000000Z"))
        );
    }
}
