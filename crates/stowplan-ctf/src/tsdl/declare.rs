//! Types and their declarations.

use std::collections::HashMap;
use std::sync::Arc;

use super::cursor::{Attribute, Cursor, Value};
use super::lexer::Token;
use super::types::{
    BigEndian, ClockName, IntegerType, Kind, Mapping, Member, Order, Reference, Type,
};
use crate::error::{MetadataError, Place};

/// Declared names, innermost scope last. Keys of named structures, variants and
/// enumerations begin with that word, so that they do not meet aliases.
pub(super) struct Scopes(Vec<HashMap<String, Arc<Type>>>);

/// Mappings of one enumeration; more than any real one has.
const MOST_MAPPINGS: usize = 1 << 16;

impl Scopes {
    pub fn new() -> Self {
        Self(vec![HashMap::new()])
    }

    pub fn open(&mut self) {
        self.0.push(HashMap::new());
    }

    pub fn close(&mut self) {
        self.0.pop();
    }

    fn declare(&mut self, name: String, kind: Arc<Type>) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert(name, kind);
        }
    }

    fn find(&self, name: &str) -> Option<Arc<Type>> {
        self.0
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).cloned())
    }
}

/// Whether a type declaration without a field begins here.
pub(super) fn at_declaration(cursor: &Cursor) -> bool {
    cursor.at_word("typealias") || cursor.at_word("typedef")
}

