//! Field classes (CTF2-SPEC-2.0, 5.3).

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::json::{Object, whole};
use crate::error::MetadataError;
use crate::tsdl::types::{
    BigEndian, IntegerType, Kind, Member, Order, Reference, Role, Roles, Type,
};

/// Field classes by name.
pub(super) type Aliases = HashMap<String, Arc<Type>>;

/// Where fields are, as field locations name it, and as fields are named here.
const ORIGINS: [(&str, &str); 6] = [
    ("packet-header", "trace.packet.header"),
    ("packet-context", "stream.packet.context"),
    ("event-record-header", "stream.event.header"),
    ("event-record-common-context", "stream.event.context"),
    ("event-record-specific-context", "event.context"),
    ("event-record-payload", "event.fields"),
];

const ROLES: [(&str, Role); 11] = [
    ("packet-magic-number", Role::Magic),
    ("data-stream-class-id", Role::StreamClass),
    ("data-stream-id", Role::Stream),
    ("metadata-stream-uuid", Role::Uuid),
    ("packet-total-length", Role::PacketSize),
    ("packet-content-length", Role::ContentSize),
    ("default-clock-timestamp", Role::Timestamp),
    ("packet-end-default-clock-timestamp", Role::EndTimestamp),
    ("discarded-event-record-counter-snapshot", Role::Discarded),
    ("packet-sequence-number", Role::Sequence),
    ("event-record-class-id", Role::EventClass),
];

/// The field class under a key of a fragment or of another field class.
pub(super) fn of(
    holder: &Object<'_>,
    key: &str,
    aliases: &Aliases,
) -> Result<Option<Arc<Type>>, MetadataError> {
    let Some(value) = holder.value(key) else {
        return Ok(None);
    };
    if let Some(name) = value.as_str() {
        let known = aliases.get(name).cloned();
        let fault = || holder.fault(format!("{key}: `{name}` is not declared before this"));
        return known.map(Some).ok_or_else(fault);
    }
    let class = holder.inside(value, key)?;
    Ok(Some(Arc::new(read(&class, aliases)?)))
}

fn needed(holder: &Object<'_>, key: &str, aliases: &Aliases) -> Result<Arc<Type>, MetadataError> {
    of(holder, key, aliases)?.ok_or_else(|| holder.fault(format!("no {key}")))
}

fn read(class: &Object<'_>, aliases: &Aliases) -> Result<Type, MetadataError> {
    let mut kind = match class.text("type")? {
        "fixed-length-bit-array"
        | "fixed-length-bit-map"
        | "fixed-length-boolean"
        | "fixed-length-unsigned-integer" => integer(class, false)?,
        "fixed-length-signed-integer" => integer(class, true)?,
        "fixed-length-floating-point-number" => float(class)?,
        "variable-length-unsigned-integer" => Type::variable(false),
        "variable-length-signed-integer" => Type::variable(true),
        "null-terminated-string" if is_utf8(class)? => Type::text(),
        "null-terminated-string" => {
            return Err(class.fault("only strings in UTF-8 can end by a zero byte"));
        }
        "static-length-string" => bytes(class, is_utf8(class)?)?,
        "static-length-blob" => bytes(class, false)?,
        "dynamic-length-string" => sequence(class, byte(is_utf8(class)?))?,
        "dynamic-length-blob" => sequence(class, byte(false))?,
        "structure" => structure(class, aliases)?,
        "static-length-array" => {
            let element = needed(class, "element-field-class", aliases)?;
            let array = Type::array(element, length(class)?);
            aligned(class, array.ok_or_else(|| too_much(class))?)?
        }
        "dynamic-length-array" => {
            let element = needed(class, "element-field-class", aliases)?;
            aligned(class, sequence(class, element)?)?
        }
        "optional" => optional(class, aliases)?,
        "variant" => variant(class, aliases)?,
        other => return Err(class.fault(format!("type `{other}` is not one of CTF 2"))),
    };
    kind.roles = roles(class)?;
    if matches!(kind.kind, Kind::Variable { .. }) && kind.roles.has(Role::Timestamp) {
        return Err(class.fault("timestamps of variable length cannot be read"));
    }
    Ok(kind)
}

