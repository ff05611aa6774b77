//! The message of modelled topics: `stowplan_msgs/msg/Payload` in plain CDR (XCDR1, little-endian).
//!
//! ```text
//! uint64 stamp_ns         CLOCK_MONOTONIC at publication
//! uint64 origin_ns        release of the sensor data that it rests on
//! uint64 sequence         number of the message from its publisher
//! uint64 chains           chains that it came along, a bit each
//! uint32 origin_callback  callback that released that data
//! uint32 publisher        number of the publisher
//! byte[] bytes            filler
//! ```

/// Type name on the wire, as ROS 2 mangles it.
pub const TYPE_NAME: &str = "stowplan_msgs::msg::dds_::Payload_";

/// Bytes before the filler: encapsulation header, fields, length of the filler.
pub const HEAD_BYTES: usize = 48;

/// Callback number of a message that rests on no sensor data (yet).
pub const NO_ORIGIN: u32 = u32::MAX;

/// What a message says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// CLOCK_MONOTONIC at publication, nanoseconds.
    pub stamp_ns: u64,
    /// Where its data came from.
    pub origin: Origin,
    /// Number of the message from its publisher.
    pub sequence: u64,
    /// Number of the publisher in the stack.
    pub publisher: u32,
}

/// The sensor data that a message rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its release, CLOCK_MONOTONIC nanoseconds; 0 without data.
    pub ns: u64,
    /// The callback that released it, or [`NO_ORIGIN`].
    pub callback: u32,
    /// Chains, by their number in the stack a bit each, all of whose callbacks from the first to the one that holds it
    /// have had it in turn. Those beyond the 64th have none.
    pub chains: u64,
}

impl Origin {
    /// Of what rests on no sensor data.
    pub const NONE: Self = Self {
        ns: 0,
        callback: NO_ORIGIN,
        chains: 0,
    };
}

impl Head {
    /// Bytes of filler on the wire for so many bytes: whole words, because CDR is sent in words.
    #[must_use]
    pub fn padded(filler: usize) -> usize {
        filler.next_multiple_of(4)
    }

    /// Encodes everything before the filler of `filler` bytes.
    #[must_use]
    pub fn encode(&self, filler: u32) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        // CDR_LE; the last two bits of the options say how many bytes of padding end the message
        // (DDSI-RTPS 2.5, 10.2).
        out[1] = 1;
        out[3] = (filler.wrapping_neg() & 3) as u8;
        out[4..12].copy_from_slice(&self.stamp_ns.to_le_bytes());
        out[12..20].copy_from_slice(&self.origin.ns.to_le_bytes());
        out[20..28].copy_from_slice(&self.sequence.to_le_bytes());
        out[28..36].copy_from_slice(&self.origin.chains.to_le_bytes());
        out[36..40].copy_from_slice(&self.origin.callback.to_le_bytes());
        out[40..44].copy_from_slice(&self.publisher.to_le_bytes());
        out[44..48].copy_from_slice(&filler.to_le_bytes());
        out
    }

    /// Decodes a message; `None` if it is too short or not little-endian CDR.
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Self> {
        if message.len() < HEAD_BYTES || message[..2] != [0, 1] {
            return None;
        }
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&message[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let half = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&message[at..at + 4]);
            u32::from_le_bytes(bytes)
        };
        Some(Self {
            stamp_ns: number(4),
            origin: Origin {
                ns: number(12),
                callback: half(36),
                chains: number(28),
            },
            sequence: number(20),
            publisher: half(40),
        })
    }
}

/// A message that is its number alone, for real programs: one `unsigned long` in plain CDR. The number starts
/// again at zero after 2^32 messages.
#[must_use]
pub fn sequence_message(sequence: u64) -> [u8; 8] {
    let mut out = [0; 8];
    out[1] = 1;
    out[4..].copy_from_slice(&sequence.to_le_bytes()[..4]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_message_of_plain_cdr() {
        assert_eq!(
            sequence_message(0x0001_0000_0203),
            [0, 1, 0, 0, 3, 2, 0, 0],
            "the low half"
        );
    }

    #[test]
    fn a_head_comes_back() {
        let head = Head {
            stamp_ns: 1,
            origin: Origin {
                ns: 2,
                callback: 4,
                chains: 6,
            },
            sequence: 3,
            publisher: 5,
        };
        let bytes = head.encode(6);
        assert_eq!(Head::decode(&bytes), Some(head));
        assert_eq!(bytes[..4], [0, 1, 0, 2], "two bytes of padding after six");
        assert_eq!(head.encode(8)[3], 0);
        assert_eq!(Head::padded(6), 8);
        assert_eq!(Head::decode(&bytes[..47]), None);
    }
}
