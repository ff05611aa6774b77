//! From options to requests, and from outcomes to exit codes.

use clap::Parser as _;
use stowplan_suite::{End, Job, Outcome, RunFailed};

use super::end::ended;
use super::*;
use crate::cli::{Cli, Command};

fn parsed(line: &str) -> Command {
    let words = ["stowplan"].into_iter().chain(line.split(' '));
    Cli::try_parse_from(words).unwrap().command
}

/// What a ready-made experiment asks for.
fn asked(line: &str) -> Result<Request, CommandError> {
    match parsed(line) {
        Command::Startup(args) => request(&args, &STARTUP),
        Command::Latency(args) => request(&args, &LATENCY),
        Command::Usage(args) => request(&args, &USAGE),
        other => panic!("{other:?}"),
    }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_demo_measures_what_a_machine_has() {
    let args = DemoArgs {
        out: "results".into(),
        blocks: 6,
        full: false,
        quiet: false,
    };
    assert!(of_demo(&args).measure.skip_missing);
}

#[test]
fn what_the_user_does_not_say_is_that_of_the_question() {
    let startup = asked("startup hello").unwrap();
    assert_eq!(
        (startup.question, startup.starts),
        (Question::StartUp, Starts::ColdThenReRun)
    );
    assert_eq!((startup.warm_up_ns, startup.window_ns), (3 * SECOND, 0));
    assert_eq!(startup.places, ["bare:flat", "oci"]);
    let latency = asked("latency hello").unwrap();
    assert_eq!(
        (latency.warm_up_ns, latency.window_ns),
        (2 * SECOND, 20 * SECOND)
    );
    assert_eq!(latency.places, ["bare:flat", "bare:grouped", "oci"]);
    assert_eq!((latency.blocks, latency.seed), (BLOCKS, 1));
    assert_eq!(latency.name, "latency-hello");
    let usage = asked("usage hello").unwrap();
    assert_eq!(
        (usage.question, usage.name.as_str()),
        (Question::Usage, "usage-hello")
    );
    // A pilot may need more than a verdict does.
    let pilot = asked("latency hello --pilot").unwrap();
    assert_eq!((pilot.blocks, pilot.pilot), (MOST_BLOCKS, true));
    // The ablation brings its places, and needs several services.
    let ablation = asked("latency hello --ablation").unwrap();
    assert!(ablation.places.is_empty());
    assert_eq!(ablation.partitions[0].name, "modules");
}

#[test]
fn neighbours_are_a_service_of_their_own_in_every_partition() {
    let request = asked("latency hello --partition single,modules --neighbours 4").unwrap();
    for partition in &request.partitions {
        let (service, nodes) = partition.services.last().unwrap();
        assert_eq!(service, "neighbours");
        assert_eq!(nodes.as_slice(), ["neighbours"]);
    }
    let spec = request.spec().unwrap();
    let node = spec.stack().node("neighbours").unwrap();
    assert_eq!(node.background.unwrap().threads, 4);
    assert_eq!(request.partitions[0].services.len(), 2);
    let alone = asked("latency hello --partition single --neighbours 0").unwrap();
    assert_eq!(alone.partitions[0].services.len(), 1);
    // Start-up competes with them, too.
    let startup = asked("startup hello --partition single --neighbours 4").unwrap();
    assert_eq!(startup.partitions[0].services.len(), 2);
}

#[test]
fn neighbours_of_a_file_give_way_to_those_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    let text = "name: e\nstack: hello\nplaces: [bare:flat]\npartitions: [single]\nwindow: 1s\nneighbours: 3\n";
    std::fs::write(&path, text).unwrap();
    let threads = |more: Option<u8>| {
        let more = RunOptions {
            neighbours: more,
            ..RunOptions::default()
        };
        let spec = of_file(&path, &more).unwrap().spec().unwrap();
        let node = spec.stack().node("neighbours")?;
        node.background.map(|of| of.threads)
    };
    assert_eq!(threads(None), Some(3));
    assert_eq!(threads(Some(5)), Some(5));
    assert_eq!(threads(Some(0)), None);
}

#[test]
fn what_the_user_says_is_asked_for() {
    let line = "latency hello --place oci --partition single --blocks 3 --window 4s --warm-up 200ms --seed 7 \
                --budget 1m --delta cpu=3% --launch native --natural-phase --dds autoware --parallelism 2 \
                --keep-traces --callback-cpu --host-network --skip-missing --utilisation 0.5";
    let request = asked(line).unwrap();
    assert_eq!(request.places, ["oci"]);
    assert_eq!(request.partitions.len(), 1);
    assert_eq!((request.blocks, request.seed), (3, 7));
    assert_eq!(
        (request.warm_up_ns, request.window_ns),
        (SECOND / 5, 4 * SECOND)
    );
    assert_eq!(request.budget_ns, Some(60 * SECOND));
    assert_eq!(request.deltas["cpu"], 0.03);
    assert_eq!(request.dds.as_deref(), Some("autoware"));
    assert_eq!(
        (request.parallelism, request.utilisation),
        (Some(2), Some(0.5))
    );
    assert!(request.natural_phase && request.options.keep_traces && request.options.callback_cpu);
    assert!(request.options.host_network && request.skip_missing && !request.options.preemption);
}

#[test]
fn what_a_resumed_experiment_keeps_cannot_be_said_again() {
    for more in [
        "--out x",
        "--delta cpu=3%",
        "--callback-cpu",
        "--dds autoware",
        "--parallelism 2",
        "--launch native",
        "--natural-phase",
        "--seed 3",
        "--place oci",
        "--window 3s",
        "hello",
    ] {
        let line = format!("stowplan latency --resume x {more}");
        let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("cannot be used with"), "{more}: {told}");
    }
    parsed("latency --resume x --budget 3m --settle 0s --full --quiet --require cpu=1");
}

