//! Bags of a test's own, as the library of the format's authors writes them.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;

use mcap::records::MessageHeader;
use mcap::{Compression, McapResult, WriteOptions};

/// Topic, log time in ns and size in bytes of each message.
pub type McapMessages<'a> = &'a [(&'a str, u64, usize)];

/// An MCAP file with these messages in their order.
///
/// # Errors
/// When the library refuses them.
pub fn mcap_file(
    messages: McapMessages<'_>,
    compression: Option<Compression>,
) -> McapResult<Vec<u8>> {
    let options = WriteOptions::new().profile("ros2").compression(compression);
    let mut writer = options.create(Cursor::new(Vec::new()))?;
    let mut channels = HashMap::new();
    for (topic, log_time, bytes) in messages {
        let channel_id = match channels.get(topic) {
            Some(known) => *known,
            None => {
                let new = writer.add_channel(0, topic, "cdr", &BTreeMap::new())?;
                channels.insert(topic, new);
                new
            }
        };
        let header = MessageHeader {
            channel_id,
            sequence: 0,
            log_time: *log_time,
            publish_time: 0,
        };
        writer.write_to_known_channel(&header, &vec![7; *bytes])?;
    }
    writer.finish()?;
    Ok(writer.into_inner().into_inner())
}
