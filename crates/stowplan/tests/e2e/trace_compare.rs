//! `trace compare` on traces written for it, and on recorded ones.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stowplan_ctf::events::ros2::*;
use stowplan_ctf::schema::{Handle, Record};
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text};
use stowplan_testkit::case;

use crate::support::Bench;
use crate::traces::unpacked;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// When nodes are made; calls begin a second later.
const T0: u64 = 3_100 * SECOND;

type Write = Box<dyn Fn(&mut PacketWriter<'_>, &EventContext) -> bool>;

/// A process with one thread, and what it records.
struct Process {
    vpid: i32,
    name: String,
    handles: u64,
    events: Vec<(u64, Write)>,
}

/// A text that records may borrow.
fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

impl Process {
    fn new(vpid: i32, name: impl Into<String>) -> Self {
        Self {
            vpid,
            name: name.into(),
            handles: 0x1000,
            events: Vec::new(),
        }
    }

    fn handle(&mut self) -> Handle {
        self.handles += 0x10;
        Handle(self.handles)
    }

    fn event<R: Record + 'static>(&mut self, time: u64, record: R) {
        self.events
            .push((time, Box::new(move |p, c| p.event(time, c, &record))));
    }

    fn node(&mut self, name: impl Into<String>) -> Handle {
        let node_handle = self.handle();
        let node = RclNodeInit {
            node_handle,
            rmw_handle: node_handle,
            node_name: kept(name.into()),
            namespace: "/",
        };
        self.event(T0, node);
        node_handle
    }

    /// A timer of a node.
    fn timer(&mut self, node_handle: Handle, period_ms: i64, symbol: &'static str) -> Handle {
        let (timer_handle, callback) = (self.handle(), self.handle());
        let period = period_ms * 1_000_000;
        self.event(
            T0 + 1,
            RclTimerInit {
                timer_handle,
                period,
            },
        );
        self.event(
            T0 + 2,
            RclcppTimerCallbackAdded {
                timer_handle,
                callback,
            },
        );
        self.event(T0 + 3, RclcppCallbackRegister { callback, symbol });
        self.event(
            T0 + 4,
            RclcppTimerLinkNode {
                timer_handle,
                node_handle,
            },
        );
        callback
    }

    /// So many calls, one each so many milliseconds. They take so many microseconds, by turns a tenth less and more.
    fn calls(&mut self, callback: Handle, count: u64, each_ms: u64, us: u64) {
        for call in 0..count {
            // Timers of one thread are called one after another.
            let begin = T0 + SECOND + call * each_ms * MS + callback.0 % 0x1000 * MS / 10;
            let length = us * 1_000 * (9 + (call * 7 + call / 5) % 3) / 10;
            let start = CallbackStart {
                callback,
                is_intra_process: 0,
            };
            self.event(begin, start);
            self.event(begin + length, CallbackEnd { callback });
        }
    }

    fn write(mut self, folder: &Path) {
        self.events.sort_by_key(|event| event.0);
        let mut words = vec![0_u64; 64 * 1024];
        // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
        let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
        let header = PacketHeader {
            uuid: *b"compare---------",
            stream_instance: self.vpid.unsigned_abs().into(),
            sequence: 0,
            cpu: 0,
            timestamp_begin_ns: T0,
            discarded: 0,
        };
        let mut packet = PacketWriter::begin(bytes, &header).unwrap();
        let context = EventContext::new(self.vpid, self.vpid, &self.name);
        for (_, write) in &self.events {
            assert!(write(&mut packet, &context));
        }
        packet.finish(self.events.last().unwrap().0);
        fs::write(folder.join(format!("thread_{}", self.vpid)), bytes).unwrap();
    }
}

fn written(bench: &Bench, name: &str, processes: impl IntoIterator<Item = Process>) -> PathBuf {
    let folder = bench.path().join(name);
    fs::create_dir(&folder).unwrap();
    let info = TraceInfo {
        uuid: *b"compare---------",
        clock_uuid: *b"boot-of-the-host",
        clock_offset_ns: 1_795_166_614_731_197_351,
        hostname: "host".into(),
        tracer_version: (0, 1),
        env: vec![],
    };
    fs::write(folder.join("metadata"), metadata_text(&info)).unwrap();
    for process in processes {
        process.write(&folder);
    }
    folder
}

/// A start of one system: numbers of its processes from `vpid` on, addresses of its listeners, how long that of the
/// planner takes, and how often the logger's timer is called.
fn start(vpid: i32, addresses: [&str; 2], planner_us: u64, logger_ms: u64) -> Vec<Process> {
    let mut processes = Vec::new();
    for (number, name, address, us) in [
        (0, "planner", addresses[0], planner_us),
        (1, "rviz2", addresses[1], 1_000),
    ] {
        let mut process = Process::new(vpid + number, name);
        let node = process.node(format!("transform_listener_impl_{address}"));
        let callback = process.timer(node, 100, "listen");
        process.calls(callback, 100, 100, us);
        processes.push(process);
    }
    // ros2 launch, which has little to do.
    let mut launch = Process::new(vpid + 2, "ros2");
    let node = launch.node(format!("launch_ros_{}", vpid + 2));
    let callback = launch.timer(node, 1_000, "spin");
    launch.calls(callback, 3, 1_000, 50);
    // Lambdas share their function.
    let mut logger = Process::new(vpid + 3, "logger");
    let node = logger.node("logger");
    for us in [200, 400] {
        let callback = logger.timer(node, 100, "lambda");
        logger.calls(callback, 100, logger_ms, us);
    }
    processes.extend([launch, logger]);
    processes
}

const FIRST: [&str; 2] = ["55d0c3a1b2f0", "5581e00abc40"];
const SECOND_START: [&str; 2] = ["5612f00dbee0", "5655aaaaaaa0"];

