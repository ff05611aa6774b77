//! From what the node program writes to chain latencies, over real trace files.

use std::fs;
use std::path::Path;

use stowplan_ctf::events::ros2::*;
use stowplan_ctf::events::stowplan::*;
use stowplan_ctf::schema::{Gid, Handle, Record};
use stowplan_ctf::writer::{
    EnvValue, EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text,
};
use stowplan_trace::{
    Analysis, CallbackBy, CallbackSelector, ChainSpec, Fate, Parts, Reference, Window,
};

const PACKET: usize = 64 * 1024;
const OFFSET_NS: i64 = 1_795_166_614_731_197_351;
/// Clock readings are large in practice.
const T0: u64 = 3_100_000_000_000;
/// In both processes: they are in different containers.
const VPID: i32 = 1;

type Write = Box<dyn Fn(&mut PacketWriter<'_>)>;

/// Packets of one process, a stream per thread, each stream with one packet:
/// number of the thread, memory, what is written.
struct Process {
    uuid: [u8; 16],
    streams: Vec<(i32, Vec<u64>, Vec<Write>)>,
}

impl Process {
    fn new(name: &[u8; 16]) -> Self {
        Self {
            uuid: *name,
            streams: Vec::new(),
        }
    }

    fn event<R: Record + 'static>(&mut self, vtid: i32, time: u64, record: R) {
        let at = self
            .streams
            .iter()
            .position(|stream| stream.0 == vtid)
            .unwrap_or_else(|| {
                self.streams.push((vtid, vec![0; PACKET / 8], Vec::new()));
                self.streams.len() - 1
            });
        self.streams[at].2.push(Box::new(move |packet| {
            let context = EventContext::new(VPID, vtid, "stowplan-node");
            assert!(packet.event(T0 + time, &context, &record));
        }));
    }

    fn discard(&mut self, vtid: i32, time: u64) {
        let stream = self.streams.iter_mut().find(|s| s.0 == vtid);
        let write = move |packet: &mut PacketWriter<'_>| packet.discard(T0 + time);
        stream.expect("it has events").2.push(Box::new(write));
    }

    fn process(&self) -> String {
        String::from_utf8_lossy(&self.uuid).into_owned()
    }

    fn save(self, folder: &Path) {
        fs::create_dir(folder).expect("a new folder");
        let info = TraceInfo {
            uuid: self.uuid,
            clock_uuid: *b"boot-of-the-host",
            clock_offset_ns: OFFSET_NS,
            hostname: "host".into(),
            tracer_version: (0, 1),
            // As `collect` names a process.
            env: vec![
                ("process".into(), EnvValue::Text(self.process())),
                ("vpid".into(), EnvValue::Int(VPID.into())),
            ],
        };
        fs::write(folder.join("metadata"), metadata_text(&info)).expect("metadata");
        for (number, (_, mut words, writes)) in self.streams.into_iter().enumerate() {
            // SAFETY: the words are plain memory of that size.
            let bytes: &mut [u8] =
                unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), PACKET) };
            let header = PacketHeader {
                uuid: self.uuid,
                stream_instance: number as u64,
                sequence: 0,
                cpu: 0,
                timestamp_begin_ns: T0,
                discarded: 0,
            };
            let mut packet = PacketWriter::begin(bytes, &header).expect("aligned");
            for write in writes {
                write(&mut packet);
            }
            packet.finish(T0 + 1_000_000);
            fs::write(folder.join(format!("thread_{number}")), &*bytes).expect("a stream");
        }
    }
}

/// Handles are equal in both processes.
const NODE: Handle = Handle(0x10);
const ENDPOINT: Handle = Handle(0x20);
const RMW: Handle = Handle(0x30);
const OBJECT: Handle = Handle(0x40);
const CALLBACK: Handle = Handle(0x50);
const MESSAGE: Handle = Handle(0x7fff_0000);

fn begin(process: &mut Process, name: &'static str, module: &'static str) {
    let host_monotonic_ns = T0 + 10;
    process.event(1, 10, ProcessStart { host_monotonic_ns });
    process.event(1, 20, NodeLoadBegin { node: name });
    process.event(
        1,
        30,
        RclNodeInit {
            node_handle: NODE,
            rmw_handle: RMW,
            node_name: name,
            namespace: "/",
        },
    );
    process.event(1, 60, NodeLoaded { node: name, module });
    process.event(1, 70, EndpointsMatched { count: 1 });
    process.event(1, 80, Armed { t_arm_ns: T0 + 90 });
}

