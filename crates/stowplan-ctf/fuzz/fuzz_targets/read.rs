//! Any bytes as metadata and a stream: two bytes say how long the metadata is.
#![no_main]

mod fields;

use libfuzzer_sys::fuzz_target;
use stowplan_ctf::metadata::Metadata;
use stowplan_ctf::reader::{Events, Item, TraceInput};

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes(*length));
    let (text, stream) = rest.split_at(rest.len().min(length));
    let Ok(metadata) = Metadata::parse(text) else {
        return;
    };
    let input = TraceInput {
        metadata: &metadata,
        files: vec![("stream", stream)],
    };
    let Ok(mut events) = Events::new(&[input]) else {
        return;
    };
    while let Ok(Some(item)) = events.next_item() {
        if let Item::Event(event) = item {
            fields::read(&event, stream);
        }
    }
});
