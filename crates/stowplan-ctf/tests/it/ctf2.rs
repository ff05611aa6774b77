//! Traces in CTF 2 as LTTng and babeltrace2 write them, put together by hand.

use std::fmt::Write as _;

use stowplan_ctf::metadata::{EnvValue, Metadata};
use stowplan_ctf::reader::{Event, Events, Item, TraceInput};

const MAGIC: u32 = 0xC1FC_1FC1;
const UUID: [u8; 16] = *b"metadata's uuid.";

/// A JSON text sequence; `\'` stands for the quotes of JSON.
fn sequence(fragments: &[&str]) -> Vec<u8> {
    let mut text = String::new();
    for fragment in fragments {
        writeln!(text, "\u{1e}{}", fragment.replace('\'', "\"")).expect("a String");
    }
    text.into_bytes()
}

/// A whole number of so many bits, aligned to `align`.
fn int(bits: u8, align: u8) -> String {
    format!(
        "{{'type':'fixed-length-unsigned-integer','length':{bits},'byte-order':'little-endian',\
         'alignment':{align},'preferred-display-base':10}}"
    )
}

/// A number that is for something.
fn role(bits: u8, align: u8, role: &str) -> String {
    let int = int(bits, align);
    format!("{},'roles':['{role}']}}", &int[..int.len() - 1])
}

/// A structure of members.
fn structure(align: u8, members: &[(&str, String)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(name, class)| format!("{{'name':'{name}','field-class':{class}}}"))
        .collect();
    format!(
        "{{'type':'structure','minimum-alignment':{align},'member-classes':[{}]}}",
        members.join(",")
    )
}

fn preamble() -> String {
    let numbers = UUID.map(|byte| byte.to_string()).join(",");
    format!("{{'type':'preamble','version':2,'uuid':[{numbers}]}}")
}

fn trace_class() -> String {
    let uuid = "{'type':'static-length-blob','length':16,'roles':['metadata-stream-uuid']}";
    let header = structure(
        8,
        &[
            ("magic", role(32, 8, "packet-magic-number")),
            ("uuid", uuid.to_owned()),
            ("stream_id", role(32, 8, "data-stream-class-id")),
            ("stream_instance_id", role(64, 8, "data-stream-id")),
        ],
    );
    format!(
        "{{'type':'trace-class','name':'ros2','environment':{{'hostname':'box','tracer_major':2}},\
         'packet-header-field-class':{header}}}"
    )
}

fn clock_class() -> &'static str {
    "{'type':'clock-class','id':'default','name':'monotonic','uid':'01020304-0506-0708-090a-0b0c0d0e0f10',\
     'frequency':1000000000,'origin':'unix-epoch','offset-from-origin':{'seconds':3,'cycles':-500000000}}"
}

/// The event header of LTTng's few events: five bits of number and 27 of time, or all of both.
fn compact() -> String {
    let short = structure(1, &[("timestamp", role(27, 1, "default-clock-timestamp"))]);
    let long = structure(
        8,
        &[
            ("id", role(32, 8, "event-record-class-id")),
            ("timestamp", role(64, 8, "default-clock-timestamp")),
        ],
    );
    let variant = format!(
        "{{'type':'variant','selector-field-location':{{'origin':'event-record-header','path':['id']}},\
         'options':[{{'name':'compact','selector-field-ranges':[[0,30]],'field-class':{short}}},\
         {{'name':'extended','selector-field-ranges':[[31,31]],'field-class':{long}}}]}}"
    );
    structure(
        8,
        &[("id", role(5, 1, "event-record-class-id")), ("v", variant)],
    )
}

fn stream_class(context: &str) -> String {
    let packet = structure(
        8,
        &[
            ("timestamp_begin", role(64, 8, "default-clock-timestamp")),
            (
                "timestamp_end",
                role(64, 8, "packet-end-default-clock-timestamp"),
            ),
            ("content_size", role(64, 8, "packet-content-length")),
            ("packet_size", role(64, 8, "packet-total-length")),
            ("packet_seq_num", role(64, 8, "packet-sequence-number")),
            (
                "events_discarded",
                role(64, 8, "discarded-event-record-counter-snapshot"),
            ),
            ("cpu_id", int(32, 8)),
        ],
    );
    let header = compact();
    format!(
        "{{'type':'data-stream-class','id':4,'default-clock-class-id':'default',\
         'packet-context-field-class':{packet},'event-record-header-field-class':{header},\
         'event-record-common-context-field-class':{context}}}"
    )
}

