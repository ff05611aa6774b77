//! MCAP files of a test's own. What points into the file is left out: readers from front to back need none of it.

use std::collections::BTreeMap;

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// Topic, log time and size of each message.
pub type McapMessages<'a> = &'a [(&'a str, u64, usize)];

/// An MCAP file without compression.
#[must_use]
pub fn mcap_file(messages: McapMessages<'_>) -> Vec<u8> {
    mcap_file_with(messages, "", &<[u8]>::to_vec)
}

/// An MCAP file of two messages a chunk, each of which has this compression.
#[must_use]
pub fn mcap_file_with(
    messages: McapMessages<'_>,
    compression: &str,
    compress: &dyn Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    record(
        &mut file,
        0x01,
        &[text("ros2"), text("stowplan-testkit")].concat(),
    );
    let mut channels = BTreeMap::new();
    for two in messages.chunks(2) {
        let mut chunk = Vec::new();
        for (topic, log_ns, bytes) in two {
            let next = u16::try_from(channels.len() + 1).unwrap_or(u16::MAX);
            let number = *channels.entry(*topic).or_insert(next);
            let number = number.to_le_bytes();
            if number == next.to_le_bytes() {
                let fields = [&number[..], &[0; 2], &text(topic), &text("cdr"), &[0; 4]];
                record(&mut chunk, 0x04, &fields.concat());
            }
            let times = [log_ns.to_le_bytes(), [0; 8]].concat();
            let payload = vec![7; *bytes];
            let fields = [&number[..], &[0; 4], &times, &payload];
            record(&mut chunk, 0x05, &fields.concat());
        }
        let size = (chunk.len() as u64).to_le_bytes();
        let data = compress(&chunk);
        let length = (data.len() as u64).to_le_bytes();
        // A checksum of 0 is none.
        let fields = [
            &[0; 16][..],
            &size,
            &[0; 4],
            &text(compression),
            &length,
            &data,
        ];
        record(&mut file, 0x06, &fields.concat());
    }
    record(&mut file, 0x0f, &[0; 4]);
    record(&mut file, 0x02, &[0; 20]);
    file.extend(MAGIC);
    file
}

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes(), text.as_bytes()].concat()
}

fn record(file: &mut Vec<u8>, op: u8, content: &[u8]) {
    file.push(op);
    file.extend((content.len() as u64).to_le_bytes());
    file.extend(content);
}