#[test]
fn a_window_of_nothing_measures_starts_alone() {
    let refused = asked("latency hello --window 0s").unwrap_err();
    assert_eq!(refused.code, ExitCode::Usage);
    assert!(
        refused.message.contains("window that is longer"),
        "{refused}"
    );
    assert_eq!(asked("startup hello --window 0s").unwrap().window_ns, 0);
    assert_eq!(asked("latency hello --warm-up 0s").unwrap().warm_up_ns, 0);
}

#[test]
fn options_add_to_an_experiment_file_and_take_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("experiment.yaml");
    let text = "name: mine\nstack: hello\nplaces: [bare:flat]\npartitions: [single]\nwarm_up: 1s\nwindow: 5s\n\
                budget: 10m\ndelta: { cpu: 4% }\nkeep_traces: true\nparallelism: 3\n";
    std::fs::write(&file, text).unwrap();
    let of = |more: &str| match parsed(&format!("run {}{more}", file.display())) {
        Command::Run(args) => of_run(&args).unwrap(),
        other => panic!("{other:?}"),
    };
    let alone = of("");
    assert_eq!(
        (alone.budget_ns, alone.parallelism),
        (Some(600 * SECOND), Some(3))
    );
    assert_eq!((alone.warm_up_ns, alone.deltas["cpu"]), (SECOND, 0.04));
    assert!(alone.options.keep_traces && !alone.options.callback_cpu);
    let with = of(" --budget 1m --delta e2e_paper_mean=3% --callback-cpu --parallelism 1");
    assert_eq!(
        (with.budget_ns, with.parallelism),
        (Some(60 * SECOND), Some(1))
    );
    assert_eq!(with.deltas.len(), 2);
    assert!(with.options.keep_traces && with.options.callback_cpu);
}

fn conclusion(end: End, failures: &[&str]) -> Result<(), (ExitCode, String)> {
    let job = Job {
        block: 0,
        order: 0,
        deployment: 0,
    };
    let failures = failures.iter().map(|message| (job, failed(message, None)));
    let outcome = Outcome {
        end,
        complete_blocks: 1,
        failures: failures.collect(),
    };
    ended(&outcome, Path::new("results/x")).map_err(|error| (error.code, error.to_string()))
}

fn failed(message: &str, hint: Option<&str>) -> RunFailed {
    RunFailed {
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
        fatal: true,
    }
}

#[test]
fn how_an_experiment_ended_is_its_exit_code_and_how_to_go_on() {
    assert_eq!(conclusion(End::Finished, &[]), Ok(()));
    // Whole blocks were measured, as was asked for.
    assert_eq!(conclusion(End::Budget, &[]), Ok(()));
    let resume = "finished runs are kept; go on with --resume results/x";
    let stopped = format!("error: interrupted\nhint: {resume}");
    assert_eq!(
        conclusion(End::Stopped, &["ended by it"]),
        Err((ExitCode::Interrupted, stopped))
    );
    let some = format!("error: 2 of the runs failed, the first: a\nhint: {resume}");
    assert_eq!(
        conclusion(End::Finished, &["a", "b"]),
        Err((ExitCode::RunFailed, some))
    );
    let full = format!("error: the disk is full\nhint: make room; {resume}");
    assert_eq!(
        conclusion(
            End::Failed(failed("the disk is full", Some("make room"))),
            &[]
        ),
        Err((ExitCode::RunFailed, full))
    );
}

/// The help says the defaults in words: they are those of the code.
#[test]
fn the_help_has_the_defaults() {
    let command = <Cli as clap::CommandFactory>::command();
    let latency = command.find_subcommand("latency").unwrap();
    let help = |option: &str| {
        let mut all = latency.get_arguments();
        let found = all.find(|arg| arg.get_long() == Some(option)).unwrap();
        found.get_help().unwrap().to_string().replace('\n', " ")
    };
    let has = |option: &str, default: &str| {
        let help = help(option);
        assert!(help.contains(default), "--{option}: {default}: {help}");
    };
    let [ours, startups] = [LATENCY, STARTUP].map(|d| d.places.join(","));
    has(
        "place",
        &format!("[default: {ours}; 'startup': {startups}]"),
    );
    assert_eq!(LATENCY.partitions, STARTUP.partitions);
    has(
        "partition",
        &format!("[default: {}]", LATENCY.partitions.join(",")),
    );
    has(
        "blocks",
        &format!("[default: {BLOCKS}; with --pilot at most {MOST_BLOCKS}]"),
    );
    for (option, of) in [
        ("window", [LATENCY.window, STARTUP.window]),
        ("warm-up", [LATENCY.warm_up, STARTUP.warm_up]),
    ] {
        let [ours, startups] = of.map(|time| time.as_secs());
        has(
            option,
            &format!("[default: {ours}s; 'startup': {startups}s]"),
        );
    }
}

#[test]
fn the_help_lists_the_places_that_engines_have() {
    let known = engines::known().unwrap();
    let all: Vec<String> = known.places().map(|place| place.to_string()).collect();
    let mut listed = engines::PLACES.map(str::to_owned).to_vec();
    listed.retain(|place| !all.contains(place));
    assert_eq!(listed, Vec::<String>::new());
    let missing = all
        .iter()
        .filter(|place| !engines::PLACES.contains(&place.as_str()));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
}
