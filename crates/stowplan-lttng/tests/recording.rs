//! Real recordings of the program that counts its own events. LTTng has to be there: `script/test` installs it.
#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot go on without ends it"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_ctf::dir::TraceFolder;
use stowplan_host::ledger::Object;
use stowplan_host::process::is_alive;
use stowplan_lttng::{Buffers, Container, Memory, Options, Produced, Recorder, Tools, produced};
use stowplan_testkit::{
    emitted, events_in_container, events_program, in_chroot, only_child, wait_until_events,
};
use stowplan_trace::{Analysis, LinkMethod, Trigger};

/// A recording below a folder of the test's own.
struct Bench {
    folder: tempfile::TempDir,
    recorder: Recorder,
    entered: Vec<Object>,
}

impl Bench {
    fn start(test: &str, buffers: Buffers) -> Self {
        Self::attach(test, buffers, None)
    }

    fn attach(test: &str, buffers: Buffers, container: Option<&Container>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut entered = Vec::new();
        let name = format!("{test}-{}", std::process::id());
        let trace = folder.path().join("trace");
        let options = Options {
            tools: &Tools::find().unwrap_or_else(|e| panic!("{e}")),
            name: &name,
            trace_dir: &trace,
            buffers,
            container,
        };
        let recorder = Recorder::start(&options, &mut |object| {
            entered.push(object.clone());
            Ok(())
        });
        Self {
            recorder: recorder.unwrap_or_else(|e| panic!("{}", stowplan_host::chain(&e))),
            folder,
            entered,
        }
    }

    fn counts(&self, prefix: &str) -> PathBuf {
        self.folder.path().join(format!("{prefix}.json"))
    }

    /// Starts the program; with `alone` as the first process of its own PID namespace.
    fn program(&self, numbers: [u64; 3], prefix: &str, alone: bool) -> Child {
        self.program_with(numbers, prefix, alone, None)
    }

    fn program_with(
        &self,
        [cycles, period_us, work_us]: [u64; 3],
        prefix: &str,
        alone: bool,
        more: Option<&str>,
    ) -> Child {
        let mut command = if alone {
            let mut command = Command::new("unshare");
            command.args(["--fork", "--pid", "--mount-proc"]);
            command.arg(events_program());
            command
        } else {
            Command::new(events_program())
        };
        command
            .args([cycles, period_us, work_us].map(|number| number.to_string()))
            .args(["/counted", prefix])
            .arg(self.counts(prefix))
            .args(more)
            .envs(self.recorder.environment())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn stop(self) -> (tempfile::TempDir, Produced) {
        let recorded = self.recorder.stop().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(recorded.left_out, [""; 0]);
        for object in &self.entered {
            match object {
                Object::Folder { path } => assert!(!Path::new(path).exists(), "{path}"),
                Object::Process { pid, start_ticks } => assert!(!is_alive(*pid, *start_ticks)),
                Object::InRoot { pid, path, .. } => {
                    let path = format!("/proc/{pid}/root{path}");
                    assert!(!Path::new(&path).exists(), "{path}");
                }
                other => panic!("{other:?}"),
            }
        }
        let found = produced(&self.folder.path().join("trace")).unwrap();
        (self.folder, found)
    }
}

fn end(unshare: &Child) {
    let pid = i32::try_from(only_child(unshare))
        .ok()
        .and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::TERM).unwrap();
}

fn large() -> Buffers {
    Buffers::by_rule(Memory::of_this_machine().unwrap(), 1).unwrap()
}

/// Events of ROS 2 in the trace, by name.
fn recorded(folder: &Path) -> BTreeMap<String, u64> {
    let summary = TraceFolder::open(folder.join("trace"))
        .unwrap()
        .summary()
        .unwrap();
    let ros2 = summary
        .by_name
        .into_iter()
        .filter(|(name, _)| name.starts_with("ros2:"));
    ros2.collect()
}

fn sum(parts: &[BTreeMap<String, u64>]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (name, count) in parts.iter().flatten() {
        *sum.entry(name.clone()).or_default() += count;
    }
    sum
}

