//! One run of the program that counts its own events, recorded by several sessions of LTTng at once: a plain one, one
//! that is rotated, one in snapshot mode, and a dual session. All give the same figures.
#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot go on without ends it"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use stowplan_lttng::{Buffers, Memory, Options, Recorder, Tools};
use stowplan_testkit::{emitted, events_program, in_chroot, wait_until_events};
use stowplan_trace::{Overview, Reading};

/// What ros2_tracing's dual session keeps in its snapshot session: what a program says when it begins.
const INITIALISATION: &str = "ros2:*_init,ros2:*_added,ros2:*_register,ros2:*_link_node";

/// The sessions beside the recorder's own.
struct Sessions<'a> {
    recorder: &'a Recorder,
    folder: &'a Path,
}

impl Sessions<'_> {
    /// Runs `lttng` for the recorder's daemon.
    fn lttng(&self, arguments: &[&str]) {
        let mut command = if geteuid().is_root() && !self.recorder.is_system_wide() {
            // That daemon's sockets lie where it alone sees them.
            let mut command = Command::new("nsenter");
            let daemon = self.recorder.pids()[0].to_string();
            command.args(["--mount", "--target", &daemon, "lttng"]);
            command
        } else {
            Command::new("lttng")
        };
        let output = command
            .args(["--no-sessiond", "--group", "stowplan-none"])
            .args(arguments)
            .envs(self.recorder.environment())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "lttng {arguments:?}: {said}");
    }

    /// Creates and starts the session that a folder ends with the name of, with its trace there.
    fn start(&self, folder: &str, events: &str, in_snapshots: bool) {
        let path = self.folder.join(folder);
        let name = name_of(folder);
        let output = format!("--output={}", path.display());
        let mut create = vec!["create", name, &output];
        if in_snapshots {
            create.push("--snapshot");
        }
        self.lttng(&create);
        let of = ["--userspace", "--session", name];
        let sizes = [
            "--subbuf-size=64k",
            "--num-subbuf=32",
            "--buffers-uid",
            "ros2",
        ];
        self.lttng(&[&["enable-channel"], &of[..], &sizes].concat());
        self.lttng(&[&["enable-event"], &of[..], &["--channel", "ros2", events]].concat());
        let contexts = ["vpid", "vtid", "procname", "pid_ns"];
        let contexts: Vec<&str> = contexts.iter().flat_map(|name| ["--type", name]).collect();
        self.lttng(&[&["add-context"], &of[..], &["--channel", "ros2"], &contexts].concat());
        self.lttng(&["start", name]);
    }

    fn snapshot(&self, folder: &str) {
        self.lttng(&["snapshot", "record", "--session", name_of(folder)]);
    }

    fn end(&self, folder: &str) {
        self.lttng(&["stop", name_of(folder)]);
        self.lttng(&["destroy", name_of(folder)]);
    }
}

fn name_of(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap()
}

/// What does not depend on when exactly a session saw an event.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    by_event: BTreeMap<String, u64>,
    processes: usize,
    nodes: Vec<Option<String>>,
    /// Callback, calls, and calls without an end.
    calls: Vec<(String, u64, u64)>,
    takes: u64,
    linked: u64,
    discarded: (u64, u64),
}

fn figures(overview: &Overview) -> Figures {
    let ros2 = overview.contents.by_event.iter();
    let ros2 = ros2.filter(|(name, _)| name.starts_with("ros2:"));
    let calls = overview.callback_summaries();
    let calls = calls.iter().map(|callback| {
        let name = overview.graph.describe(callback.callback);
        (name, callback.count, callback.unfinished)
    });
    let links = overview.link_summary();
    let nodes = overview.graph.nodes.iter();
    Figures {
        by_event: ros2.map(|(name, count)| (name.clone(), *count)).collect(),
        processes: overview.graph.processes.len(),
        nodes: nodes.map(|(_, node)| node.name.clone()).collect(),
        calls: calls.collect(),
        takes: links.takes,
        linked: links.linked,
        discarded: (
            overview.contents.discarded_events,
            overview.contents.discarded_packets,
        ),
    }
}

fn overview(folder: &Path) -> Overview {
    Overview::from_ctf(folder, Reading::default()).unwrap()
}

#[test]
fn rotated_snapshot_and_dual_sessions_give_the_figures_of_a_plain_one() {
    if in_chroot() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let options = Options {
        tools: &Tools::find().unwrap_or_else(|e| panic!("{e}")),
        name: &format!("sessions-{}", std::process::id()),
        trace_dir: &path.join("plain"),
        buffers: Buffers::by_rule(Memory::of_this_machine().unwrap(), 1).unwrap(),
        container: None,
    };
    let recorder = Recorder::start(&options, &mut |_| Ok(()));
    let recorder = recorder.unwrap_or_else(|e| panic!("{}", stowplan_host::chain(&e)));
    let sessions = Sessions {
        recorder: &recorder,
        folder: path,
    };
    sessions.start("rotated", "ros2:*", false);
    sessions.start("flight", "ros2:*", true);
    sessions.start("dual/initialisation", INITIALISATION, true);
    sessions.start("dual/runtime", "ros2:*", false);
    let counts = path.join("counts.json");
    let mut program = Command::new(events_program())
        .args(["0", "2000", "100", "/chatter", "n_"])
        .arg(&counts)
        .envs(recorder.environment())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_events(&mut program, "ready");
    for _ in 0..2 {
        sessions.lttng(&["rotate", "rotated"]);
        sessions.snapshot("flight");
    }
    sessions.snapshot("dual/initialisation");
    let pid = Pid::from_child(&program);
    kill_process(pid, Signal::TERM).unwrap();
    assert!(program.wait().unwrap().success());
    sessions.snapshot("flight");
    for folder in ["rotated", "flight", "dual/initialisation", "dual/runtime"] {
        sessions.end(folder);
    }
    recorder.stop().unwrap_or_else(|e| panic!("{e}"));

    let plain = overview(&path.join("plain"));
    let wanted = figures(&plain);
    assert_eq!(wanted.by_event, emitted(&counts));
    assert_eq!((wanted.processes, wanted.discarded), (1, (0, 0)));
    assert!(
        wanted.linked > 0 && wanted.linked == wanted.takes,
        "{wanted:?}"
    );

    let rotated = overview(&path.join("rotated"));
    assert_eq!(figures(&rotated), wanted);
    assert_eq!(rotated.repeats, Default::default());
    assert!(path.join("rotated/archives").is_dir());

    let flight = overview(&path.join("flight"));
    assert_eq!(figures(&flight), wanted);
    assert!(!flight.repeats.overlaps.is_empty());

    let dual = overview(&path.join("dual"));
    assert_eq!(figures(&dual), wanted);
    let initialisation = overview(&path.join("dual/initialisation"));
    let twice: u64 = initialisation.contents.by_event.values().sum();
    assert!(twice > 0);
    assert_eq!(dual.repeats.events, twice);

    // All in one folder: the same process in four sessions.
    let all = overview(path);
    assert_eq!(figures(&all), wanted);
}
