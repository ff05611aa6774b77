//! The context that every event carries, encoded once per thread.

/// Bytes of an encoded [`EventContext`].
pub const EVENT_CONTEXT_SIZE: usize = 4 + 4 + PROCNAME_SIZE;

/// Length of `procname`, as LTTng stores it: 16 bytes of `comm` and a zero.
pub(super) const PROCNAME_SIZE: usize = 17;

/// Who recorded an event: `vpid`, `vtid` and `procname`, the three contexts that
/// ros2_tracing enables by default and that its tools read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventContext([u8; EVENT_CONTEXT_SIZE]);

impl EventContext {
    /// Encodes a context. `vpid` and `vtid` are as seen in the PID namespace of
    /// the process; a longer `procname` is cut after 16 bytes.
    pub fn new(vpid: i32, vtid: i32, procname: &str) -> Self {
        let mut bytes = [0; EVENT_CONTEXT_SIZE];
        bytes[..4].copy_from_slice(&vpid.to_le_bytes());
        bytes[4..8].copy_from_slice(&vtid.to_le_bytes());
        let mut end = procname.len().min(PROCNAME_SIZE - 1);
        while !procname.is_char_boundary(end) {
            end -= 1;
        }
        bytes[8..8 + end].copy_from_slice(&procname.as_bytes()[..end]);
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8; EVENT_CONTEXT_SIZE] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let context = EventContext::new(1, 2, "fifteen bytes..\u{e9}");
        assert_eq!(&context.bytes()[8..], b"fifteen bytes..\0\0");
    }
}
