//! The blocks of a metadata text: trace, env, clock, stream, event.

use std::sync::Arc;

use super::cursor::{Attribute, Cursor, Value};
use super::declare::{Scopes, at_declaration, declaration, order, type_until};
use super::lexer::{Token, tokens};
use super::types::{BigEndian, ClockName, Type};
use super::{Clock, EnvValue};
use crate::error::{MetadataError, Place};

/// What the text declares, before it is compiled.
pub(crate) struct Document {
    pub uuid: Option<[u8; 16]>,
    /// Whether roles say what fields are for, as in CTF 2; else their names do.
    pub has_roles: bool,
    pub byte_order: BigEndian,
    pub env: Vec<(String, EnvValue)>,
    pub clocks: Vec<Clock>,
    /// Where the trace block is.
    pub trace_place: Place,
    pub packet_header: Option<Arc<Type>>,
    pub streams: Vec<StreamBlock>,
    pub events: Vec<EventBlock>,
}

pub(crate) struct StreamBlock {
    pub place: Place,
    pub id: Option<u64>,
    /// The clock of its timestamps, where not the fields name it.
    pub clock: Option<ClockName>,
    pub packet_context: Option<Arc<Type>>,
    pub event_header: Option<Arc<Type>>,
    pub event_context: Option<Arc<Type>>,
}

pub(crate) struct EventBlock {
    pub place: Place,
    pub name: String,
    pub id: Option<u64>,
    pub stream_id: Option<u64>,
    pub context: Option<Arc<Type>>,
    pub fields: Option<Arc<Type>>,
}

/// Something in a block with types: a type for a scope, or an attribute.
enum Entry {
    Scope(String, Arc<Type>),
    Attribute(Attribute),
}

pub(crate) fn parse(text: &str) -> Result<Document, MetadataError> {
    let mut cursor = Cursor::new(tokens(text)?);
    let mut scopes = Scopes::new();
    let mut trace: Option<TraceBlock> = None;
    let (mut env, mut clocks) = (Vec::new(), Vec::new());
    let (mut streams, mut events) = (Vec::new(), Vec::new());
    while *cursor.peek() != Token::End {
        let place = cursor.place();
        if at_declaration(&cursor) {
            declaration(&mut cursor, &mut scopes)?;
            continue;
        }
        let Token::Word(word) = cursor.peek().clone() else {
            return Err(cursor.expected("a block"));
        };
        match word.as_str() {
            "struct" | "enum" | "variant" => {
                type_until(&mut cursor, &mut scopes, ";")?;
            }
            "trace" => trace = Some(trace_block(&mut cursor, &mut scopes)?),
            "stream" => streams.push(stream_block(&mut cursor, &mut scopes)?),
            "event" => events.push(event_block(&mut cursor, &mut scopes, place)?),
            "clock" => clocks.push(clock_block(&mut cursor, place)?),
            "env" => {
                cursor.next();
                env.extend(cursor.attributes()?.into_iter().map(env_pair));
            }
            "callsite" => {
                cursor.next();
                cursor.attributes()?;
            }
            _ => return Err(cursor.expected("trace, stream, event, clock, env or a type")),
        }
        cursor.expect_mark(";")?;
    }
    let trace = trace.ok_or_else(|| cursor.fault("no trace block"))?;
    Ok(Document {
        uuid: trace.uuid,
        has_roles: false,
        byte_order: trace.byte_order,
        env,
        clocks,
        trace_place: trace.place,
        packet_header: trace.packet_header,
        streams,
        events,
    })
}

