//! Metadata of CTF 2: a JSON text sequence of fragments (CTF2-SPEC-2.0, 5; RFC 7464).

mod fields;
mod json;

use std::sync::Arc;

use crate::error::{MetadataError, Place};
use crate::tsdl::document::{Document, EventBlock, StreamBlock};
use crate::tsdl::types::{BigEndian, ClockName, Type};
use crate::tsdl::{Clock, EnvValue};
use fields::Aliases;
use json::Object;

/// What stands before each fragment.
const SEPARATOR: char = '\u{1e}';

/// Whether a metadata text is of CTF 2.
pub(crate) fn is_of(text: &str) -> bool {
    text.starts_with(SEPARATOR)
}

/// Parses the fragments.
pub(crate) fn parse(text: &str) -> Result<Document, MetadataError> {
    let mut reading = Reading::default();
    let mut line = 1;
    for part in text.split(SEPARATOR) {
        let place = Place { line, column: 1 };
        line = line.saturating_add(u32::try_from(part.matches('\n').count()).unwrap_or(u32::MAX));
        if !part.trim().is_empty() {
            reading.fragment(part, place)?;
        }
    }
    reading.document()
}

#[derive(Default)]
struct Reading {
    begun: bool,
    uuid: Option<[u8; 16]>,
    aliases: Aliases,
    trace: Option<Trace>,
    clocks: Vec<(String, Clock)>,
    streams: Vec<StreamBlock>,
    events: Vec<EventBlock>,
}

struct Trace {
    place: Place,
    uuid: Option<[u8; 16]>,
    env: Vec<(String, EnvValue)>,
    packet_header: Option<Arc<Type>>,
}

impl Reading {
    fn fragment(&mut self, part: &str, place: Place) -> Result<(), MetadataError> {
        let value = json::parse(part, place)?;
        let fragment = Object::new(&value, place, "fragment")?;
        let kind = fragment.text("type")?;
        if !self.begun && kind != "preamble" {
            return Err(fragment.fault("the first fragment must be a preamble"));
        }
        match kind {
            "preamble" if self.begun => Err(fragment.fault("a second preamble")),
            "preamble" => self.preamble(&fragment.named("preamble")),
            "field-class-alias" => {
                let alias = fragment.named("field-class-alias");
                let name = alias.text("name")?.to_owned();
                let kind = fields::of(&alias, "field-class", &self.aliases)?;
                let kind = kind.ok_or_else(|| alias.fault("no field-class"))?;
                if self.aliases.insert(name.clone(), kind).is_some() {
                    return Err(alias.fault(format!("`{name}` is declared twice")));
                }
                Ok(())
            }
            "trace-class" if self.trace.is_some() => Err(fragment.fault("a second trace-class")),
            "trace-class" => {
                self.trace = Some(trace(&fragment.named("trace-class"), &self.aliases)?);
                Ok(())
            }
            "clock-class" => {
                self.clocks.push(clock(&fragment.named("clock-class"))?);
                Ok(())
            }
            "data-stream-class" => {
                let fragment = fragment.named("data-stream-class");
                self.streams.push(stream(&fragment, &self.aliases)?);
                Ok(())
            }
            "event-record-class" => {
                let fragment = fragment.named("event-record-class");
                self.events.push(event(&fragment, &self.aliases)?);
                Ok(())
            }
            _ => Err(fragment.fault(format!("type `{kind}` is not one of CTF 2"))),
        }
    }

    fn preamble(&mut self, preamble: &Object<'_>) -> Result<(), MetadataError> {
        self.begun = true;
        let version = preamble.number("version")?;
        if version != 2 {
            return Err(preamble.fault(format!(
                "version {version}: only versions 1.8 and 2 of the format can be read"
            )));
        }
        if let Some(extensions) = preamble.object("extensions")?
            && let Some(name) = extensions.names().next()
        {
            return Err(preamble.fault(format!(
                "the trace needs the extension `{name}`, which is not known"
            )));
        }
        self.uuid = preamble.uuid("uuid")?;
        Ok(())
    }

