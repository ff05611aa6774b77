//! Traces as text, line by line: what babeltrace2 says of them, and what this reader does.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use stowplan_ctf::FieldInfo;
use stowplan_ctf::dir::TraceFolder;
use stowplan_ctf::metadata::{EnvValue, Metadata};
use stowplan_ctf::reader::{Event, Item};

/// What a trace contains according to babeltrace2.
pub struct Reference {
    text: String,
    /// What it said on stderr.
    pub complaints: String,
}

impl Reference {
    /// One line per event, numbers in base 10, sorted.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.text.lines().map(decimal).collect();
        lines.sort_unstable();
        lines
    }

    /// Events per name.
    pub fn names(&self) -> BTreeMap<String, u64> {
        names(self.text.lines())
    }
}

/// Runs babeltrace2, the reference implementation; `None` if it is not installed.
pub fn babeltrace(trace: &Path) -> Option<Reference> {
    let mut command = Command::new("babeltrace2");
    command.args(["--no-delta", "--clock-cycles"]).arg(trace);
    let output = stowplan_testkit::said_by(&mut command)?;
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "babeltrace2: {}: {complaints}",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(Reference { text, complaints })
}

/// `0x1F` outside of quotes becomes `31`.
fn decimal(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let (mut quoted, mut rest) = (false, line);
    while let Some(first) = rest.chars().next() {
        if !quoted && let Some(hex) = rest.strip_prefix("0x") {
            let length = hex
                .find(|c: char| !c.is_ascii_hexdigit())
                .unwrap_or(hex.len());
            let number = u64::from_str_radix(&hex[..length], 16).expect("64 bits");
            write!(out, "{number}").expect("a String");
            rest = &hex[length..];
            continue;
        }
        let mut length = first.len_utf8();
        match first {
            '\\' => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => quoted = !quoted,
            _ => {}
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// All events as this reader sees them, in the form of [`Reference::lines`], and
/// the number of lost ones. Checks that time does not go back.
pub fn read(folder: &TraceFolder) -> (Vec<String>, u64) {
    let mut events = folder.events().expect("streams open");
    let (mut lines, mut lost, mut last) = (Vec::new(), 0, i64::MIN);
    while let Some(item) = events.next_item().expect("valid trace") {
        match item {
            Item::Event(event) => {
                assert!(event.timestamp_ns >= last);
                last = event.timestamp_ns;
                let metadata = folder.traces()[event.trace as usize].metadata();
                lines.push(line(metadata, &event));
            }
            Item::Lost(gap) => lost += gap.count,
        }
    }
    lines.sort_unstable();
    (lines, lost)
}

fn line(metadata: &Metadata, event: &Event<'_>) -> String {
    let mut out = String::with_capacity(256);
    let mut host = match metadata.env("hostname") {
        Some(EnvValue::Text(host)) => host.clone(),
        other => panic!("hostname is {other:?}"),
    };
    // Of a trace of one process babeltrace2 says which, with what the trace says of it.
    if let Some(EnvValue::Text(name)) = metadata.env("procname") {
        write!(host, ":{name}").expect("a String");
    }
    if let Some(EnvValue::Int(vpid)) = metadata.env("vpid") {
        write!(host, ":({vpid})").expect("a String");
    }
    let class = event.class();
    write!(
        out,
        "[{:020}] {host} {}: {{ cpu_id = {} }}, ",
        event.clock_ns(),
        class.name,
        event.cpu.expect("all our traces have it"),
    )
    .expect("a String");
    scope(&mut out, event, &class.contexts);
    out.push_str(", ");
    scope(&mut out, event, &class.fields);
    out
}

fn scope(out: &mut String, event: &Event<'_>, fields: &[FieldInfo]) {
    out.push('{');
    for (index, field) in fields.iter().enumerate() {
        out.push_str(if index == 0 { " " } else { ", " });
        write!(out, "{} = ", field.name).expect("a String");
        value(out, event, field);
    }
    out.push_str(" }");
}

fn value(out: &mut String, event: &Event<'_>, field: &FieldInfo) {
    let key = field.field;
    if let Some(number) = event.u64(key) {
        write!(out, "{number}")
    } else if let Some(number) = event.i64(key) {
        write!(out, "{number}")
    } else if let Some(text) = event.text(key) {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        write!(out, "\"{}\"", text.replace('\n', "\\n"))
    } else if let Some(elements) = event.integers(key) {
        out.push('[');
        for (index, element) in elements.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma} [{index}] = {element}").expect("a String");
        }
        write!(out, " ]")
    } else {
        panic!("{} of {} cannot be read", field.name, event.name())
    }
    .expect("a String");
}

/// Events per name in lines of [`Reference::lines`].
pub fn names<'l>(lines: impl IntoIterator<Item = &'l str>) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for line in lines {
        let head = line.split(": {").next().unwrap_or_default();
        let name = head.rsplit(' ').next().unwrap_or_default();
        *counts.entry(name).or_insert(0) += 1;
    }
    let own = |(name, count): (&str, u64)| (name.to_owned(), count);
    counts.into_iter().map(own).collect()
}
