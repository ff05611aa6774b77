//! Experiments from their request to their result, by the agent and the node program, on plain processes: what is begun, what is
//! gone on with, and what is refused before anything is made.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stowplan_engine::{Capabilities, Deployment, Engine, EngineError, Probe, Variant};
use stowplan_host::Host;
use stowplan_model::{DdsProfile, Isolation, Limits, Resources};
use stowplan_plan::{Choice, Preset};
use stowplan_results::{Results, RunStatus};
use stowplan_run::{
    Ask, CallerEngines, Executed, ExperimentError, Programs, Question, Request, Session, Starts,
};
use stowplan_spec::RunOptions;
use stowplan_suite::{End, Observer, Step};
use stowplan_testkit::{agent_program, node_program, private_state};
use stowplan_wire::deployment::DeploymentPlan;

/// Keeps what it is told.
#[derive(Default)]
struct Told(Vec<String>);

impl Observer for Told {
    fn step(&mut self, step: &Step<'_>) {
        let Step { block, label, .. } = step;
        self.0.push(format!("block {block}: {label}"));
    }
}

/// An engine that is not here, whose services could not be in a network of the experiment's own.
struct Apart;

impl Engine for Apart {
    fn name(&self) -> String {
        "apart".to_owned()
    }

    fn probe(&self, _: &dyn Host) -> Probe {
        Probe::Absent {
            reason: "it is not here".to_owned(),
            hint: "leave it out".to_owned(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                joins_network: false,
                ..Variant::container("")
            }],
            max_services: None,
        }
    }

    fn prepare(
        &self,
        _: &DeploymentPlan,
        _: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        Err(EngineError::new("it is not here"))
    }
}

type Done = (Result<Executed, ExperimentError>, Vec<String>);

