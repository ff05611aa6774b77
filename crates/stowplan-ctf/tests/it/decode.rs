//! What LTTng on common machines does not use: big-endian bit fields, wrapped
//! clocks, variants, nested types. Packets are put together by hand.

use std::fs;

use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Events, Item, TraceInput};
use stowplan_ctf::{CtfError, Fault};

use crate::common;

const METADATA: &str = include_str!("data/nested.tsdl");

/// Bytes of a packet of stream 7 whose clock begins at `begin`.
fn packet(begin: u64, end: u64, content: &[u8]) -> Vec<u8> {
    let bits = u32::try_from((32 + content.len()) * 8).expect("small");
    let mut out = 0xC1FC_1FC1u32.to_be_bytes().to_vec();
    out.extend(7u32.to_be_bytes());
    out.extend(begin.to_be_bytes());
    out.extend(end.to_be_bytes());
    out.extend(bits.to_be_bytes());
    out.extend((bits + 64).to_be_bytes());
    out.extend(content);
    out.extend([0xee; 8]);
    out
}

fn compact(id: u32, low_time: u32) -> [u8; 4] {
    (id << 27 | low_time).to_be_bytes()
}

fn extended(id: u32, time: u64) -> Vec<u8> {
    let mut out = vec![31 << 3];
    out.extend(id.to_be_bytes());
    out.extend(time.to_be_bytes());
    out
}

/// An event of class 1 at byte 32 of its packet.
fn nested(low_time: u32, choice: &[u8], padding: usize) -> Vec<u8> {
    let mut out = compact(1, low_time).to_vec();
    out.extend([0xee; 4]); // the structure is aligned as its most aligned field
    out.push(0b1010_1100); // _a = -3, _b = 3
    out.extend([0, 2, 11, 12]); // _inner.x = 2, _inner.y
    out.extend([3, 0, 1, 0, 2, 0xff, 0xff]); // _n, _list
    out.extend(choice);
    out.resize(out.len() + padding, 0xee);
    out.extend(0x0102_0304_0506_0708u64.to_be_bytes());
    out.extend(1.5f32.to_le_bytes());
    out.extend(b"one\0\0"); // _texts
    out.extend(b"g1\0g2\0"); // _groups
    out.extend(b"ab\0c");
    out.extend((-2i16).to_le_bytes());
    out
}

fn metadata() -> Metadata {
    Metadata::parse(METADATA.as_bytes()).expect("valid metadata")
}

fn files(stream: &[u8]) -> Vec<(&str, &[u8])> {
    vec![("stream", stream)]
}

#[test]
fn nested_types_of_unknown_size() {
    let metadata = metadata();
    // The choice ends at byte 57 of the packet or, with the text, at 56.
    let number = packet(9, 9, &nested(9, &[0, 0, 0, 0, 77], 7));
    let text = packet(9, 9, &nested(9, &[5, b'h', b'i', 0], 0));
    for (stream, number, text) in [(number, Some(77), None), (text, None, Some("hi"))] {
        let input = TraceInput {
            metadata: &metadata,
            files: files(&stream),
        };
        let mut events = Events::new(&[input]).unwrap();
        let Some(Item::Event(event)) = events.next_item().unwrap() else {
            panic!("no event")
        };
        assert_eq!((event.i64("a"), event.i64("b")), (Some(-3), Some(3)));
        assert_eq!(event.u64("a"), None, "negative");
        assert_eq!(event.u64("inner.x"), Some(2));
        assert_eq!(event.bytes("inner.y"), Some(&[11, 12][..]));
        let list: Vec<u64> = event.integers("list").unwrap().collect();
        assert_eq!(list, [1, 2, 0xffff]);
        assert_eq!(event.u64("choice.NUMBER"), number);
        assert_eq!(event.text("choice.TEXT").as_deref(), text);
        assert_eq!(event.u64("aligned"), Some(0x0102_0304_0506_0708));
        assert_eq!(event.f64("float"), Some(1.5));
        assert_eq!(event.text("chars").as_deref(), Some("ab"));
        assert_eq!(event.i64("last"), Some(-2));
        assert_eq!(event.u64("nowhere"), None);
        assert_eq!(event.vpid(), None);
        assert!(events.next_item().unwrap().is_none());
    }
}

#[test]
fn short_clock_readings_are_completed() {
    let metadata = metadata();
    let begin = (5 << 27) + 100;
    let mut content = extended(40, begin);
    content.extend(extended(40, begin + 1));
    let mut stream = packet(begin, begin, &content);
    // The low 27 bits say 7: less than before, so the clock has wrapped.
    let event = nested(7, &[0, 0, 0, 0, 77], 7);
    stream.extend(packet(begin + 1, 6 << 27, &event));
    let input = TraceInput {
        metadata: &metadata,
        files: files(&stream),
    };
    let mut events = Events::new(&[input]).unwrap();
    let mut readings = Vec::new();
    while let Some(item) = events.next_item().unwrap() {
        if let Item::Event(event) = item {
            // 1 kHz, and an offset of 2.5 s.
            assert_eq!(event.clock_ns() % 1_000_000, 0);
            assert_eq!(event.timestamp_ns - event.clock_ns(), 2_500_000_000);
            readings.push((event.class().id, event.clock_ns() / 1_000_000));
        }
    }
    let begin = i64::try_from(begin).unwrap();
    assert_eq!(readings, [(40, begin), (40, begin + 1), (1, (6 << 27) + 7)]);
}

