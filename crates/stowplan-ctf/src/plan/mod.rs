//! The metadata compiled to what decoding needs, once per event class.

mod build;
mod field;
mod run;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use build::Builder;
pub use field::{FieldInfo, FieldRef};
pub(crate) use field::{IntAt, Length, Shape, position};
pub(crate) use run::{Frame, Run, Then, UNSET, walk};

use crate::error::MetadataError;
use crate::tsdl::document::{Document, EventBlock, StreamBlock};
use crate::tsdl::types::{ClockName, Role};

/// Everything compiled from one metadata text.
#[derive(Debug)]
pub(crate) struct Plan {
    pub packet_header: PacketHeaderPlan,
    pub streams: Vec<StreamPlan>,
    pub classes: Vec<EventClassInfo>,
}

/// How a packet begins, whatever its stream.
#[derive(Debug, Default)]
pub(crate) struct PacketHeaderPlan {
    pub runs: Vec<Run>,
    pub bases: usize,
    pub magic: Option<IntAt>,
    pub stream_id: Option<IntAt>,
    pub instance: Option<IntAt>,
    /// Where the uuid stands: a base and an offset in bits.
    pub uuid: Option<(u32, u32)>,
}

/// How packets and event headers of a stream class look.
#[derive(Debug)]
pub(crate) struct StreamPlan {
    pub id: u64,
    pub context: PacketContextPlan,
    pub header: Vec<Run>,
    /// Fields that may hold the event's class: the last that is present counts.
    pub ids: Vec<IntAt>,
    /// Readings of the clock in the header: those present count, in order.
    pub times: Vec<IntAt>,
    /// Index of the clock in the metadata.
    pub clock: Option<usize>,
    /// Places for run starts that an event of this stream needs.
    pub bases: usize,
    by_id: ById,
}

/// How the context of a packet looks.
#[derive(Debug, Default)]
pub(crate) struct PacketContextPlan {
    pub runs: Vec<Run>,
    pub bases: usize,
    pub begin: Option<IntAt>,
    pub end: Option<IntAt>,
    pub content_bits: Option<IntAt>,
    pub packet_bits: Option<IntAt>,
    pub sequence: Option<IntAt>,
    pub discarded: Option<IntAt>,
    pub cpu: Option<IntAt>,
}

/// A kind of event as the metadata declares it.
#[derive(Debug)]
pub struct EventClassInfo {
    /// `provider:tracepoint`, or what the tracer chose.
    pub name: String,
    /// The number in the event header.
    pub id: u64,
    /// The fields, in order. Members of structures have their path, joined by dots.
    pub fields: Vec<FieldInfo>,
    /// The contexts, those of the stream first.
    pub contexts: Vec<FieldInfo>,
    pub(crate) unique: u32,
    pub(crate) runs: Vec<Run>,
    pub(crate) vpid: Option<FieldRef>,
    pub(crate) vtid: Option<FieldRef>,
    pub(crate) procname: Option<FieldRef>,
    /// `vpid` and `vtid` as one number, where they stand beside each other.
    pub(crate) recorder: Option<FieldRef>,
}

impl EventClassInfo {
    /// The field of this name; resolve it once, outside the loop over events.
    pub fn field(&self, name: &str) -> Option<FieldRef> {
        find(&self.fields, name)
    }

    /// The context of this name, for example `vpid`.
    pub fn context(&self, name: &str) -> Option<FieldRef> {
        find(&self.contexts, name)
    }
}

fn find(fields: &[FieldInfo], name: &str) -> Option<FieldRef> {
    fields
        .iter()
        .find_map(|field| (field.name == name).then_some(field.field))
}

/// Event classes of a stream by number: nearly always small numbers.
#[derive(Debug, Default)]
struct ById {
    dense: Vec<u32>,
    sparse: HashMap<u64, u32>,
}

const DENSE: u64 = 1 << 12;
const NONE: u32 = u32::MAX;

impl ById {
    fn insert(&mut self, id: u64, class: u32) -> bool {
        if self.get(id).is_some() {
            return false;
        }
        match usize::try_from(id) {
            Ok(index) if id < DENSE => {
                if self.dense.len() <= index {
                    self.dense.resize(index + 1, NONE);
                }
                self.dense[index] = class;
            }
            _ => {
                self.sparse.insert(id, class);
            }
        }
        true
    }

    #[inline]
    fn get(&self, id: u64) -> Option<u32> {
        match usize::try_from(id)
            .ok()
            .and_then(|index| self.dense.get(index))
        {
            Some(&class) => (class != NONE).then_some(class),
            None => self.sparse.get(&id).copied(),
        }
    }
}

impl StreamPlan {
    /// Index of the event class of this number.
    #[inline]
    pub fn class(&self, id: u64) -> Option<u32> {
        self.by_id.get(id)
    }
}