    fn document(self) -> Result<Document, MetadataError> {
        let trace = self.trace.unwrap_or(Trace {
            place: Place::START,
            uuid: None,
            env: Vec::new(),
            packet_header: None,
        });
        let mut clocks = Vec::with_capacity(self.clocks.len());
        let mut ids: Vec<String> = Vec::with_capacity(self.clocks.len());
        for (id, clock) in self.clocks {
            if ids.contains(&id) {
                let text = format!("clock `{id}` is declared twice");
                return Err(MetadataError::new(trace.place, text));
            }
            ids.push(id);
            clocks.push(clock);
        }
        let mut streams = self.streams;
        for stream in &mut streams {
            // Streams name clocks by their ids; the document has their names.
            let Some(named) = &mut stream.clock else {
                continue;
            };
            let at = ids.iter().position(|id| *id == named.name);
            let fault = || {
                let text = format!("clock `{}` is not declared", named.name);
                MetadataError::new(named.place, text)
            };
            let name = clocks[at.ok_or_else(fault)?].name.clone();
            named.name = name;
        }
        Ok(Document {
            uuid: self.uuid.or(trace.uuid),
            has_roles: true,
            byte_order: BigEndian(false),
            env: trace.env,
            clocks,
            trace_place: trace.place,
            packet_header: trace.packet_header,
            streams,
            events: self.events,
        })
    }
}

fn trace(fragment: &Object<'_>, aliases: &Aliases) -> Result<Trace, MetadataError> {
    let mut env = Vec::new();
    if let Some(environment) = fragment.object("environment")? {
        for name in environment.names() {
            env.push((name.to_owned(), environment.env(name)?));
        }
    }
    Ok(Trace {
        place: fragment.place(),
        uuid: fragment.identity()?,
        env,
        packet_header: fields::of(fragment, "packet-header-field-class", aliases)?,
    })
}

/// A clock and its id.
fn clock(fragment: &Object<'_>) -> Result<(String, Clock), MetadataError> {
    let name = fragment.maybe_text("name")?;
    let id = fragment.maybe_text("id")?.or(name);
    let id = id.ok_or_else(|| fragment.fault("no id"))?.to_owned();
    let frequency = fragment.number("frequency")?;
    let frequency_hz = u64::try_from(frequency).ok().filter(|hz| *hz > 0);
    let frequency_hz = frequency_hz
        .ok_or_else(|| fragment.fault(format!("frequency {frequency} is not one of a clock")))?;
    let mut offset_ns = 0;
    if let Some(offset) = fragment.object("offset-from-origin")? {
        let seconds = offset.maybe_number("seconds")?.unwrap_or(0);
        let cycles = offset.maybe_number("cycles")?.unwrap_or(0);
        let whole = seconds
            .checked_mul(1_000_000_000)
            .zip(cycles.checked_mul(1_000_000_000))
            .and_then(|(seconds, cycles)| {
                seconds.checked_add(cycles.div_euclid(i128::from(frequency_hz)))
            });
        offset_ns = whole
            .and_then(|ns| i64::try_from(ns).ok())
            .ok_or_else(|| fragment.fault("its offset lies beyond the year 2262"))?;
    }
    let clock = Clock {
        name: name.unwrap_or(&id).to_owned(),
        uuid: fragment.identity()?,
        frequency_hz,
        offset_ns,
    };
    Ok((id, clock))
}

fn stream(fragment: &Object<'_>, aliases: &Aliases) -> Result<StreamBlock, MetadataError> {
    let place = fragment.place();
    let clock = fragment.maybe_text("default-clock-class-id")?;
    let clock = match clock {
        Some(clock) => Some(clock),
        // As drafts of the format called it.
        None => fragment.maybe_text("default-clock-class-name")?,
    };
    Ok(StreamBlock {
        place,
        id: fragment.id("id")?,
        clock: clock.map(|name| ClockName {
            name: name.to_owned(),
            place,
        }),
        packet_context: fields::of(fragment, "packet-context-field-class", aliases)?,
        event_header: fields::of(fragment, "event-record-header-field-class", aliases)?,
        event_context: fields::of(fragment, "event-record-common-context-field-class", aliases)?,
    })
}

fn event(fragment: &Object<'_>, aliases: &Aliases) -> Result<EventBlock, MetadataError> {
    let id = fragment.id("id")?;
    let name = fragment.maybe_text("name")?;
    Ok(EventBlock {
        place: fragment.place(),
        name: name.map_or_else(|| format!("event {}", id.unwrap_or(0)), str::to_owned),
        id,
        stream_id: fragment.id("data-stream-class-id")?,
        context: fields::of(fragment, "specific-context-field-class", aliases)?,
        fields: fields::of(fragment, "payload-field-class", aliases)?,
    })
}