struct Bench {
    folder: tempfile::TempDir,
    programs: Programs,
    stop: AtomicBool,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(private_state()).unwrap();
        Self {
            programs: Programs {
                node: node_program().to_owned(),
                agent: agent_program().to_owned(),
                image_store: folder.path().join("images"),
            },
            folder,
            stop: AtomicBool::new(false),
        }
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    /// Runs `what` in a session; what it gave, and what was told meanwhile.
    fn session(
        &self,
        accepts: bool,
        what: impl FnOnce(Session<'_>) -> Result<Executed, ExperimentError>,
    ) -> Done {
        let mut told = Told::default();
        let done = what(Session {
            programs: &self.programs,
            stop: &self.stop,
            agent_started: &mut |pid| assert!(pid > 1),
            settle: Duration::ZERO,
            outside: CallerEngines {
                names: &["apart"],
                planned: &[],
                make: &|name, _| (name == "apart").then(|| Rc::new(Apart) as Rc<dyn Engine>),
            },
            observer: &mut told,
            sizing: &mut |_, _| Err("there is no pilot".to_owned()),
            accept: &mut |experiment| {
                assert_eq!(experiment.name, "t");
                if accepts {
                    Ok(())
                } else {
                    Err("it is not wanted".into())
                }
            },
        });
        (done, told.0)
    }

    fn begin(&self, request: &Request) -> Done {
        let out = self.results();
        self.session(true, |session| {
            stowplan_run::begin(request, None, &out, session)
        })
    }

    fn resume(&self, dir: &Path) -> Done {
        self.session(true, |session| stowplan_run::resume(dir, None, session))
    }
}

/// The starts of `hello` in two blocks.
fn request(places: &[&str]) -> Request {
    let text = stowplan_spec::shipped("hello").unwrap();
    let spec = stowplan_spec::parse_spec(text, "hello.yaml").unwrap();
    let single = Choice::Preset(Preset::Single);
    Request::new(Ask {
        name: "t".to_owned(),
        question: Question::StartUp,
        stack: ("hello.yaml", text),
        places: places.iter().map(|place| (*place).to_owned()).collect(),
        partitions: vec![stowplan_plan::partition(spec.stack(), &single).unwrap()],
        blocks: 2,
        pilot: false,
        sensitivity: false,
        seed: 1,
        warm_up_ns: 3_000_000_000,
        window_ns: 0,
        budget_ns: None,
        starts: Starts::Warm,
        utilisation: None,
        resources: vec![Resources {
            name: None,
            limits: vec![],
        }],
        listed: vec![],
        isolation: Isolation::default(),
        ablation: false,
        variants: vec![],
        phase_spans: vec![],
        natural_phase: false,
        dds: DdsProfile::Stowplan,
        parallelism: None,
        options: RunOptions::default(),
        command: vec![],
    })
}

#[test]
fn an_experiment_is_begun_and_what_is_finished_is_not_measured_again() {
    let bench = Bench::new();
    let (done, told) = bench.begin(&request(&["bare:flat", "bare:grouped"]));
    let done = done.unwrap();
    let outcome = (done.outcome.end, done.outcome.complete_blocks);
    assert_eq!(outcome, (End::Finished, 2));
    assert_eq!(told.len(), 4, "{told:?}");
    let results = Results::open(&done.dir).unwrap();
    let finished = |results: &Results| {
        let mut runs = results.runs.iter();
        runs.all(|run| run.status == RunStatus::Finished)
    };
    assert!(finished(&results));
    assert_eq!(results.experiment.schedule.len(), 4);
    assert_eq!(results.experiment.calibration.len(), 2, "once a block");
    let mut rows = results.startup().unwrap().into_iter();
    let host = rows.find_map(|row| row.host);
    assert_eq!(host.as_deref(), Some(&*results.experiment.machine.host));

    let (again, told) = bench.resume(&done.dir);
    assert_eq!(again.unwrap().outcome.end, End::Finished);
    assert_eq!(told, Vec::<String>::new());
}

/// Blocks of two programs cannot be compared.
#[test]
fn another_node_program_does_not_go_on_with_a_result() {
    let mut bench = Bench::new();
    bench.stop.store(true, Ordering::SeqCst);
    let done = bench.begin(&request(&["bare:flat"])).0.unwrap();
    let other = bench.folder.path().join("other-node");
    std::fs::copy(node_program(), &other).unwrap();
    let mut file = OpenOptions::new().append(true).open(&other).unwrap();
    file.write_all(b"other").unwrap();
    drop(file);
    bench.programs.node = other;
    let refused = bench.resume(&done.dir).0.unwrap_err();
    assert!(matches!(refused, ExperimentError::OtherProgram));
}

#[test]
fn what_is_refused_makes_no_result() {
    let bench = Bench::new();
    let missing = bench.begin(&request(&["bare:flat", "moon"])).0;
    let told = missing.unwrap_err().to_string();
    assert!(told.contains("moon"), "{told}");

    let (out, wanted) = (bench.results(), request(&["bare:flat"]));
    let (unwanted, _) = bench.session(false, |session| {
        stowplan_run::begin(&wanted, None, &out, session)
    });
    assert_eq!(unwanted.unwrap_err().to_string(), "it is not wanted");

    let mut limited = request(&["bare:flat"]);
    let limits = Limits {
        cpuset: Some(vec![1000]),
        ..Limits::default()
    };
    limited.limits.insert("all".to_owned(), limits);
    let no_cpu = bench.begin(&limited).0.unwrap_err();
    assert!(matches!(no_cpu, ExperimentError::NoCpu { cpu: 1000, .. }));
    assert!(!bench.results().exists());
}

#[test]
fn a_user_who_asks_to_stop_gets_the_result_as_far_as_it_came() {
    let bench = Bench::new();
    bench.stop.store(true, Ordering::SeqCst);
    let (done, told) = bench.begin(&request(&["bare:flat"]));
    let done = done.unwrap();
    assert_eq!((done.outcome.end, told.len()), (End::Stopped, 0));
    assert_eq!(Results::open(&done.dir).unwrap().runs, []);

    bench.stop.store(false, Ordering::SeqCst);
    let (done, told) = bench.resume(&done.dir);
    assert_eq!((done.unwrap().outcome.end, told.len()), (End::Finished, 2));
}

/// All deployments of an experiment have one network, whatever is left out of it later.
#[test]
fn a_place_that_cannot_join_a_network_takes_the_experiment_into_the_machines() {
    let bench = Bench::new();
    bench.stop.store(true, Ordering::SeqCst);
    let mut wanted = request(&["bare:flat", "apart"]);
    wanted.skip_missing = true;
    let result = |wanted: &Request| {
        let dir = bench.begin(wanted).0.unwrap().dir;
        let experiment = Results::open(&dir).unwrap().experiment;
        let told = experiment.warnings.iter();
        let told = told.filter(|told| told.contains("--host-network"));
        let parameter = experiment.parameters["host_network"].as_bool();
        let kept = Request::load(&dir).unwrap().options.host_network;
        (parameter, kept, told.cloned().collect::<Vec<_>>())
    };
    let (parameter, kept, told) = result(&wanted);
    assert_eq!((parameter, kept), (Some(true), true));
    assert!(
        told.len() == 1 && told[0].contains("services of apart"),
        "{told:?}"
    );
    wanted.options.host_network = true;
    assert_eq!(result(&wanted), (Some(true), true, vec![]), "as asked for");
    wanted.options.host_network = false;
    wanted.places.pop();
    assert_eq!(result(&wanted), (Some(false), false, vec![]));
}