#[test]
fn two_programs_that_are_both_pid_1_are_counted_apart() {
    if in_chroot() {
        return;
    }
    let bench = Bench::start("apart", large());
    let mut first = bench.program([0, 500, 50], "a_", true);
    let mut second = bench.program([0, 500, 50], "b_", true);
    // Both run at once: the kernel gives the inode of a namespace that has ended to the next.
    wait_until_events(&mut first, "ready");
    wait_until_events(&mut second, "ready");
    for program in [&mut first, &mut second] {
        end(program);
        assert!(program.wait().unwrap().success());
    }
    let own = [emitted(&bench.counts("a_")), emitted(&bench.counts("b_"))];
    let (folder, found) = bench.stop();

    assert_eq!(recorded(folder.path()), sum(&own));
    assert_eq!((found.discarded_events, found.discarded_packets), (0, 0));
    assert_eq!(found.processes.len(), 2);
    let mut events = Vec::new();
    for process in &found.processes {
        assert_eq!((process.vpid, &*process.name), (1, "ros2_events"));
        events.push(process.events);
    }
    let mut expected = own.map(|counts| counts.values().sum::<u64>());
    events.sort_unstable();
    expected.sort_unstable();
    assert_eq!(events, expected);
}

/// rclcpp makes the part of a subscription that gets messages inside the process before it says
/// which subscription that is of.
#[test]
fn messages_inside_a_process_are_linked_through_their_ring_buffer() {
    const CYCLES: u64 = 20;
    let bench = Bench::start("ring", large());
    let mut program = bench.program_with([CYCLES, 1000, 0], "i_", false, Some("inside"));
    assert!(program.wait().unwrap().success());
    let (folder, _) = bench.stop();

    let analysis = Analysis::from_ctf(folder.path().join("trace")).unwrap();
    assert_eq!(analysis.graph.unnamed_callbacks(), []);
    let by_method = analysis.link_summary().by_method;
    assert_eq!(by_method[&LinkMethod::RingBuffer], CYCLES);
    assert_eq!(by_method[&LinkMethod::SourceTimestamp], CYCLES);
    let filter = analysis.callback_summaries().into_iter().find(|callback| {
        callback.identity.trigger == Trigger::Subscription("/counted/inside".into())
    });
    let filter = filter.unwrap();
    assert_eq!(filter.identity.node.as_deref(), Some("/i_filter"));
    assert_eq!(filter.count, CYCLES);
}

#[test]
fn what_does_not_fit_is_counted_as_discarded() {
    let cpus = Memory::of_this_machine().unwrap().cpus;
    let bench = Bench::start("full", Buffers::given(256 << 10, cpus).unwrap());
    let mut program = bench.program([100_000, 0, 0], "f_", false);
    assert!(program.wait().unwrap().success());
    let own: u64 = emitted(&bench.counts("f_")).values().sum();
    let (folder, found) = bench.stop();

    assert!(
        found.discarded_events > 0,
        "nothing was discarded: {found:?}"
    );
    assert_eq!(found.discarded_packets, 0);
    let kept: u64 = recorded(folder.path()).values().sum();
    assert_eq!(kept + found.discarded_events, own);
    assert_eq!(found.events(), kept);
}

#[test]
fn a_recording_of_nothing_is_empty_and_no_error() {
    let (_folder, found) = Bench::start("nothing", large()).stop();
    assert_eq!(found, Produced::default());
}

#[test]
fn a_recorder_that_is_dropped_ends_its_daemon() {
    let bench = Bench::start("dropped", large());
    drop(bench.recorder);
    for object in &bench.entered {
        if let Object::Process { pid, start_ticks } = object {
            assert!(!is_alive(*pid, *start_ticks));
        }
    }
    for object in bench.entered {
        stowplan_host::ledger::remove_object(&object).unwrap();
    }
}

#[test]
fn a_container_that_runs_already_is_recorded_from_outside() {
    if in_chroot() {
        return;
    }
    // Its program waits for a daemon before there is one.
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts.json");
    let mut container = events_in_container(&counts).spawn().unwrap();
    wait_until_events(&mut container, "ready");
    let init = Container::of(only_child(&container)).unwrap();
    let bench = Bench::attach("inside", large(), Some(&init));
    wait_until_events(&mut container, "traced");
    let seen = init.processes();
    let (trace, found) = bench.stop();
    end(&container);
    assert!(container.wait().unwrap().success());

    // `unshare` itself has the mounts, too.
    assert!(seen.contains(&init.pid), "{seen:?}");
    assert_eq!(found.processes.len(), 1, "{found:?}");
    assert_eq!(found.processes[0].vpid, 1);
    assert!(found.processes[0].events > 0);
    // It began before and went on afterwards.
    let (recorded, own) = (recorded(trace.path()), emitted(&counts));
    assert!(!recorded.contains_key("ros2:rcl_init"), "{recorded:?}");
    assert!(recorded["ros2:rmw_publish"] < own["ros2:rmw_publish"]);
}

#[test]
fn a_process_in_no_container_is_refused() {
    let error = Container::of(std::process::id()).unwrap_err();
    assert!(error.to_string().contains("in no container"), "{error}");
}
