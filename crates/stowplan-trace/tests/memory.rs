//! Memory depends on the system, not on how long it was traced.

#[path = "../../stowplan-ctf/tests/counting/mod.rs"]
mod counting;

use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;

use stowplan_ctf::events::ros2::*;
use stowplan_ctf::schema::{Gid, Handle, Record};
use stowplan_ctf::writer::{EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text};
use stowplan_trace::{Overview, Reading};

/// Processes with a thread and a stream each.
const PROCESSES: u64 = 200;
/// Topics, and so publishers, subscriptions and callbacks, of each: with its node 49 entities
/// and a timer.
const TOPICS: u64 = 16;
/// Topics of a process that carry a message in one round.
const BUSY: u64 = 4;
/// From round to round, nanoseconds.
const ROUND: u64 = 100_000_000;
const PACKET: usize = 64 << 10;
const OFFSET_NS: i64 = 1_795_166_614_731_197_351;
/// What samples that are kept as they are may take: their number has a limit.
const SAMPLES: usize = 8 << 20;
/// What is decoded ahead of the caller may take: 32 batches of 1,024 events, and two in hand.
const AHEAD: usize = 34 * 1024 * 512;
/// What means over blocks of time may take: 32 blocks of 16 bytes each for durations and intervals of a callback and for
/// latencies of an edge, and half as much beside.
const BLOCKS: usize = (PROCESSES * TOPICS) as usize * 3 * 32 * 16 * 3 / 2;
/// What the whole program may take.
const MOST: usize = 100_000_000;

/// A stream that is written packet by packet.
struct Stream {
    file: File,
    process: u64,
    sequence: u64,
    words: Vec<u64>,
    /// Events of the packet that is open: time and how each is written.
    events: Vec<(u64, Write)>,
}

type Write = Box<dyn Fn(&mut PacketWriter<'_>, u64, &EventContext) -> bool>;

impl Stream {
    fn new(folder: &Path, process: u64) -> Self {
        Self {
            file: File::create(folder.join(format!("thread_{process}"))).expect("a file"),
            process,
            sequence: 0,
            words: vec![0; PACKET / 8],
            events: Vec::new(),
        }
    }

    fn event<R: Record + 'static>(&mut self, time: u64, record: R) {
        self.events
            .push((time, Box::new(move |w, t, c| w.event(t, c, &record))));
    }

    /// Writes a packet with what has come up to now.
    fn packet(&mut self) {
        self.words.fill(0);
        // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
        let (_, bytes, _) = unsafe { self.words.align_to_mut::<u8>() };
        let begin = self.events.first().map_or(0, |event| event.0);
        let end = self.events.last().map_or(0, |event| event.0);
        let header = PacketHeader {
            uuid: *b"a-great-system--",
            stream_instance: self.process,
            sequence: self.sequence,
            cpu: 0,
            timestamp_begin_ns: begin,
            discarded: 0,
        };
        self.sequence += 1;
        let number = i32::try_from(self.process).expect("small") + 1;
        let context = EventContext::new(number, number, "node");
        let mut packet = PacketWriter::begin(bytes, &header).expect("aligned");
        for (time, write) in self.events.drain(..) {
            assert!(write(&mut packet, time, &context));
        }
        packet.finish(end);
        self.file.write_all(bytes).expect("a packet");
    }
}

fn handle(kind: u64, number: u64) -> Handle {
    Handle(kind << 32 | (number + 1) << 4)
}

const PUBLISHER: u64 = 1;
const RMW_PUBLISHER: u64 = 2;
const SUBSCRIPTION: u64 = 3;
const RMW_SUBSCRIPTION: u64 = 4;
const OBJECT: u64 = 5;
const CALLBACK: u64 = 6;
const NODE: Handle = Handle(0x7000);
const MESSAGE: Handle = Handle(0x8000);

/// The name of a topic; the records borrow it.
fn topic(process: u64, number: u64) -> &'static str {
    Box::leak(format!("/process_{process}/topic_{number}").into_boxed_str())
}

/// A node that publishes its topics and takes those of the process before it.
fn entities(stream: &mut Stream) {
    let process = stream.process;
    stream.event(
        1,
        RclNodeInit {
            node_handle: NODE,
            rmw_handle: NODE,
            node_name: "node",
            namespace: "/",
        },
    );
    for number in 0..TOPICS {
        stream.event(
            2,
            RmwPublisherInit {
                rmw_publisher_handle: handle(RMW_PUBLISHER, number),
                gid: Gid([7; 24]),
            },
        );
        stream.event(
            3,
            RclPublisherInit {
                publisher_handle: handle(PUBLISHER, number),
                node_handle: NODE,
                rmw_publisher_handle: handle(RMW_PUBLISHER, number),
                topic_name: topic(process, number),
                queue_depth: 1,
            },
        );
        stream.event(
            4,
            RclSubscriptionInit {
                subscription_handle: handle(SUBSCRIPTION, number),
                node_handle: NODE,
                rmw_subscription_handle: handle(RMW_SUBSCRIPTION, number),
                topic_name: topic((process + PROCESSES - 1) % PROCESSES, number),
                queue_depth: 1,
            },
        );
        stream.event(
            5,
            RclcppSubscriptionInit {
                subscription_handle: handle(SUBSCRIPTION, number),
                subscription: handle(OBJECT, number),
            },
        );
        stream.event(
            6,
            RclcppSubscriptionCallbackAdded {
                subscription: handle(OBJECT, number),
                callback: handle(CALLBACK, number),
            },
        );
    }
    let timer_handle = Handle(0x9000);
    stream.event(
        7,
        RclTimerInit {
            timer_handle,
            period: 1,
        },
    );
}

