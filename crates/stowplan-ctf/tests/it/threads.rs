//! The number of threads that decode changes nothing of what is read.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::path::Path;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::{Event, Item, Merged};

use crate::common;

/// What was read: items, what broke, and a digest of every value in its order.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    events: u64,
    lost: u64,
    failures: Vec<(String, Option<i64>)>,
    streams: usize,
    digest: u64,
}

/// A digest of all that an event says.
fn digest(event: &Event<'_>) -> u64 {
    let mut digest = DefaultHasher::new();
    (event.timestamp_ns, event.stream, event.trace).hash(&mut digest);
    (event.class_index, event.cpu, event.clock_ns()).hash(&mut digest);
    let class = event.class();
    for field in class.contexts.iter().chain(&class.fields) {
        let key = field.field;
        (event.u64(key), event.i64(key), event.text(key)).hash(&mut digest);
        event.f64(key).map(f64::to_bits).hash(&mut digest);
        let integers = event.integers(key).into_iter().flatten();
        integers.for_each(|value| value.hash(&mut digest));
    }
    digest.finish()
}

fn read(events: &mut Merged<'_, u64>) -> Read {
    let mut digest = DefaultHasher::new();
    let mut read = Read {
        events: 0,
        lost: 0,
        failures: Vec::new(),
        streams: events.streams().len(),
        digest: 0,
    };
    loop {
        match events.next_item() {
            Ok(None) => break,
            Ok(Some(Item::Lost(lost))) => {
                read.lost += 1;
                (lost.stream, lost.count, lost.begin_ns, lost.end_ns).hash(&mut digest);
            }
            Ok(Some(Item::Event(event))) => {
                read.events += 1;
                (event.timestamp_ns, event.stream, event.value).hash(&mut digest);
            }
            Err(error) => {
                read.failures.push((error.to_string(), events.resumes_ns()));
                // It stands where it stood in the order.
                read.events.hash(&mut digest);
            }
        }
    }
    read.digest = digest.finish();
    read
}

/// Reads with one thread and with more.
fn equal(folder: &Path) -> Read {
    let traces = TraceFolder::open(folder).expect("a trace");
    let with = |threads| {
        let threads = NonZeroUsize::new(threads).expect("at least one");
        let mut damage = Vec::new();
        let events = traces.readable_events(&mut damage).expect("a stream");
        events.with_threads(threads, digest, read)
    };
    let alone = with(1);
    // Nine are more than some of the traces have streams.
    let more: &[usize] = if alone.events < 10_000 {
        &[2, 3, 4, 9]
    } else {
        &[2, 4]
    };
    for &threads in more {
        assert_eq!(with(threads), alone, "{threads} threads");
    }
    alone
}

fn kept(name: &str, events: u64) {
    if let Some(folder) = common::kept_trace(name) {
        let read = equal(folder.path());
        assert_eq!((read.events, read.failures.len()), (events, 0));
    }
}

#[test]
fn humble() {
    kept("humble-talker_listener", 1_495);
    kept("humble-svc", 2_763);
    kept("tracecompass-ros2", 99_338);
}

#[test]
fn galactic() {
    kept("caret-end-to-end", 2_880);
    kept("autoware-carla", 683_756);
}

#[test]
fn several_traces() {
    kept("humble-chain_perpid", 252_311);
    kept("humble-ab_ctr_r1", 158_545);
}

/// Bytes are broken in the middle of every stream but the first.
#[test]
fn broken_streams() {
    let Some(folder) = common::kept_trace("tracecompass-ros2") else {
        return;
    };
    let whole = equal(folder.path());
    let mut broken = 0;
    let traces = TraceFolder::open(folder.path()).expect("a trace");
    let files = traces.events().expect("streams").streams().to_vec();
    drop(traces);
    for file in files.iter().skip(1).flat_map(|stream| &stream.files) {
        let mut bytes = std::fs::read(file).expect("a stream file");
        let middle = bytes.len() / 2;
        bytes[middle..middle + 64].fill(0xff);
        std::fs::write(file, bytes).expect("a stream file");
        broken += 1;
    }
    assert!(broken > 0);
    let read = equal(folder.path());
    assert!(!read.failures.is_empty());
    assert!(read.events < whole.events);
}

/// A caller that stops early is not waited for.
#[test]
fn stopping_early() {
    let Some(folder) = common::kept_trace("tracecompass-ros2") else {
        return;
    };
    let traces = TraceFolder::open(folder.path()).expect("a trace");
    let threads = NonZeroUsize::new(3).expect("three");
    let events = traces.events().expect("streams");
    let first = events.with_threads(threads, digest, |events| {
        let item = events.next_item().expect("a valid trace");
        matches!(item, Some(Item::Event(_)))
    });
    assert!(first);
}