impl Plan {
    /// `text`: bytes that the document was written in.
    pub fn compile(document: &Document, text: usize) -> Result<Self, MetadataError> {
        let mut budget = build::budget(text);
        let packet_header = packet_header(document, &mut budget)?;
        let mut streams = Vec::new();
        for block in &document.streams {
            let stream = stream(document, block, &mut budget)?;
            if streams
                .iter()
                .any(|other: &StreamPlan| other.id == stream.id)
            {
                return Err(MetadataError::new(
                    block.place,
                    format!("stream {} is declared twice", stream.id),
                ));
            }
            streams.push(stream);
        }
        let mut classes = Vec::new();
        for event in &document.events {
            let index = stream_of(document, event)?;
            let (block, stream) = (&document.streams[index], &mut streams[index]);
            let class = event_class(document, block, event, stream, &mut budget)?;
            let number = u32::try_from(classes.len())
                .map_err(|_| MetadataError::new(event.place, "too many events"))?;
            if !stream.by_id.insert(class.id, number) {
                return Err(MetadataError::new(
                    event.place,
                    format!(
                        "event {} of stream {} is declared twice",
                        class.id, stream.id
                    ),
                ));
            }
            classes.push(class);
        }
        Ok(Self {
            packet_header,
            streams,
            classes,
        })
    }
}

fn packet_header(
    document: &Document,
    budget: &mut usize,
) -> Result<PacketHeaderPlan, MetadataError> {
    let Some(kind) = &document.packet_header else {
        return Ok(PacketHeaderPlan::default());
    };
    let mut builder = Builder::new(document, document.trace_place, budget);
    builder.scope("trace.packet.header", kind)?;
    Ok(PacketHeaderPlan {
        magic: builder.int_for(Role::Magic, "trace.packet.header.magic"),
        stream_id: builder.int_for(Role::StreamClass, "trace.packet.header.stream_id"),
        instance: builder.int_for(Role::Stream, "trace.packet.header.stream_instance_id"),
        uuid: builder.bytes_for(Role::Uuid, "trace.packet.header.uuid", 16),
        bases: builder.bases(),
        runs: builder.finish(),
    })
}

fn stream(
    document: &Document,
    block: &StreamBlock,
    budget: &mut usize,
) -> Result<StreamPlan, MetadataError> {
    let mut context = PacketContextPlan::default();
    if let Some(kind) = &block.packet_context {
        let mut builder = Builder::new(document, block.place, budget);
        builder.scope("stream.packet.context", kind)?;
        let int = |role, name| builder.int_for(role, &format!("stream.packet.context.{name}"));
        context = PacketContextPlan {
            begin: int(Role::Timestamp, "timestamp_begin"),
            end: int(Role::EndTimestamp, "timestamp_end"),
            content_bits: int(Role::ContentSize, "content_size"),
            packet_bits: int(Role::PacketSize, "packet_size"),
            sequence: int(Role::Sequence, "packet_seq_num"),
            discarded: int(Role::Discarded, "events_discarded"),
            // LTTng's own: no role says it.
            cpu: builder.int("stream.packet.context.cpu_id"),
            bases: builder.bases(),
            runs: builder.finish(),
        };
    }
    let mut builder = Builder::new(document, block.place, budget);
    if let Some(kind) = &block.event_header {
        builder.scope("stream.event.header", kind)?;
    }
    let clock = block
        .clock
        .as_ref()
        .or(builder.clock_name())
        .map(|ClockName { name, place }| {
            document
                .clocks
                .iter()
                .position(|clock| clock.name == *name)
                .ok_or_else(|| {
                    MetadataError::new(*place, format!("clock `{name}` is not declared"))
                })
        })
        .transpose()?;
    Ok(StreamPlan {
        id: block.id.unwrap_or(0),
        context,
        ids: builder.class_numbers(),
        times: builder.clock_readings(),
        clock,
        bases: builder.bases(),
        header: builder.finish(),
        by_id: ById::default(),
    })
}

fn stream_of(document: &Document, event: &EventBlock) -> Result<usize, MetadataError> {
    let wanted = event.stream_id.unwrap_or(0);
    document
        .streams
        .iter()
        .position(|stream| stream.id.unwrap_or(0) == wanted)
        .ok_or_else(|| {
            MetadataError::new(
                event.place,
                format!(
                    "event `{}`: stream {wanted} is not declared before it",
                    event.name
                ),
            )
        })
}

/// Numbers classes, so that a field of one is not taken for a field of another.
static UNIQUE: AtomicU32 = AtomicU32::new(0);

fn event_class(
    document: &Document,
    block: &StreamBlock,
    event: &EventBlock,
    stream: &mut StreamPlan,
    budget: &mut usize,
) -> Result<EventClassInfo, MetadataError> {
    let mut builder = Builder::new(document, event.place, budget);
    if let Some(kind) = &block.event_header {
        builder.scope("stream.event.header", kind)?;
    }
    // The header is walked before the class is known: what follows begins a run of its own.
    let header_runs = builder.close_header();
    let scopes = [
        ("stream.event.context", &block.event_context),
        ("event.context", &event.context),
        ("event.fields", &event.fields),
    ];
    for (name, kind) in scopes {
        if let Some(kind) = kind {
            builder.scope(name, kind)?;
        }
    }
    let unique = UNIQUE.fetch_add(1, Ordering::Relaxed);
    let mut contexts = builder.public("stream.event.context", unique);
    contexts.extend(builder.public("event.context", unique));
    let fields = builder.public("event.fields", unique);
    stream.bases = stream.bases.max(builder.bases());
    let mut runs = builder.finish();
    runs.drain(..header_runs);
    Ok(EventClassInfo {
        name: event.name.clone(),
        id: event.id.unwrap_or(0),
        vpid: find(&contexts, "vpid"),
        vtid: find(&contexts, "vtid"),
        recorder: field::beside(find(&contexts, "vpid"), find(&contexts, "vtid")),
        procname: find(&contexts, "procname"),
        fields,
        contexts,
        unique,
        runs,
    })
}