/// When a process publishes a topic in a round; no two do at one time.
fn published(process: u64, number: u64, round: u64) -> u64 {
    (round + 1) * ROUND + process * 1_000 + number * 10 + 5
}

/// Callbacks take what was published in the round before, and publish.
fn round(stream: &mut Stream, round: u64) {
    let process = stream.process;
    let before = (process + PROCESSES - 1) % PROCESSES;
    let epoch = |time: u64| i64::try_from(time).expect("small") + OFFSET_NS;
    for step in 0..BUSY {
        let number = (round * BUSY + step) % TOPICS;
        // The first messages of a topic come from before the trace.
        let earlier = round.checked_sub(TOPICS / BUSY);
        let stamp = earlier.map_or(1, |earlier| epoch(published(before, number, earlier) + 1));
        let now = published(process, number, round) - 4;
        let callback = handle(CALLBACK, number);
        stream.event(
            now,
            RmwTake {
                rmw_subscription_handle: handle(RMW_SUBSCRIPTION, number),
                message: MESSAGE,
                source_timestamp: stamp,
                taken: 1,
            },
        );
        let is_intra_process = 0;
        stream.event(
            now + 1,
            CallbackStart {
                callback,
                is_intra_process,
            },
        );
        stream.event(
            now + 4,
            RclPublish {
                publisher_handle: handle(PUBLISHER, number),
                message: MESSAGE,
            },
        );
        stream.event(
            now + 5,
            RmwPublish {
                rmw_publisher_handle: handle(RMW_PUBLISHER, number),
                message: MESSAGE,
                timestamp: epoch(now + 5),
            },
        );
        stream.event(now + 6 + round % 3, CallbackEnd { callback });
    }
}

fn write(folder: &Path, rounds: u64) {
    fs::create_dir(folder).expect("a new folder");
    let info = TraceInfo {
        uuid: *b"a-great-system--",
        clock_uuid: *b"boot-of-the-host",
        clock_offset_ns: OFFSET_NS,
        hostname: "host".into(),
        tracer_version: (0, 1),
        env: vec![],
    };
    fs::write(folder.join("metadata"), metadata_text(&info)).expect("metadata");
    for process in 0..PROCESSES {
        let mut stream = Stream::new(folder, process);
        entities(&mut stream);
        stream.packet();
        for number in 0..rounds {
            round(&mut stream, number);
            if number % 16 == 15 || number + 1 == rounds {
                stream.packet();
            }
        }
    }
}

/// Greatest resident set of this process so far, bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<usize>().ok())
        .expect("kB")
        * 1024
}

#[test]
fn twice_the_length_takes_no_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let alone = counting::alone();
    let lengths = [80, 160].map(|rounds| {
        let trace = folder.path().join(rounds.to_string());
        write(&trace, rounds);
        (rounds, trace)
    });
    let peak_of = |rounds: u64, trace: &Path, threads: usize| {
        let reading = Reading {
            threads: NonZeroUsize::new(threads).expect("a thread"),
            ..Reading::default()
        };
        let read = || Overview::from_ctf(trace, reading).expect("a trace");
        let (overview, peak) = counting::peak(&alone, read);
        assert_eq!(overview.contents.streams, PROCESSES);
        let graph = &overview.graph;
        let entities = graph.nodes.len()
            + graph.publishers.len()
            + graph.subscriptions.len()
            + graph.callbacks.len()
            + graph.timers.len();
        assert_eq!(entities as u64, PROCESSES * (3 * TOPICS + 2));
        let links = overview.link_summary();
        assert_eq!(links.takes, PROCESSES * BUSY * rounds);
        assert_eq!(links.unlinked, PROCESSES * TOPICS);
        (peak, resident())
    };
    let of_one_thread = lengths
        .each_ref()
        .map(|(rounds, trace)| peak_of(*rounds, trace, 1));
    println!("heap and resident set of one thread, bytes: {of_one_thread:?}");
    let [(heap, set), (heap_of_twice, set_of_twice)] = of_one_thread;
    assert!(heap_of_twice < heap + SAMPLES, "{heap} and {heap_of_twice}");
    assert!(set_of_twice < set + SAMPLES, "{set} and {set_of_twice}");
    // How far others run ahead of the caller is up to the scheduler, within a limit.
    let (rounds, trace) = &lengths[1];
    let (heap_of_two, set_of_two) = peak_of(*rounds, trace, 2);
    println!("of two threads: {heap_of_two}, {set_of_two}");
    assert!(
        heap_of_two < heap_of_twice + AHEAD,
        "{heap_of_twice} and {heap_of_two}"
    );
    assert!(set_of_two < MOST, "{set_of_two}");
    // Means over blocks of time have so many blocks at most, whatever the length.
    let reading = Reading {
        threads: NonZeroUsize::MIN,
        ..Reading::default()
    };
    let with_blocks = lengths.each_ref().map(|(_, trace)| {
        let read = || Overview::from_ctf_with_blocks(trace, reading).expect("a trace");
        counting::peak(&alone, read).1
    });
    println!("heap with blocks of time: {with_blocks:?}");
    let [heap_with_blocks, heap_of_twice_with_blocks] = with_blocks;
    assert!(heap_of_twice_with_blocks < heap_with_blocks + SAMPLES);
    assert!(heap_of_twice_with_blocks < heap_of_twice + BLOCKS);
}