fn camera(rounds: u64, discard: bool) -> Process {
    let mut process = Process::new(b"camera----------");
    begin(&mut process, "camera", "sensing");
    let rmw_publisher_handle = RMW;
    let gid = Gid([7; 24]);
    let init = RmwPublisherInit {
        rmw_publisher_handle,
        gid,
    };
    process.event(1, 81, init);
    process.event(
        1,
        82,
        RclPublisherInit {
            publisher_handle: ENDPOINT,
            node_handle: NODE,
            rmw_publisher_handle,
            topic_name: "/image",
            queue_depth: 1,
        },
    );
    let timer_handle = OBJECT;
    let period = 1000;
    process.event(
        1,
        83,
        RclTimerInit {
            timer_handle,
            period,
        },
    );
    let callback = CALLBACK;
    process.event(
        1,
        84,
        RclcppTimerCallbackAdded {
            timer_handle,
            callback,
        },
    );
    let node_handle = NODE;
    process.event(
        1,
        85,
        RclcppTimerLinkNode {
            timer_handle,
            node_handle,
        },
    );
    let symbol = "camera::shutter";
    process.event(1, 86, RclcppCallbackRegister { callback, symbol });
    for k in 0..rounds {
        expose(&mut process, k);
    }
    if discard {
        process.discard(1, 1000 * rounds);
    }
    process
}

fn expose(process: &mut Process, k: u64) {
    let t = 1000 * (k + 1);
    let callback = CALLBACK;
    process.event(
        1,
        t + 4,
        SourceRelease {
            callback,
            sequence: k,
            release_ns: T0 + t,
        },
    );
    process.event(
        1,
        t + 5,
        CallbackStart {
            callback,
            is_intra_process: 0,
        },
    );
    process.event(1, t + 25, RclcppPublish { message: MESSAGE });
    process.event(
        1,
        t + 25,
        RclPublish {
            publisher_handle: ENDPOINT,
            message: MESSAGE,
        },
    );
    process.event(
        1,
        t + 28,
        RmwPublish {
            rmw_publisher_handle: RMW,
            message: MESSAGE,
            timestamp: stamp(k),
        },
    );
    process.event(1, t + 35, CallbackEnd { callback });
}

/// Source timestamps come from another clock.
fn stamp(k: u64) -> i64 {
    OFFSET_NS + (T0 + 1000 * (k + 1) + 29) as i64
}

fn detector(rounds: u64) -> Process {
    let mut process = Process::new(b"detector--------");
    begin(&mut process, "detector", "perception");
    let subscription_handle = ENDPOINT;
    process.event(
        1,
        81,
        RclSubscriptionInit {
            subscription_handle,
            node_handle: NODE,
            rmw_subscription_handle: RMW,
            topic_name: "/image",
            queue_depth: 1,
        },
    );
    let subscription = OBJECT;
    process.event(
        1,
        82,
        RclcppSubscriptionInit {
            subscription_handle,
            subscription,
        },
    );
    let callback = CALLBACK;
    process.event(
        1,
        83,
        RclcppSubscriptionCallbackAdded {
            subscription,
            callback,
        },
    );
    let symbol = "detector::on_image";
    process.event(1, 84, RclcppCallbackRegister { callback, symbol });
    for k in 0..rounds {
        detect(&mut process, k);
    }
    process.event(1, 1000 * (rounds + 2), Disarmed {});
    process
}

fn detect(process: &mut Process, k: u64) {
    let t = 1000 * (k + 1);
    let rmw_subscription_handle = RMW;
    // On the receive thread.
    process.event(
        2,
        t + 128,
        Arrival {
            rmw_subscription_handle,
            source_timestamp: stamp(k),
        },
    );
    let callback = CALLBACK;
    process.event(
        1,
        t + 150,
        RmwTake {
            rmw_subscription_handle,
            message: MESSAGE,
            source_timestamp: stamp(k),
            taken: 1,
        },
    );
    process.event(
        1,
        t + 151,
        Message {
            rmw_subscription_handle,
            publisher_id: 3,
            sequence: k,
            origin_ns: T0 + t,
            stamp_ns: T0 + t + 25,
        },
    );
    process.event(
        1,
        t + 160,
        CallbackStart {
            callback,
            is_intra_process: 0,
        },
    );
    process.event(1, t + 400, CallbackEnd { callback });
}