#[test]
fn babeltrace2_agrees_on_the_packets() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata"), METADATA).unwrap();
    let mut stream = packet(1, 9, &nested(9, &[0, 0, 0, 0, 77], 7));
    stream.extend(packet(10, 11, &extended(40, 11)));
    fs::write(folder.path().join("stream"), &stream).unwrap();
    let Some(reference) = common::babeltrace(folder.path()) else {
        return;
    };
    assert_eq!(reference.complaints, "");
    let lines = reference.lines();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].starts_with("[00000000000000000009] host e:nested: "),
        "{}",
        lines[0]
    );
    for part in [
        "a = -3, b = 3",
        "inner = { x = 2, y = [ [0] = 11, [1] = 12 ] }",
        "last = -2",
    ] {
        assert!(lines[0].contains(part), "{}", lines[0]);
    }
}

#[test]
fn faults_name_file_and_byte() {
    let metadata = metadata();
    let fault = |stream: &[u8]| {
        let input = TraceInput {
            metadata: &metadata,
            files: files(stream),
        };
        let mut events = match Events::new(&[input]) {
            Ok(events) => events,
            Err(error) => return place(error),
        };
        loop {
            match events.next_item() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("no fault"),
                Err(error) => return place(error),
            }
        }
    };
    let good = packet(1, 9, &extended(40, 9));
    let size = u64::try_from(good.len()).unwrap();
    let two = |second: Vec<u8>| [good.clone(), second].concat();

    assert_eq!(fault(&good[..20]), (8, Fault::Truncated));
    let cut = Fault::PacketCut {
        bits: size * 8,
        missing: 1,
    };
    assert_eq!(fault(&two(good[..good.len() - 1].to_vec())), (size, cut));
    assert_eq!(fault(&two(vec![0; 64])), (size, Fault::Magic { found: 0 }));
    assert_eq!(
        fault(&two(packet(9, 9, &extended(41, 9)))),
        (size + 32 + 13, Fault::UnknownEvent { id: 41 })
    );
    assert_eq!(
        fault(&two(packet(9, 9, &nested(9, &[3, 0, 0, 0, 77], 7)))).1,
        Fault::NoOption { value: 3 }
    );
    assert_eq!(
        fault(&two(packet(9, 9, &nested(9, &[0, 0, 0, 0, 77], 7)[..30]))).1,
        Fault::Truncated
    );
    let (before, after) = (2_509_000_000, 2_508_000_000);
    assert_eq!(
        fault(&two(packet(8, 9, &extended(40, 8)))).1,
        Fault::TimeBack {
            before_ns: before,
            after_ns: after
        }
    );
}

fn place(error: CtfError) -> (u64, Fault) {
    match error {
        CtfError::Stream {
            file,
            offset,
            fault,
        } => {
            assert_eq!(file, "stream");
            (offset, fault)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn wrong_metadata_names_line_and_column() {
    let wrong = |from: &str, to: &str| {
        let text = METADATA.replacen(from, to, 1);
        assert_ne!(text, METADATA, "{from}");
        Metadata::parse(text.as_bytes()).unwrap_err().to_string()
    };
    for (from, to, error) in [
        (
            "uint8_t _n;",
            "uint9_t _n;",
            "37:9: type `uint9_t` is not declared",
        ),
        (
            "[ _n ]",
            "[ _m ]",
            "38:29: `_m` is not an integer field before this",
        ),
        (
            "size = 27",
            "size = 65",
            "13:21: the size of an integer must be 1 to 64 bits",
        ),
        ("byte_order = be;", "", "7:1: trace without byte_order"),
        (
            "map = clock.c.value",
            "map = clock.d.value",
            "13:59: clock `d` is not declared",
        ),
        (
            "id = 40",
            "id = 1",
            "49:1: event 1 of stream 7 is declared twice",
        ),
        (
            "struct header;",
            "struct other;",
            "24:21: `struct other` is not declared",
        ),
        ("<_tag>", "<_n>", "40:18: tag `_n` is not an enumeration"),
        (
            "align = 64",
            "align = 63",
            "41:30: alignment must be a power of two",
        ),
        ("env {", "env (", "11:5: expected `{`, found `(`"),
        (
            "offset = 500",
            "offset = 5e2",
            "12:57: `5e2` is not a number: invalid digit found in string",
        ),
        (
            "event { name",
            "evnt { name",
            "49:1: expected trace, stream, event, clock, env or a type, found `evnt`",
        ),
    ] {
        assert_eq!(wrong(from, to), error);
    }
    let deep = "struct {".repeat(100_000);
    let error = Metadata::parse(deep.as_bytes()).unwrap_err();
    assert_eq!(error.message, "nested deeper than 64 levels");
    let mut named = String::from("struct t0 { string s; };");
    for level in 1..1000 {
        named += &format!(
            "struct t{level} {{ struct t{} a; struct t{0} b; }};",
            level - 1
        );
    }
    let error = Metadata::parse(named.as_bytes()).unwrap_err();
    assert_eq!(error.message, "structure is too large or nested too deep");
}

#[test]
fn types_that_multiply_are_refused() {
    let mut text = METADATA.replace("fields := struct { };", "fields := struct t30;");
    let mut named = String::from("struct t0 { uint8_t s; };");
    for level in 1..=30 {
        named += &format!(
            "struct t{level} {{ struct t{} a; struct t{0} b; }};",
            level - 1
        );
    }
    text = text.replace("stream {", &format!("{named} stream {{"));
    let error = Metadata::parse(text.as_bytes()).unwrap_err();
    assert_eq!(error.message, "the events have too many fields together");
}
