//! Which processes of several hand-made traces are one.

use std::fs;
use std::path::Path;

use stowplan_ctf::events::ros2::{CallbackEnd, CallbackStart, RclInit};
use stowplan_ctf::schema::Handle;
use stowplan_ctf::writer::{
    EnvValue, EventContext, PacketHeader, PacketWriter, TraceInfo, metadata_text,
};
use stowplan_trace::{Overview, Reading};

const PACKET: usize = 4096;

/// What a process does.
#[derive(Clone, Copy)]
enum Does {
    /// Its first ROS event: `ros2:rcl_init`.
    Starts,
    /// A call of a callback, 10 ns long.
    Calls,
}

/// A trace of one session with one process, vpid 1.
#[derive(Clone)]
struct Session<'a> {
    host: &'a str,
    boot: &'a [u8; 16],
    env: Vec<(&'a str, EnvValue)>,
    process: &'a str,
    does: Vec<(u64, Does)>,
}

impl<'a> Session<'a> {
    fn new(does: &[(u64, Does)]) -> Self {
        Self {
            host: "vehicle",
            boot: b"boot-of-the-host",
            env: Vec::new(),
            process: "talker",
            does: does.to_vec(),
        }
    }

    fn with(mut self, name: &'a str, value: &str) -> Self {
        self.env.push((name, EnvValue::Text(value.to_owned())));
        self
    }

    fn save(&self, folder: &Path, number: u8) {
        fs::create_dir(folder).expect("a new folder");
        let uuid = [number; 16];
        let env = self.env.iter();
        let info = TraceInfo {
            uuid,
            clock_uuid: *self.boot,
            clock_offset_ns: 1_700_000_000_000_000_000,
            hostname: self.host.to_owned(),
            tracer_version: (0, 1),
            env: env
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        };
        fs::write(folder.join("metadata"), metadata_text(&info)).expect("metadata");
        let mut words = vec![0_u64; PACKET / 8];
        // SAFETY: every byte of a u64 may have any value, and u8 has no alignment.
        let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
        let header = PacketHeader {
            uuid,
            stream_instance: 0,
            sequence: 0,
            cpu: 0,
            timestamp_begin_ns: self.does[0].0,
            discarded: 0,
        };
        let mut writer = PacketWriter::begin(bytes, &header).expect("aligned");
        let context = EventContext::new(1, 1, self.process);
        for &(time, does) in &self.does {
            let callback = Handle(0x50);
            let wrote = match does {
                Does::Starts => {
                    let version = "8.2.3";
                    let context_handle = Handle(1);
                    let start = RclInit {
                        context_handle,
                        version,
                    };
                    writer.event(time, &context, &start)
                }
                Does::Calls => {
                    let is_intra_process = 0;
                    let start = CallbackStart {
                        callback,
                        is_intra_process,
                    };
                    writer.event(time, &context, &start)
                        && writer.event(time + 10, &context, &CallbackEnd { callback })
                }
            };
            assert!(wrote);
        }
        fs::write(folder.join("stream_0"), bytes).expect("a stream");
    }
}

fn read(sessions: &[Session<'_>]) -> Overview {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, session) in (0_u8..).zip(sessions) {
        session.save(&folder.path().join(format!("session-{number}")), number);
    }
    Overview::from_ctf(folder.path(), Reading::default()).expect("a trace")
}

/// Processes, those of them that are a guess, and calls per callback.
fn found(sessions: &[Session<'_>]) -> (usize, u64, Vec<u64>) {
    let read = read(sessions);
    let calls = read.callback_summaries();
    let calls = calls.iter().map(|callback| callback.count);
    (
        read.graph.processes.len(),
        read.repeats.guessed,
        calls.collect(),
    )
}

const BEGIN: &[(u64, Does)] = &[(100, Does::Starts), (200, Does::Calls)];
const GO_ON: &[(u64, Does)] = &[(1000, Does::Calls), (2000, Does::Calls)];
const BEGIN_LATER: &[(u64, Does)] = &[(1000, Does::Starts), (2000, Does::Calls)];

#[test]
fn a_process_goes_on_in_a_later_session() {
    let sessions = [Session::new(BEGIN), Session::new(GO_ON)];
    assert_eq!(found(&sessions), (1, 1, vec![3]));
    let read = read(&sessions);
    let (_, process) = read.graph.processes.iter().next().expect("a process");
    assert_eq!(process.traces, ["session-0", "session-1"]);
}

#[test]
fn a_process_that_starts_again_is_another() {
    let sessions = [Session::new(BEGIN), Session::new(BEGIN_LATER)];
    assert_eq!(found(&sessions), (2, 0, vec![1, 1]));
}

#[test]
fn a_process_of_another_name_host_boot_or_user_is_another() {
    let first = Session::new(BEGIN);
    let later = Session::new(GO_ON);
    let apart = |other: Session<'_>| assert_eq!(found(&[first.clone(), other]), (2, 0, vec![1, 2]));
    apart(Session {
        process: "listener",
        ..later.clone()
    });
    apart(Session {
        host: "trailer",
        ..later.clone()
    });
    apart(Session {
        boot: b"boot-after-that-",
        ..later.clone()
    });
    let of_user = |session: &Session<'static>, user| {
        let session = session.clone().with("tracer_buffering_scheme", "uid");
        session.with("tracer_buffering_id", user)
    };
    let users = |a, b| found(&[of_user(&first, a), of_user(&later, b)]).0;
    assert_eq!((users("1000", "1001"), users("1000", "1000")), (2, 1));
}

#[test]
fn what_two_sessions_record_at_once_counts_once() {
    let does = [(100, Does::Starts), (200, Does::Calls), (300, Does::Calls)];
    // The tracer calls the probes of both one after the other.
    let later = does.map(|(time, does)| (time + 1, does));
    let sessions = [Session::new(&does), Session::new(&later)];
    assert_eq!(found(&sessions), (1, 0, vec![2]));
    let read = read(&sessions);
    assert_eq!((read.events, read.repeats.events), (5, 5));
    assert_eq!(read.contents.by_event["ros2:callback_start"], 2);
    // Of the second only the end is new.
    let longer = [&later[..], &[(400, Does::Calls)]].concat();
    assert_eq!(
        found(&[Session::new(&does), Session::new(&longer)]),
        (1, 0, vec![3])
    );
}

#[test]
fn traces_of_one_process_each_are_of_one_by_name_number_and_start() {
    let of = |does, start| {
        let session = Session::new(does).with("procname", "talker");
        let mut session = session.with("vpid_datetime", start);
        session.env.push(("vpid", EnvValue::Int(1)));
        session
    };
    let (early, late) = ("20261125T101513+0000", "20261125T101514+0000");
    assert_eq!(
        found(&[of(BEGIN, early), of(GO_ON, early)]),
        (1, 0, vec![3])
    );
    assert_eq!(
        found(&[of(BEGIN, early), of(GO_ON, late)]),
        (2, 0, vec![1, 2])
    );
}

/// As Stowplan's own recordings of several containers, whose processes all have number 1.
#[test]
fn traces_of_one_process_each_that_say_another_thing_of_it_are_apart() {
    let of = |service| {
        let mut session = Session::new(BEGIN).with("service", service);
        session.env.push(("vpid", EnvValue::Int(1)));
        session
    };
    assert_eq!(found(&[of("a"), of("b")]), (2, 0, vec![1, 1]));
}
