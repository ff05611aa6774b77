//! Reads all traces in a folder and below, every field of every event, and prints events
//! per second. `cargo peers trace` runs it beside babeltrace2.
//!
//! `cargo run --release -p stowplan-ctf --example read_speed -- FOLDER [THREADS]`

use std::num::NonZeroUsize;
use std::time::Instant;

use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::reader::{Event, Events, Item, Merged};
use stowplan_ctf::{CtfError, FieldRef};

/// What a field gives; found out once, with the first event of its class.
#[derive(Clone, Copy)]
enum Kind {
    Unsigned,
    Signed,
    Float,
    Text,
    Integers,
    Skipped,
}

fn kind(event: &Event<'_>, field: FieldRef) -> Kind {
    if event.u64(field).is_some() {
        Kind::Unsigned
    } else if event.i64(field).is_some() {
        Kind::Signed
    } else if event.f64(field).is_some() {
        Kind::Float
    } else if event.text(field).is_some() {
        Kind::Text
    } else if event.integers(field).is_some() {
        Kind::Integers
    } else {
        Kind::Skipped
    }
}

/// A number that depends on the value; to have it, a text was decoded as a whole.
fn value(event: &Event<'_>, kind: Kind, field: FieldRef) -> u64 {
    let number = match kind {
        // A negative number is not unsigned, whatever the first one was.
        Kind::Unsigned => event.u64(field),
        Kind::Signed => event.i64(field).map(i64::unsigned_abs),
        Kind::Float => event.f64(field).map(f64::to_bits),
        Kind::Text => event.text(field).map(|text| text.len() as u64),
        Kind::Integers => event
            .integers(field)
            .map(|elements| elements.fold(0, u64::wrapping_add)),
        Kind::Skipped => None,
    };
    number.unwrap_or(0)
}

type Fields = Vec<(Kind, FieldRef)>;

fn fields(event: &Event<'_>) -> Fields {
    let class = event.class();
    let all = class.contexts.iter().chain(&class.fields);
    all.map(|info| (kind(event, info.field), info.field))
        .collect()
}

/// A sum over all values of an event.
fn sum(event: &Event<'_>, classes: &mut [Vec<Option<Fields>>]) -> u64 {
    let known = &mut classes[event.trace as usize][event.class_index as usize];
    let fields = known.get_or_insert_with(|| fields(event)).iter();
    fields.fold(0, |sum, &(kind, field)| {
        sum.wrapping_add(value(event, kind, field))
    })
}

/// Number of events and the sum of theirs, with threads that decode ahead.
fn read_ahead(events: &mut Merged<'_, u64>) -> Result<(u64, u64), CtfError> {
    let (mut count, mut check) = (0_u64, 0_u64);
    while let Some(item) = events.next_item()? {
        let Item::Event(event) = item else { continue };
        count += 1;
        check = check.wrapping_add(*event.value);
    }
    Ok((count, check))
}

/// The same, event by event.
fn read(
    events: &mut Events<'_>,
    mut sum: impl FnMut(&Event<'_>) -> u64,
) -> Result<(u64, u64), CtfError> {
    let (mut count, mut check) = (0_u64, 0_u64);
    while let Some(item) = events.next_item()? {
        let Item::Event(event) = item else { continue };
        count += 1;
        check = check.wrapping_add(sum(&event));
    }
    Ok((count, check))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: read_speed FOLDER [THREADS]")?;
    let threads: NonZeroUsize = arguments
        .next()
        .map_or(Ok(NonZeroUsize::MIN), |n| n.parse())?;
    let begin = Instant::now();
    let folder = TraceFolder::open(&path)?;
    let traces = folder.traces().iter();
    let mut classes: Vec<Vec<Option<Fields>>> = traces
        .map(|trace| vec![None; trace.metadata().classes().len()])
        .collect();
    let mut events = folder.events()?;
    let streams = events.streams().len();
    let sum = move |event: &Event<'_>| sum(event, &mut classes);
    let (count, check) = match threads.get() {
        1 => read(&mut events, sum)?,
        _ => events.with_threads(threads, sum, read_ahead)?,
    };
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{count} events of {streams} streams in {:.1} ms with {threads} threads: {:.2} M events/s (sum of all values {check:x})",
        seconds * 1e3,
        count as f64 / seconds / 1e6,
    );
    Ok(())
}