fn too_much(class: &Object<'_>) -> MetadataError {
    class.fault("too large, or nested too deep")
}

fn roles(class: &Object<'_>) -> Result<Roles, MetadataError> {
    let mut roles = Roles::default();
    for role in class.list("roles")?.unwrap_or_default() {
        // What is not known here says nothing about how to read.
        let known = ROLES.iter().find(|(name, _)| role.as_str() == Some(name));
        if let Some((_, role)) = known {
            roles = roles.with(*role);
        }
    }
    Ok(roles)
}

fn alignment(class: &Object<'_>, key: &str) -> Result<u32, MetadataError> {
    let given = class.maybe_number(key)?.unwrap_or(1);
    let align = u32::try_from(given).ok();
    align
        .filter(|align| align.is_power_of_two() && *align <= 1 << 16)
        .ok_or_else(|| class.fault(format!("{key} {given} is not a power of two")))
}

fn aligned(class: &Object<'_>, kind: Type) -> Result<Type, MetadataError> {
    let align = alignment(class, "minimum-alignment")?.max(kind.align);
    Ok(Type { align, ..kind })
}

fn length(class: &Object<'_>) -> Result<u64, MetadataError> {
    let given = class.number("length")?;
    u64::try_from(given).map_err(|_| class.fault(format!("length {given} is not one")))
}

fn order(class: &Object<'_>) -> Result<Order, MetadataError> {
    let big = match class.text("byte-order")? {
        "big-endian" => true,
        "little-endian" => false,
        other => return Err(class.fault(format!("byte-order `{other}` is not one"))),
    };
    let usual = if big {
        "last-to-first"
    } else {
        "first-to-last"
    };
    match class.maybe_text("bit-order")? {
        Some(bits) if bits != usual => Err(class.fault(format!(
            "bit-order {bits} cannot be read in this byte order"
        ))),
        _ => Ok(Some(BigEndian(big))),
    }
}

fn integer(class: &Object<'_>, signed: bool) -> Result<Type, MetadataError> {
    let bits = length(class)?;
    let fits = u8::try_from(bits)
        .ok()
        .filter(|bits| (1..=64).contains(bits));
    let bits = fits.ok_or_else(|| class.fault(format!("{bits} bits: 1 to 64 can be read")))?;
    Ok(Type::integer(IntegerType {
        bits,
        signed,
        align: alignment(class, "alignment")?,
        order: order(class)?,
        text: false,
        clock: None,
    }))
}

/// Of 16 and 128 bits only the bytes can be had.
fn float(class: &Object<'_>) -> Result<Type, MetadataError> {
    let (bits, align) = (length(class)?, alignment(class, "alignment")?);
    match bits {
        32 => Ok(Type::float(32, align, order(class)?)),
        64 => Ok(Type::float(64, align, order(class)?)),
        16 | 128 if align >= 8 => {
            let kind = Type::array(byte(false), bits / 8).ok_or_else(|| too_much(class))?;
            Ok(Type { align, ..kind })
        }
        _ => Err(class.fault(format!("floating-point number of {bits} bits"))),
    }
}

/// A byte of a text or of anything.
fn byte(text: bool) -> Arc<Type> {
    Arc::new(Type::integer(IntegerType {
        bits: 8,
        signed: false,
        align: 8,
        order: None,
        text,
        clock: None,
    }))
}

fn is_utf8(class: &Object<'_>) -> Result<bool, MetadataError> {
    let encoding = class.maybe_text("encoding")?;
    Ok(encoding.is_none_or(|encoding| encoding == "utf-8"))
}

fn bytes(class: &Object<'_>, text: bool) -> Result<Type, MetadataError> {
    Type::array(byte(text), length(class)?).ok_or_else(|| too_much(class))
}

fn sequence(class: &Object<'_>, element: Arc<Type>) -> Result<Type, MetadataError> {
    let length = location(class, "length-field-location")?;
    Type::sequence(element, length).ok_or_else(|| too_much(class))
}