/// `{ … }` of a block with types, in a scope of its own.
fn entries(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<Vec<Entry>, MetadataError> {
    cursor.next();
    cursor.expect_mark("{")?;
    scopes.open();
    let mut entries = Vec::new();
    while !cursor.at_mark("}") {
        if at_declaration(cursor) {
            declaration(cursor, scopes)?;
            continue;
        }
        if ["struct", "enum", "variant"]
            .iter()
            .any(|word| cursor.at_word(word))
        {
            type_until(cursor, scopes, ";")?;
            cursor.expect_mark(";")?;
            continue;
        }
        let place = cursor.place();
        let name = cursor.path("an attribute or `}`")?.join(".");
        if cursor.take_mark(":=") {
            entries.push(Entry::Scope(name, type_until(cursor, scopes, ";")?));
            cursor.expect_mark(";")?;
        } else {
            let value = cursor.attribute_value()?;
            entries.push(Entry::Attribute(Attribute { name, value, place }));
        }
    }
    scopes.close();
    cursor.expect_mark("}")?;
    Ok(entries)
}

struct TraceBlock {
    place: Place,
    uuid: Option<[u8; 16]>,
    byte_order: BigEndian,
    packet_header: Option<Arc<Type>>,
}

fn trace_block(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<TraceBlock, MetadataError> {
    let place = cursor.place();
    let (mut uuid, mut byte_order, mut packet_header) = (None, None, None);
    for entry in entries(cursor, scopes)? {
        match entry {
            Entry::Scope(name, kind) if name == "packet.header" => packet_header = Some(kind),
            Entry::Scope(..) => {}
            Entry::Attribute(attribute) => match attribute.name.as_str() {
                "uuid" => uuid = Some(uuid_of(&attribute)?),
                "byte_order" => byte_order = order(&attribute)?,
                "major" if attribute.number::<i64>()? != 1 => {
                    return Err(attribute.fault("only version 1 of the format can be read"));
                }
                _ => {}
            },
        }
    }
    let missing = || MetadataError::new(place, "trace without byte_order");
    Ok(TraceBlock {
        place,
        uuid,
        byte_order: byte_order.ok_or_else(missing)?,
        packet_header,
    })
}

fn stream_block(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<StreamBlock, MetadataError> {
    let mut stream = StreamBlock {
        place: cursor.place(),
        id: None,
        clock: None,
        packet_context: None,
        event_header: None,
        event_context: None,
    };
    for entry in entries(cursor, scopes)? {
        match entry {
            Entry::Scope(name, kind) => match name.as_str() {
                "packet.context" => stream.packet_context = Some(kind),
                "event.header" => stream.event_header = Some(kind),
                "event.context" => stream.event_context = Some(kind),
                _ => {}
            },
            Entry::Attribute(attribute) if attribute.name == "id" => {
                stream.id = Some(attribute.number()?);
            }
            Entry::Attribute(_) => {}
        }
    }
    Ok(stream)
}

fn event_block(
    cursor: &mut Cursor,
    scopes: &mut Scopes,
    place: Place,
) -> Result<EventBlock, MetadataError> {
    let mut event = EventBlock {
        place,
        name: String::new(),
        id: None,
        stream_id: None,
        context: None,
        fields: None,
    };
    for entry in entries(cursor, scopes)? {
        match entry {
            Entry::Scope(name, kind) => match name.as_str() {
                "context" => event.context = Some(kind),
                "fields" => event.fields = Some(kind),
                _ => {}
            },
            Entry::Attribute(attribute) => match attribute.name.as_str() {
                "name" => event.name = attribute.text()?,
                "id" => event.id = Some(attribute.number()?),
                "stream_id" => event.stream_id = Some(attribute.number()?),
                _ => {}
            },
        }
    }
    if event.name.is_empty() {
        return Err(MetadataError::new(place, "event without name"));
    }
    Ok(event)
}

fn clock_block(cursor: &mut Cursor, place: Place) -> Result<Clock, MetadataError> {
    cursor.next();
    let mut clock = Clock {
        name: String::new(),
        uuid: None,
        frequency_hz: 1_000_000_000,
        offset_ns: 0,
    };
    let (mut seconds, mut cycles) = (0i64, 0i64);
    for attribute in cursor.attributes()? {
        match attribute.name.as_str() {
            "name" => clock.name = attribute.text()?,
            "uuid" => clock.uuid = Some(uuid_of(&attribute)?),
            "freq" => clock.frequency_hz = attribute.number()?,
            "offset_s" => seconds = attribute.number()?,
            "offset" => cycles = attribute.number()?,
            _ => {}
        }
    }
    if clock.frequency_hz == 0 {
        return Err(MetadataError::new(place, "clock of frequency 0"));
    }
    let offset = i128::from(seconds) * 1_000_000_000
        + i128::from(cycles) * 1_000_000_000 / i128::from(clock.frequency_hz);
    clock.offset_ns = i64::try_from(offset)
        .map_err(|_| MetadataError::new(place, "clock offset beyond the year 2262"))?;
    Ok(clock)
}

fn env_pair(attribute: Attribute) -> (String, EnvValue) {
    let value = match attribute.value {
        Value::Int(value) => {
            i64::try_from(value).map_or_else(|_| EnvValue::Text(value.to_string()), EnvValue::Int)
        }
        Value::Text(text) => EnvValue::Text(text),
        Value::Path(path) => EnvValue::Text(path.join(".")),
    };
    (attribute.name, value)
}

fn uuid_of(attribute: &Attribute) -> Result<[u8; 16], MetadataError> {
    let text = attribute.text()?;
    let mut digits = text.chars().filter(|c| *c != '-');
    let mut uuid = [0; 16];
    let mut fill = || {
        for byte in &mut uuid {
            let high = digits.next()?.to_digit(16)?;
            let low = digits.next()?.to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        digits.next().is_none().then_some(())
    };
    fill().ok_or_else(|| attribute.fault(format!("{text:?} is not a uuid")))?;
    Ok(uuid)
}