/// `typealias TYPE := NAME;` or `typedef TYPE NAME;`
pub(super) fn declaration(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<(), MetadataError> {
    if cursor.next() == Token::Word("typedef".into()) {
        let member = field(cursor, scopes)?;
        for member in member {
            scopes.declare(member.name, member.kind);
        }
        return Ok(());
    }
    let kind = type_until(cursor, scopes, ":=")?;
    cursor.expect_mark(":=")?;
    let name = words(cursor, 0);
    if name.is_empty() {
        return Err(cursor.expected("the name of the alias"));
    }
    cursor.expect_mark(";")?;
    scopes.declare(name, kind);
    Ok(())
}

/// A type followed by the mark `end`, or by a declarator if `end` is empty.
pub(super) fn type_until(
    cursor: &mut Cursor,
    scopes: &mut Scopes,
    end: &str,
) -> Result<Arc<Type>, MetadataError> {
    cursor.enter()?;
    let result = specifier(cursor, scopes, end);
    cursor.leave();
    result
}

fn specifier(
    cursor: &mut Cursor,
    scopes: &mut Scopes,
    end: &str,
) -> Result<Arc<Type>, MetadataError> {
    while cursor.at_word("const") || cursor.at_word("volatile") {
        cursor.next();
    }
    let Token::Word(word) = cursor.peek() else {
        return Err(cursor.expected("a type"));
    };
    match word.as_str() {
        "struct" => structure(cursor, scopes),
        "variant" => variant(cursor, scopes),
        "enum" => enumeration(cursor, scopes),
        "integer" => integer(cursor).map(|integer| Arc::new(Type::integer(integer))),
        "floating_point" => float(cursor),
        "string" => {
            cursor.next();
            if cursor.at_mark("{") {
                cursor.attributes()?;
            }
            Ok(Arc::new(Type::text()))
        }
        _ => {
            // In a field the last word is its name.
            let fault = cursor.fault(String::new());
            let name = words(cursor, usize::from(end.is_empty()));
            scopes.find(&name).ok_or_else(|| MetadataError {
                message: format!("type `{name}` is not declared"),
                ..fault
            })
        }
    }
}

/// Words and stars joined by spaces, up to anything else, but leaving `keep` of them.
fn words(cursor: &mut Cursor, keep: usize) -> String {
    let part = |token: &Token| matches!(token, Token::Word(_) | Token::Mark("*"));
    let mut name = String::new();
    while part(cursor.peek()) && (0..=keep).all(|ahead| part(cursor.peek_at(ahead))) {
        if !name.is_empty() {
            name.push(' ');
        }
        match cursor.next() {
            Token::Word(word) => name.push_str(&word),
            _ => name.push('*'),
        }
    }
    name
}

/// `TYPE NAME[LENGTH]…, …;`
fn field(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<Vec<Member>, MetadataError> {
    let base = type_until(cursor, scopes, "")?;
    let mut members = Vec::new();
    loop {
        let name = cursor.word("the name of a field")?;
        let kind = dimensions(cursor, Arc::clone(&base))?;
        members.push(Member { name, kind });
        if !cursor.take_mark(",") {
            cursor.expect_mark(";")?;
            return Ok(members);
        }
    }
}

/// `[2][n]`: an array of two sequences, as in C.
fn dimensions(cursor: &mut Cursor, element: Arc<Type>) -> Result<Arc<Type>, MetadataError> {
    if !cursor.at_mark("[") {
        return Ok(element);
    }
    let place = cursor.place();
    cursor.nested(|cursor| {
        cursor.expect_mark("[")?;
        let length = match cursor.peek() {
            Token::Number(length) => {
                let length = *length;
                cursor.next();
                Ok(length)
            }
            _ => Err(Reference {
                path: cursor.path("the length of an array")?,
                up: 0,
                place,
            }),
        };
        cursor.expect_mark("]")?;
        let element = dimensions(cursor, element)?;
        match length {
            Ok(length) => Type::array(element, length),
            Err(length) => Type::sequence(element, length),
        }
        .map(Arc::new)
        .ok_or_else(|| MetadataError::new(place, "array is too large or nested too deep"))
    })
}

fn structure(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<Arc<Type>, MetadataError> {
    let start = cursor.place();
    cursor.next();
    let name = match cursor.peek() {
        Token::Word(word) if word != "align" => Some(cursor.word("a name")?),
        _ => None,
    };
    let key = name.map(|name| format!("struct {name}"));
    if !cursor.at_mark("{") {
        return known(cursor, scopes, key, start);
    }
    let members = members(cursor, scopes)?;
    let align = if cursor.at_word("align") {
        cursor.next();
        cursor.expect_mark("(")?;
        let fault = cursor.fault("alignment must be a power of two");
        let align = cursor.int()?;
        cursor.expect_mark(")")?;
        power_of_two(align).ok_or(fault)?
    } else {
        1
    };
    let kind = Type::structure(members, align)
        .map(Arc::new)
        .ok_or_else(|| MetadataError::new(start, "structure is too large or nested too deep"))?;
    if let Some(key) = key {
        scopes.declare(key, Arc::clone(&kind));
    }
    Ok(kind)
}

fn known(
    cursor: &Cursor,
    scopes: &Scopes,
    key: Option<String>,
    start: Place,
) -> Result<Arc<Type>, MetadataError> {
    let Some(key) = key else {
        return Err(cursor.expected("`{`"));
    };
    scopes
        .find(&key)
        .ok_or_else(|| MetadataError::new(start, format!("`{key}` is not declared")))
}

/// `{ TYPE NAME; … }`, in a scope of its own.
fn members(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<Vec<Member>, MetadataError> {
    cursor.expect_mark("{")?;
    scopes.open();
    let mut members: Vec<Member> = Vec::new();
    while !cursor.at_mark("}") {
        if at_declaration(cursor) {
            declaration(cursor, scopes)?;
        } else {
            members.extend(field(cursor, scopes)?);
        }
    }
    scopes.close();
    cursor.expect_mark("}")?;
    Ok(members)
}

fn variant(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<Arc<Type>, MetadataError> {
    let start = cursor.place();
    cursor.next();
    let key = match cursor.peek() {
        Token::Word(_) => Some(format!("variant {}", cursor.word("a name")?)),
        _ => None,
    };
    let tag = if cursor.take_mark("<") {
        let place = cursor.place();
        let path = cursor.path("the tag of a variant")?;
        cursor.expect_mark(">")?;
        Some(Reference { path, up: 0, place })
    } else {
        None
    };
    let too_deep = cursor.fault("variant is nested too deep");
    if cursor.at_mark("{") {
        let kind = Type::variant(tag, members(cursor, scopes)?).ok_or(too_deep)?;
        let kind = Arc::new(kind);
        if let Some(key) = key {
            scopes.declare(key, Arc::clone(&kind));
        }
        return Ok(kind);
    }
    let kind = known(cursor, scopes, key, start)?;
    match (&kind.kind, tag) {
        (Kind::Variant { options, .. }, Some(tag)) => Type::variant(Some(tag), options.clone())
            .map(Arc::new)
            .ok_or(too_deep),
        _ => Ok(kind),
    }
}

/// `enum NAME : TYPE { LABEL = LOW ... HIGH, … }`
fn enumeration(cursor: &mut Cursor, scopes: &mut Scopes) -> Result<Arc<Type>, MetadataError> {
    let start = cursor.place();
    cursor.next();
    let key = match cursor.peek() {
        Token::Word(_) => Some(format!("enum {}", cursor.word("a name")?)),
        _ => None,
    };
    let container = if cursor.take_mark(":") {
        Some(type_until(cursor, scopes, "{")?)
    } else {
        None
    };
    if !cursor.at_mark("{") {
        return known(cursor, scopes, key, start);
    }
    let container = match container {
        Some(container) => container,
        None => scopes
            .find("int")
            .ok_or_else(|| cursor.fault("an enumeration without type needs `int` declared"))?,
    };
    let Some(integer) = container.as_integer() else {
        return Err(cursor.fault("the type of an enumeration must be an integer"));
    };
    let kind = Arc::new(Type::enumeration(integer.clone(), mappings(cursor)?));
    if let Some(key) = key {
        scopes.declare(key, Arc::clone(&kind));
    }
    Ok(kind)
}

fn mappings(cursor: &mut Cursor) -> Result<Vec<Mapping>, MetadataError> {
    cursor.expect_mark("{")?;
    let mut mappings = Vec::new();
    let mut next = 0;
    while !cursor.at_mark("}") {
        if mappings.len() == MOST_MAPPINGS {
            return Err(cursor.fault("enumeration has too many labels"));
        }
        let label = match cursor.next() {
            Token::Word(label) | Token::Text(label) => label,
            _ => return Err(cursor.expected("a label before this")),
        };
        let (mut low, mut high) = (next, next);
        if cursor.take_mark("=") {
            low = cursor.int()?;
            high = if cursor.take_mark("...") {
                cursor.int()?
            } else {
                low
            };
        }
        next = high + 1;
        mappings.push(Mapping { label, low, high });
        if !cursor.take_mark(",") {
            break;
        }
    }
    cursor.expect_mark("}")?;
    Ok(mappings)
}

fn integer(cursor: &mut Cursor) -> Result<IntegerType, MetadataError> {
    let fault = cursor.fault("integer without size");
    cursor.next();
    let (mut bits, mut align) = (None, None);
    let mut integer = IntegerType {
        bits: 0,
        signed: false,
        align: 1,
        order: None,
        text: false,
        clock: None,
    };
    for attribute in cursor.attributes()? {
        match attribute.name.as_str() {
            "size" => bits = Some(size(&attribute)?),
            "align" => align = Some(alignment(&attribute)?),
            "signed" => integer.signed = attribute.truth()?,
            "byte_order" => integer.order = order(&attribute)?,
            "encoding" => integer.text = !attribute.text()?.eq_ignore_ascii_case("none"),
            "map" => integer.clock = clock_name(&attribute),
            _ => {}
        }
    }
    integer.bits = bits.ok_or(fault)?;
    // CTF 1.8.3, 4.1.2: whole bytes are byte-aligned unless said otherwise.
    integer.align = align.unwrap_or(if integer.bits.is_multiple_of(8) { 8 } else { 1 });
    Ok(integer)
}

fn size(attribute: &Attribute) -> Result<u8, MetadataError> {
    match attribute.number::<u8>() {
        Ok(bits @ 1..=64) => Ok(bits),
        _ => Err(attribute.fault("the size of an integer must be 1 to 64 bits")),
    }
}

fn alignment(attribute: &Attribute) -> Result<u32, MetadataError> {
    power_of_two(attribute.number()?)
        .ok_or_else(|| attribute.fault("alignment must be a power of two"))
}

fn power_of_two(align: i128) -> Option<u32> {
    let align = u32::try_from(align).ok()?;
    (align.is_power_of_two() && align <= 1 << 16).then_some(align)
}

/// `le`, `be`, `network` or `native`.
pub(super) fn order(attribute: &Attribute) -> Result<Order, MetadataError> {
    match attribute.text()?.as_str() {
        "le" => Ok(Some(BigEndian(false))),
        "be" | "network" => Ok(Some(BigEndian(true))),
        "native" => Ok(None),
        other => Err(attribute.fault(format!("byte order `{other}` is not le, be or native"))),
    }
}

/// The name in `clock.NAME.value`.
fn clock_name(attribute: &Attribute) -> Option<ClockName> {
    match &attribute.value {
        Value::Path(path) => match path.as_slice() {
            [clock, name, ..] if clock == "clock" => Some(ClockName {
                name: name.clone(),
                place: attribute.place,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn float(cursor: &mut Cursor) -> Result<Arc<Type>, MetadataError> {
    let fault = cursor.fault("only floating point of 32 or 64 bits can be read");
    cursor.next();
    let (mut exponent, mut mantissa, mut align, mut byte_order) = (0u32, 0u32, 8, None);
    for attribute in cursor.attributes()? {
        match attribute.name.as_str() {
            "exp_dig" => exponent = attribute.number()?,
            "mant_dig" => mantissa = attribute.number()?,
            "align" => align = alignment(&attribute)?,
            "byte_order" => byte_order = order(&attribute)?,
            _ => {}
        }
    }
    let bits = match (exponent, mantissa) {
        (8, 24) => 32,
        (11, 53) => 64,
        _ => return Err(fault),
    };
    Ok(Arc::new(Type::float(bits, align, byte_order)))
}