/// The field that a location names: from an origin, or from the structure around the class.
fn location(class: &Object<'_>, key: &str) -> Result<Reference, MetadataError> {
    let location = class.object(key)?;
    let location = location.ok_or_else(|| class.fault(format!("no {key}")))?;
    let mut path = Vec::new();
    if let Some(origin) = location.maybe_text("origin")? {
        let known = ORIGINS.iter().find(|(name, _)| *name == origin);
        let fault = || location.fault(format!("origin `{origin}` is not one"));
        path.push(known.ok_or_else(fault)?.1.to_owned());
    }
    let mut up = 0;
    for part in location.list("path")?.unwrap_or_default() {
        match part {
            Value::Null => up += 1,
            Value::String(name) => path.push(name.clone()),
            _ => return Err(location.fault("path has something other than names")),
        }
    }
    if path.is_empty() {
        return Err(location.fault("no path"));
    }
    Ok(Reference {
        path,
        up,
        place: class.place(),
    })
}

fn structure(class: &Object<'_>, aliases: &Aliases) -> Result<Type, MetadataError> {
    let mut members = Vec::new();
    for value in class.list("member-classes")?.unwrap_or_default() {
        let member = class.item(value, "member")?;
        let name = member.text("name")?.to_owned();
        let kind = needed(&member, "field-class", aliases)?;
        if members.iter().any(|known: &Member| known.name == name) {
            return Err(member.fault("declared twice"));
        }
        members.push(Member { name, kind });
    }
    let align = alignment(class, "minimum-alignment")?;
    Type::structure(members, align).ok_or_else(|| too_much(class))
}

/// Ranges of a selector, both ends included.
fn ranges(class: &Object<'_>) -> Result<Option<Vec<(i128, i128)>>, MetadataError> {
    let key = "selector-field-ranges";
    let Some(list) = class.list(key)? else {
        return Ok(None);
    };
    let ranges = list.iter().map(|range| match range.as_array()?.as_slice() {
        [low, high] => Some((whole(low)?, whole(high)?)),
        _ => None,
    });
    let ranges: Option<Vec<_>> = ranges.collect();
    let fault = || class.fault(format!("{key} are not pairs of whole numbers"));
    ranges.map(Some).ok_or_else(fault)
}

/// A field that is there where its selector has certain values: a choice between it and nothing.
fn optional(class: &Object<'_>, aliases: &Aliases) -> Result<Type, MetadataError> {
    let kind = needed(class, "field-class", aliases)?;
    let nothing = Type::structure(Vec::new(), 1).ok_or_else(|| too_much(class))?;
    // A boolean has no ranges: it is true where it is not 0.
    let present = ranges(class)?.unwrap_or_else(|| vec![(i128::MIN, -1), (1, i128::MAX)]);
    let mut ranges: Vec<_> = present.into_iter().map(|(a, b)| (a, b, 0)).collect();
    ranges.push((i128::MIN, i128::MAX, 1));
    let unnamed = |kind| Member {
        name: String::new(),
        kind,
    };
    let options = vec![unnamed(kind), unnamed(Arc::new(nothing))];
    let selector = location(class, "selector-field-location")?;
    Type::choice(selector, ranges, options).ok_or_else(|| too_much(class))
}

fn variant(class: &Object<'_>, aliases: &Aliases) -> Result<Type, MetadataError> {
    let mut chosen = Vec::new();
    let mut options = Vec::new();
    for value in class.list("options")?.unwrap_or_default() {
        let option = class.item(value, "option")?;
        let own = ranges(&option)?.ok_or_else(|| option.fault("no selector-field-ranges"))?;
        chosen.extend(own.into_iter().map(|(a, b)| (a, b, options.len())));
        let name = option.maybe_text("name")?.unwrap_or_default().to_owned();
        let kind = needed(&option, "field-class", aliases)?;
        options.push(Member { name, kind });
    }
    let selector = location(class, "selector-field-location")?;
    Type::choice(selector, chosen, options).ok_or_else(|| too_much(class))
}