fn compare(bench: &Bench, a: &Path, b: &Path) -> (String, Value) {
    let compare = ["trace", "compare", a.to_str().unwrap(), b.to_str().unwrap()];
    let shown = bench.run(compare).expect(0);
    let document = bench.run(compare.into_iter().chain(["--json"])).expect(0);
    (shown.out, document.document("trace-compare"))
}

fn last_line(shown: &str) -> &str {
    shown.lines().last().unwrap()
}

#[test]
fn two_starts_of_one_system_of_which_a_listener_got_slower() {
    let bench = Bench::new();
    let a = written(&bench, "a", start(100, FIRST, 2_000, 100));
    let b = written(&bench, "b", start(200, SECOND_START, 6_000, 100));
    let (shown, document) = compare(&bench, &a, &b);
    insta::assert_snapshot!("a_listener_got_slower", shown);
    let most = &document["changed_most"];
    assert_eq!(most["what"], "callback");
    assert_eq!(
        most["name"],
        "/transform_listener_impl_* timer 100 ms in planner"
    );
    let by: Vec<&str> = document["callbacks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["matched_by"].as_str().unwrap())
        .collect();
    assert_eq!(by.iter().filter(|by| **by == "process").count(), 3);
    assert_eq!(by.iter().filter(|by| **by == "order").count(), 2);
}

#[test]
fn what_could_not_be_compared_is_in_the_last_line() {
    let bench = Bench::new();
    let a = start(100, FIRST, 2_000, 100);
    let mut b = start(200, SECOND_START, 2_000, 100);
    // Only B has this node, and one of three timers that nothing tells apart.
    let mut new = Process::new(300, "new");
    let node = new.node("new");
    let callback = new.timer(node, 100, "tick");
    new.calls(callback, 100, 100, 300);
    let logger = b.last_mut().unwrap();
    let node = Handle(0x1010);
    let callback = logger.timer(node, 100, "lambda");
    logger.calls(callback, 100, 100, 200);
    b.push(new);
    let a = written(&bench, "a", a);
    let b = written(&bench, "b", b);
    let (shown, document) = compare(&bench, &a, &b);
    insta::assert_snapshot!("not_all_is_compared", shown);
    assert!(document["changed_most"].is_null());
    assert_eq!(document["undecided"][0]["in_b"], 3);
    assert_eq!(
        document["only_in_b"],
        serde_json::json!(["/new timer 100 ms"])
    );
}

/// No duration changes, only how often a process's timers are called.
#[test]
fn a_rate_that_changed_is_told() {
    let bench = Bench::new();
    let a = written(&bench, "a", start(100, FIRST, 2_000, 100));
    let b = written(&bench, "b", start(200, SECOND_START, 2_000, 125));
    let (shown, document) = compare(&bench, &a, &b);
    assert!(
        last_line(&shown).starts_with("changed most: rate /logger timer 100 ms"),
        "{shown}"
    );
    assert!(last_line(&shown).contains("10.000/s → 8.000/s"), "{shown}");
    assert_eq!(document["changed_most"]["what"], "rate");
}

/// Of a trace of half a second there are few calls: no difference is said to mean anything, nor that there is none.
#[test]
fn few_blocks_tell_nothing() {
    let bench = Bench::new();
    let short = |vpid, us| {
        let mut process = Process::new(vpid, "short");
        let node = process.node("short");
        let callback = process.timer(node, 100, "tick");
        process.calls(callback, 5, 100, us);
        [process]
    };
    let a = written(&bench, "a", short(1, 100));
    let b = written(&bench, "b", short(2, 900));
    let (shown, document) = compare(&bench, &a, &b);
    assert_eq!(
        document["callbacks"][0]["duration_ns"]["verdict"],
        "cannot_tell"
    );
    let said = "cannot tell whether anything changed; too few blocks of time to tell: 1 callback";
    assert_eq!(last_line(&shown), said);
}

/// A case from the field: the listener's callback went from 2 ms to 6 ms.
#[test]
fn a_listener_of_another_address_is_the_same_listener() {
    let Some(case) = case("07-compare-names-of-one-start") else {
        return;
    };
    let bench = Bench::new();
    let [a, b] = ["13-compare-a", "13-compare-b"].map(|name| case.join(name));
    let (shown, document) = compare(&bench, &a, &b);
    let most = &document["changed_most"];
    let name = "/transform_listener_impl_* subscription /tf";
    assert_eq!(
        (&most["what"], &most["name"]),
        (&"callback".into(), &name.into())
    );
    assert_eq!(
        (most["a"].as_f64(), most["b"].as_f64()),
        (Some(2e6), Some(6e6))
    );
    assert_eq!(document["only_in_a"].as_array().unwrap().len(), 0);
    assert_eq!(document["only_in_b"].as_array().unwrap().len(), 0);
    assert!(last_line(&shown).contains("2.00 ms → 6.00 ms"), "{shown}");
}

/// Three recordings of real systems, each beside itself: nothing differs, and nothing is compared by order that can
/// be told apart.
#[test]
fn a_recording_beside_itself_has_no_change() {
    for name in ["humble-chain_perpid", "tracecompass-ros2", "autoware-carla"] {
        let bench = Bench::new();
        let Some(trace) = unpacked(&bench, name) else {
            return;
        };
        let (shown, document) = compare(&bench, &trace, &trace);
        assert!(document["changed_most"].is_null(), "{shown}");
        assert_eq!(document["only_in_a"].as_array().unwrap().len(), 0);
        assert!(document["comparisons"].as_u64().unwrap() > 0);
        assert!(!last_line(&shown).contains("changed most"), "{shown}");
    }
}