fn spec() -> ChainSpec {
    let selector = |node: &str, symbol: &str| CallbackSelector {
        node: node.into(),
        by: CallbackBy::Symbol(symbol.into()),
    };
    ChainSpec {
        name: "see".into(),
        callbacks: vec![
            selector("camera", "camera::shutter"),
            selector("detector", "detector::on_image"),
        ],
        output: None,
    }
}

fn analyse(rounds: u64, discard: bool) -> Analysis {
    let folder = tempfile::tempdir().expect("a folder");
    camera(rounds, discard).save(&folder.path().join("camera"));
    detector(rounds).save(&folder.path().join("detector"));
    Analysis::from_ctf(folder.path()).expect("a trace")
}

#[test]
fn every_instance_has_the_parts_that_were_written() {
    let rounds = 20;
    let analysis = analyse(rounds, false);
    assert!(analysis.damage.is_empty());
    assert_eq!(analysis.records.gaps, Default::default());
    assert_eq!(analysis.graph.processes.len(), 2);
    let window = analysis.armed_window().expect("armed");
    let t0 = T0 as i64;
    let expected = Window {
        from_ns: t0 + 90,
        to_ns: t0 + 1000 * (rounds as i64 + 2),
    };
    assert_eq!(window, expected);
    let result = analysis.chain(&spec(), window).expect("connected");
    assert_eq!(result.reference, Reference::Release);
    assert_eq!((result.left_out_ns.len(), result.instances.len()), (0, 20));
    for instance in &result.instances {
        let parts = Parts {
            computation_ns: 20 + 240,
            send_ns: 3,
            transit_ns: 132,
            transport_ns: Some(100),
            wait_ns: Some(32),
            idle_ns: 0,
        };
        assert_eq!(instance.parts, parts);
        assert_eq!((instance.e2e_ns, instance.e2e_full_ns), (395, Some(400)));
    }
    let summary = result.summary();
    let e2e = summary.e2e.expect("20 instances");
    assert_eq!((e2e.count, e2e.mean_ns, e2e.max_ns), (20, 395.0, 395));
    assert_eq!(e2e.q50_ns, Ok(395.0));
    assert!(e2e.p99_ns.is_err(), "20 samples have no 99th percentile");
}

#[test]
fn links_agree_with_the_payload() {
    let analysis = analyse(20, false);
    let check = analysis.check_payload();
    assert_eq!((check.checked, check.mismatches), (20, 0));
    assert_eq!((check.without_payload, check.unlinked), (0, 0));
    let losses = analysis.losses(Window::ALWAYS);
    assert_eq!((losses.edges.len(), losses.edges[0].taken), (1, 20));
}

#[test]
fn start_up_is_what_was_written() {
    let start_up = analyse(2, false).start_up();
    let t0 = T0 as i64;
    assert_eq!(start_up.processes[0].start_ns, Some(t0 + 10));
    assert_eq!(start_up.processes[1].endpoints_matched_ns, Some(t0 + 70));
    let [camera, detector] = &start_up.nodes[..] else {
        panic!("{start_up:?}")
    };
    assert_eq!(
        (camera.node.as_str(), camera.module.as_deref()),
        ("/camera", Some("sensing"))
    );
    assert_eq!(camera.load_begin_ns, Some(t0 + 20));
    assert_eq!(camera.init_ns, Some(t0 + 30));
    assert_eq!(camera.loaded_ns, Some(t0 + 60));
    assert_eq!(camera.first_publication_ns, Some(t0 + 1025));
    assert_eq!(detector.first_callback_ns, Some(t0 + 1160));
    let modules: Vec<&str> = start_up.modules.iter().map(|m| m.module.as_str()).collect();
    assert_eq!(modules, ["sensing", "perception"]);
    assert_eq!(start_up.modules[0].last_loaded_ns, t0 + 60);
}

#[test]
fn discarded_events_are_counted_and_touch_the_instances_near_them() {
    let analysis = analyse(5, true);
    assert_eq!(analysis.discarded_events(), 1);
    let result = analysis.chain(&spec(), Window::ALWAYS).expect("connected");
    // The packet that reports the loss began with the trace: all of it is in doubt.
    assert_eq!((result.instances.len(), result.invalid.len()), (0, 5));
    assert!(result.inputs.iter().all(|i| i.touched_by_discard));
    assert!(result.inputs.iter().all(|i| i.fate == Fate::Used));
}
