//! The metadata of a trace as TSDL text.

use std::fmt::{self, Write};

use super::context::PROCNAME_SIZE;
use crate::events;
use crate::metadata::EnvValue;
use crate::schema::{EventClass, FieldKind};

/// What the metadata says of a trace beyond its event classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceInfo {
    /// Identifies the trace; stands in every packet.
    pub uuid: [u8; 16],
    /// Identifies the clock: traces of one host and boot share it, so that readers
    /// know that their times compare.
    pub clock_uuid: [u8; 16],
    /// CLOCK_REALTIME - CLOCK_MONOTONIC when the trace was taken, nanoseconds.
    pub clock_offset_ns: i64,
    /// Name of the host.
    pub hostname: String,
    /// Version of the recorder: major, minor.
    pub tracer_version: (u32, u32),
    /// More pairs for the `env` block, for example run, service and process.
    /// Characters that TSDL does not allow in a name become `_`.
    pub env: Vec<(String, EnvValue)>,
}

/// The metadata file of a trace whose packets a
/// [`PacketWriter`](super::PacketWriter) wrote.
pub fn metadata_text(info: &TraceInfo) -> String {
    let mut out = String::with_capacity(16 * 1024);
    write_all(&mut out, info).expect("writing to a String does not fail");
    out
}

fn write_all(out: &mut String, info: &TraceInfo) -> fmt::Result {
    out.push_str("/* CTF 1.8 */\n\n");
    for bits in [8, 16, 32, 64] {
        writeln!(
            out,
            "typealias integer {{ size = {bits}; align = 8; signed = false; }} := uint{bits}_t;"
        )?;
    }
    write!(
        out,
        "\ntrace {{\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"{}\";\n\tbyte_order = le;\n\
         \tpacket.header := struct {{\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\
         \t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n\t}};\n}};\n\n",
        Uuid(&info.uuid)
    )?;
    write_env(out, info)?;
    write_clock(out, info)?;
    write_stream(out)?;
    events::classes().try_for_each(|class| write_event(out, class))
}

fn write_env(out: &mut String, info: &TraceInfo) -> fmt::Result {
    out.push_str("env {\n");
    // Trace Compass takes a trace for a user-space trace by this domain.
    writeln!(out, "\tdomain = \"ust\";")?;
    writeln!(out, "\ttracer_name = \"stowplan-node\";")?;
    writeln!(out, "\ttracer_major = {};", info.tracer_version.0)?;
    writeln!(out, "\ttracer_minor = {};", info.tracer_version.1)?;
    writeln!(out, "\thostname = {};", Quoted(&info.hostname))?;
    for (name, value) in &info.env {
        let name = Name(name);
        match value {
            EnvValue::Int(value) => writeln!(out, "\t{name} = {value};")?,
            EnvValue::Text(value) => writeln!(out, "\t{name} = {};", Quoted(value))?,
        }
    }
    out.push_str("};\n\n");
    Ok(())
}

fn write_clock(out: &mut String, info: &TraceInfo) -> fmt::Result {
    write!(
        out,
        "clock {{\n\tname = \"monotonic\";\n\tuuid = \"{}\";\n\
         \tdescription = \"Monotonic Clock\";\n\tfreq = 1000000000;\n\toffset = {};\n}};\n\n\
         typealias integer {{\n\tsize = 64; align = 8; signed = false;\n\
         \tmap = clock.monotonic.value;\n}} := uint64_clock_monotonic_t;\n\n",
        Uuid(&info.clock_uuid),
        info.clock_offset_ns
    )
}

fn write_stream(out: &mut String) -> fmt::Result {
    let int32 = Integer {
        bits: 32,
        signed: true,
        base: 10,
        encoding: "none",
    };
    let char8 = Integer {
        bits: 8,
        signed: true,
        base: 10,
        encoding: "UTF8",
    };
    write!(
        out,
        "stream {{\n\tid = 0;\n\tevent.header := struct {{\n\t\tuint16_t id;\n\
         \t\tuint64_clock_monotonic_t timestamp;\n\t}};\n\tpacket.context := struct {{\n\
         \t\tuint64_clock_monotonic_t timestamp_begin;\n\
         \t\tuint64_clock_monotonic_t timestamp_end;\n\t\tuint64_t content_size;\n\
         \t\tuint64_t packet_size;\n\t\tuint64_t packet_seq_num;\n\
         \t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t}};\n\
         \tevent.context := struct {{\n\t\t{int32} _vpid;\n\t\t{int32} _vtid;\n\
         \t\t{char8} _procname[{PROCNAME_SIZE}];\n\t}};\n}};\n\n"
    )
}

fn write_event(out: &mut String, class: &EventClass) -> fmt::Result {
    write!(
        out,
        "event {{\n\tname = {};\n\tid = {};\n\tstream_id = 0;\n\tfields := struct {{\n",
        Quoted(class.name),
        class.id
    )?;
    for field in class.fields {
        let name = field.name;
        match field.kind {
            FieldKind::U8 => writeln!(out, "\t\t{} _{name};", integer(8, false, 10))?,
            FieldKind::U32 => writeln!(out, "\t\t{} _{name};", integer(32, false, 10))?,
            FieldKind::I32 => writeln!(out, "\t\t{} _{name};", integer(32, true, 10))?,
            FieldKind::U64 => writeln!(out, "\t\t{} _{name};", integer(64, false, 10))?,
            FieldKind::I64 => writeln!(out, "\t\t{} _{name};", integer(64, true, 10))?,
            FieldKind::Hex64 => writeln!(out, "\t\t{} _{name};", integer(64, false, 16))?,
            FieldKind::F64 => writeln!(
                out,
                "\t\tfloating_point {{ exp_dig = 11; mant_dig = 53; align = 8; }} _{name};"
            )?,
            FieldKind::Text => writeln!(out, "\t\tstring _{name};")?,
            FieldKind::Bytes(length) => {
                writeln!(out, "\t\t{} _{name}[{length}];", integer(8, false, 10))?;
            }
        }
    }
    out.push_str("\t};\n};\n\n");
    Ok(())
}

struct Integer {
    bits: u32,
    signed: bool,
    base: u32,
    encoding: &'static str,
}

fn integer(bits: u32, signed: bool, base: u32) -> Integer {
    Integer {
        bits,
        signed,
        base,
        encoding: "none",
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "integer {{ size = {}; align = 8; signed = {}; encoding = {}; base = {}; }}",
            self.bits,
            u8::from(self.signed),
            self.encoding,
            self.base
        )
    }
}

struct Uuid<'a>(&'a [u8; 16]);

impl fmt::Display for Uuid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_char('-')?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                // Octal has a fixed largest length, so a digit that follows is safe.
                other if other.is_ascii_control() => write!(f, "\\{:03o}", u32::from(other))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.starts_with(|c: char| c.is_ascii_alphabetic()) {
            f.write_char('_')?;
        }
        for character in self.0.chars() {
            f.write_char(match character {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => character,
                _ => '_',
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_cannot_break_the_syntax() {
        assert_eq!(Name("host pid").to_string(), "host_pid");
        assert_eq!(Name("9lives").to_string(), "_9lives");
        assert_eq!(
            Quoted("a\"b\\c\nd\u{1}2").to_string(),
            r#""a\"b\\c\nd\0012""#
        );
    }

    #[test]
    fn uuid_has_the_usual_form() {
        let uuid: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        assert_eq!(
            Uuid(&uuid).to_string(),
            "00010203-0405-0607-0809-0a0b0c0d0e0f"
        );
    }
}
