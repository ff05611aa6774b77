//! Any bytes in place of some of a valid packet, and more behind it, with metadata that has
//! every kind of field.
#![no_main]

mod fields;

use libfuzzer_sys::fuzz_target;
use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Events, Item, TraceInput};

const TSDL: &str = include_str!("../../tests/it/data/nested.tsdl");

thread_local! {
    /// With sizes of packets in their context and without.
    static METADATA: [Metadata; 2] = {
        let without = TSDL.replace("uint32_t content_size; uint32_t packet_size;", "");
        [TSDL, &without].map(|text| Metadata::parse(text.as_bytes()).expect("valid"))
    };
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    let mut stream = 0xC1FC_1FC1_u32.to_be_bytes().to_vec();
    stream.extend(7_u32.to_be_bytes());
    stream.extend_from_slice(rest);
    METADATA.with(|metadata| {
        let input = TraceInput {
            metadata: &metadata[usize::from(kind % 2)],
            files: vec![("stream", &stream)],
        };
        let Ok(mut events) = Events::new(&[input]) else {
            return;
        };
        loop {
            match events.next_item() {
                Ok(None) => return,
                Ok(Some(Item::Lost(_))) => {}
                Ok(Some(Item::Event(event))) => fields::read(&event, &stream),
                Err(_) => drop(events.resumes_ns()),
            }
        }
    });
});