fn event_class(id: u32, name: &str, payload: &str) -> String {
    format!(
        "{{'type':'event-record-class','id':{id},'data-stream-class-id':4,'name':'{name}',\
         'attributes':{{'lttng.org,2009':{{'log-level':13}}}},'payload-field-class':{payload}}}"
    )
}

fn packet(begin: u64, end: u64, discarded: u64, content: &[u8]) -> Vec<u8> {
    let bits = (84 + content.len() as u64) * 8;
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.extend(UUID);
    out.extend(4u32.to_le_bytes());
    out.extend(9u64.to_le_bytes());
    for value in [begin, end, bits, bits + 32, 0, discarded] {
        out.extend(value.to_le_bytes());
    }
    out.extend(3u32.to_le_bytes());
    out.extend(content);
    out.extend([0xee; 4]);
    out
}

fn header(id: u32, time: u32) -> [u8; 4] {
    (id | time << 5).to_le_bytes()
}

fn read(metadata: &Metadata, stream: &[u8], mut each: impl FnMut(&Event<'_>)) -> u64 {
    let input = TraceInput {
        metadata,
        files: vec![("stream", stream)],
    };
    let mut events = Events::new(&[input]).expect("a packet");
    let mut lost = 0;
    while let Some(item) = events.next_item().expect("whole") {
        match item {
            Item::Event(event) => each(&event),
            Item::Lost(of) => lost += of.count,
        }
    }
    lost
}

/// What LTTng-UST declares for ros2:rcl_node_init and for a sequence.
fn lttng_metadata() -> Metadata {
    let text = "{'type':'null-terminated-string','encoding':'utf-8'}";
    let context = structure(
        8,
        &[
            ("vpid", int(32, 8).replace("unsigned", "signed")),
            ("vtid", int(32, 8).replace("unsigned", "signed")),
            (
                "procname",
                "{'type':'static-length-string','length':17,'encoding':'utf-8'}".to_owned(),
            ),
        ],
    );
    let node = structure(
        8,
        &[("node_handle", int(64, 8)), ("node_name", text.to_owned())],
    );
    let gid = structure(
        8,
        &[
            ("_gid_length", int(32, 8)),
            (
                "gid",
                format!(
                    "{{'type':'dynamic-length-array','element-field-class':{},\
                     'length-field-location':{{'origin':'event-record-payload','path':['_gid_length']}}}}",
                    int(8, 8)
                ),
            ),
        ],
    );
    let file = sequence(&[
        &preamble(),
        &trace_class(),
        clock_class(),
        &stream_class(&context),
        &event_class(1, "ros2:rcl_node_init", &node),
        &event_class(40, "ros2:gid", &gid),
    ]);
    Metadata::parse(&file).expect("it is metadata")
}

#[test]
fn a_trace_as_lttng_writes_it() {
    let metadata = lttng_metadata();
    assert_eq!(metadata.uuid, Some(UUID));
    assert_eq!(metadata.env_text("hostname"), Some("box"));
    assert_eq!(metadata.env("tracer_major"), Some(&EnvValue::Int(2)));
    let clock = &metadata.clocks[0];
    assert_eq!(
        (&*clock.name, clock.offset_ns),
        ("monotonic", 2_500_000_000)
    );
    assert_eq!(clock.uuid.unwrap()[..3], [1, 2, 3]);
    let names: Vec<&str> = metadata.classes().iter().map(|c| &*c.name).collect();
    assert_eq!(names, ["ros2:rcl_node_init", "ros2:gid"]);

    let context = |out: &mut Vec<u8>| {
        out.extend((-7i32).to_le_bytes());
        out.extend(8u32.to_le_bytes());
        out.extend(b"talker\0\0\0\0\0\0\0\0\0\0\0");
    };
    let mut content = header(1, 1_010).to_vec();
    context(&mut content);
    content.extend(0x5555u64.to_le_bytes());
    content.extend(b"talker\0");
    // The second one is of the long form.
    content.push(31);
    content.extend(40u32.to_le_bytes());
    content.extend(1_020u64.to_le_bytes());
    context(&mut content);
    content.extend(3u32.to_le_bytes());
    content.extend([7, 8, 9]);
    let mut stream = packet(1_000, 1_030, 0, &content);
    stream.extend(packet(1_040, 1_050, 6, &[]));
    let mut seen = Vec::new();
    let lost = read(&metadata, &stream, |event| {
        assert_eq!((event.vpid(), event.vtid()), (Some(-7), Some(8)));
        assert_eq!(event.procname().as_deref(), Some("talker"));
        assert_eq!(event.cpu, Some(3));
        assert_eq!(event.timestamp_ns - event.clock_ns(), 2_500_000_000);
        let name = event.text("node_name").map(std::borrow::Cow::into_owned);
        let gid = event.bytes("gid").map(<[u8]>::to_vec);
        seen.push((event.clock_ns(), event.u64("node_handle"), name, gid));
    });
    let first = (1_010, Some(0x5555), Some("talker".to_owned()), None);
    let second = (1_020, None, None, Some(vec![7, 8, 9]));
    assert_eq!(seen, [first, second]);
    assert_eq!(lost, 6);
}

fn location(path: &str) -> String {
    format!("{{'path':{path}}}")
}

/// Bytes and a text whose lengths are inside and outside of their structure.
fn pair() -> String {
    structure(
        4,
        &[
            ("n", int(8, 8)),
            (
                "bytes",
                format!(
                    "{{'type':'dynamic-length-blob','media-type':'image/png','length-field-location':{}}}",
                    location("['n']")
                ),
            ),
            (
                // The number of the structure around this one.
                "text",
                format!(
                    "{{'type':'dynamic-length-string','length-field-location':{}}}",
                    location("[null,'n']")
                ),
            ),
        ],
    )
}

/// A structure with one field of every class that LTTng does not use.
fn rare_payload() -> String {
    structure(
        8,
        &[
            ("leb", "{'type':'variable-length-unsigned-integer'}".into()),
            ("sleb", "{'type':'variable-length-signed-integer'}".into()),
            ("flag", int(1, 1).replace("unsigned-integer", "boolean")),
            (
                "map",
                "{'type':'fixed-length-bit-map','length':7,'byte-order':'little-endian','flags':{'a':[[0,2]]}}"
                    .into(),
            ),
            (
                "maybe",
                format!(
                    "{{'type':'optional','selector-field-location':{},'field-class':{}}}",
                    location("['flag']"),
                    int(16, 16)
                ),
            ),
            (
                "ranged",
                format!(
                    "{{'type':'optional','selector-field-location':{},'selector-field-ranges':[[3,4],[300,400]],\
                     'field-class':'small'}}",
                    location("['leb']")
                ),
            ),
            ("n", int(8, 8)),
            ("pair", pair()),
            (
                "three",
                "{'type':'static-length-array','length':3,'element-field-class':'small','minimum-alignment':32}"
                    .into(),
            ),
            (
                "choice",
                format!(
                    "{{'type':'variant','selector-field-location':{{'origin':'event-record-common-context','path':['kind']}},\
                     'options':[{{'selector-field-ranges':[[0,0]],'field-class':{}}},\
                     {{'name':'text','selector-field-ranges':[[1,2],[9,9]],'field-class':{{'type':'null-terminated-string'}}}}]}}",
                    int(32, 8)
                ),
            ),
            (
                "half",
                "{'type':'fixed-length-floating-point-number','length':16,'byte-order':'big-endian','alignment':8}"
                    .into(),
            ),
            (
                "double",
                "{'type':'fixed-length-floating-point-number','length':64,'byte-order':'big-endian','alignment':8}"
                    .into(),
            ),
        ],
    )
}

fn rare_metadata() -> Metadata {
    let context = structure(1, &[("kind", int(8, 8))]);
    let file = sequence(&[
        &preamble(),
        "{'type':'field-class-alias','name':'small','field-class':{'type':'fixed-length-signed-integer',\
         'length':8,'byte-order':'big-endian','alignment':8}}",
        &trace_class(),
        clock_class(),
        &stream_class(&context),
        &event_class(0, "rare", &rare_payload()),
    ]);
    Metadata::parse(&file).expect("it is metadata")
}

#[test]
fn every_other_class_of_fields() {
    let metadata = rare_metadata();
    let mut content = header(0, 10).to_vec();
    content.push(9); // kind
    content.extend([0; 3]); // the payload is aligned as its array of three is: to 32 bits
    content.extend([0xac, 0x02]); // leb = 300
    content.push(0x7e); // sleb = -2
    content.push(0b1010_0011); // flag = 1, map = 0b1010001
    content.extend([0x34, 0x12]); // maybe
    content.push(0xff); // ranged = -1
    content.push(3); // n
    content.extend([2, 0xca, 0xfe]); // pair.n, pair.bytes
    content.extend(b"abc"); // pair.text
    while !(84 + content.len()).is_multiple_of(4) {
        content.push(0xee);
    }
    content.extend([1, 0xff, 3]); // three
    content.extend(b"hi\0"); // choice
    content.extend([0x3c, 0x00]); // half
    content.extend(2.5f64.to_be_bytes());
    let mut events = 0;
    read(&metadata, &packet(5, 20, 0, &content), |event| {
        events += 1;
        assert_eq!(event.u64("leb"), Some(300));
        assert_eq!(event.i64("sleb"), Some(-2));
        assert_eq!(
            (event.u64("flag"), event.u64("map")),
            (Some(1), Some(0b101_0001))
        );
        assert_eq!(event.u64("maybe"), Some(0x1234));
        assert_eq!(event.i64("ranged"), Some(-1));
        assert_eq!(event.bytes("pair.bytes"), Some(&[0xca, 0xfe][..]));
        assert_eq!(event.text("pair.text").as_deref(), Some("abc"));
        let three: Vec<i64> = event
            .integers("three")
            .unwrap()
            .map(|of| of as i64)
            .collect();
        assert_eq!(three, [1, -1, 3]);
        assert_eq!(event.text("choice.text").as_deref(), Some("hi"));
        assert_eq!(event.u64("choice"), None, "the option without a name");
        assert_eq!(event.bytes("half"), Some(&[0x3c, 0x00][..]));
        assert_eq!(event.f64("double"), Some(2.5));
    });
    assert_eq!(events, 1);
}

#[test]
fn an_optional_field_is_not_there_where_its_selector_says_so() {
    let metadata = rare_metadata();
    let mut content = header(0, 10).to_vec();
    content.push(0); // kind
    content.extend([0; 3]);
    content.push(2); // leb: none of the ranges
    content.push(0); // sleb
    content.push(0); // flag, map
    content.push(0); // n
    content.extend([0, 0]); // pair.n; the packet then goes on at a multiple of four
    while !(84 + content.len()).is_multiple_of(4) {
        content.push(0);
    }
    content.extend([4, 5, 6]); // three
    content.extend(77u32.to_le_bytes()); // choice
    content.extend([0, 0]);
    content.extend(0f64.to_be_bytes());
    let mut events = 0;
    read(&metadata, &packet(5, 20, 0, &content), |event| {
        events += 1;
        assert_eq!((event.u64("maybe"), event.i64("ranged")), (None, None));
        assert_eq!(event.u64("choice"), Some(77));
        assert_eq!(event.text("choice.text"), None);
        assert_eq!(event.f64("double"), Some(0.0));
    });
    assert_eq!(events, 1);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let preamble = preamble();
    for (fragments, told) in [
        (
            vec!["{'type':'trace-class'}"],
            "1:1: fragment: the first fragment must be a preamble",
        ),
        (
            vec!["{'type':'preamble','version':3}"],
            "1:1: preamble: version 3: only versions 1.8 and 2 of the format can be read",
        ),
        (
            vec!["{'type':'preamble','version':2,'extensions':{'my.tracer':{'x':true}}}"],
            "1:1: preamble: the trace needs the extension `my.tracer`, which is not known",
        ),
        (vec![&preamble, "{'type':"], "2:"),
        (
            vec![&preamble, "{'type':'packet-class'}"],
            "2:1: fragment: type `packet-class` is not one of CTF 2",
        ),
        (
            vec![&preamble, &stream_class(&structure(8, &[]))],
            "clock `default` is not declared",
        ),
    ] {
        is_refused(&fragments, told);
    }
}

#[test]
fn a_payload_that_cannot_be_read_is_named_with_its_line() {
    let (preamble, trace) = (preamble(), trace_class());
    let stream = stream_class(&structure(8, &[]));
    for (payload, told) in [
        (
            "'nobody'",
            "5:1: event-record-class `e`: payload-field-class: `nobody` is not declared before this",
        ),
        (
            "{'type':'variable-length-string'}",
            "5:1: event-record-class `e`: payload-field-class: type `variable-length-string` is not one of CTF 2",
        ),
        (
            &structure(1, &[("wide", int(65, 8))]),
            "5:1: event-record-class `e`: payload-field-class: member `wide`: field-class: 65 bits: 1 to 64 can be read",
        ),
        (
            "{'type':'structure','member-classes':[{'name':'s','field-class':{'type':\
             'dynamic-length-string','length-field-location':{'path':['later']}}}]}",
            "5:1: `later` is not an integer field before this",
        ),
    ] {
        let event = event_class(3, "e", payload);
        is_refused(&[&preamble, &trace, clock_class(), &stream, &event], told);
    }
}

fn is_refused(fragments: &[&str], told: &str) {
    let error = Metadata::parse(&sequence(fragments)).expect_err(told);
    let error = error.to_string();
    assert!(
        error.starts_with(told) || error.ends_with(told),
        "{error} instead of {told}"
    );
}
