//! The end of a log whose streams come in pieces.

/// The last bytes of a log of two streams, whose pieces come in between each other: a line stays in one piece.
pub struct LogTail {
    limit: usize,
    whole: Vec<u8>,
    /// What each stream has said of a line that has not ended.
    open: [Vec<u8>; 2],
}

impl LogTail {
    /// Of which the last `limit` bytes are wanted.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            whole: Vec::new(),
            open: [Vec::new(), Vec::new()],
        }
    }

    /// The next bytes of one of the two streams: 0 standard output, 1 standard error.
    pub fn take(&mut self, stream: usize, said: &[u8]) {
        let open = &mut self.open[stream];
        open.extend_from_slice(said);
        let ended = open.iter().rposition(|byte| *byte == b'\n');
        self.whole
            .extend(open.drain(..ended.map_or(0, |at| at + 1)));
        // Only what is twice too long, so that what is kept is not moved for each piece.
        for kept in [&mut self.whole, open] {
            if kept.len() / 2 > self.limit {
                cut(kept, self.limit);
            }
        }
    }

    /// The last bytes as text, lines that have not ended behind those that have.
    #[must_use]
    pub fn text(mut self) -> String {
        for open in &mut self.open {
            self.whole.append(open);
        }
        cut(&mut self.whole, self.limit);
        String::from_utf8_lossy(&self.whole).into_owned()
    }
}

fn cut(bytes: &mut Vec<u8>, limit: usize) {
    bytes.drain(..bytes.len().saturating_sub(limit));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(limit: usize, parts: &[(usize, &str)]) -> String {
        let mut tail = LogTail::new(limit);
        for (stream, text) in parts {
            tail.take(*stream, text.as_bytes());
        }
        tail.text()
    }

    #[test]
    fn a_line_stays_whole_where_the_other_stream_speaks_in_between() {
        let parts = [
            (1, "sh: 1: "),
            (0, "read-only\n"),
            (1, "cannot create\n"),
            (0, "no end"),
        ];
        assert_eq!(said(100, &parts), "read-only\nsh: 1: cannot create\nno end");
    }

    #[test]
    fn only_the_last_bytes_are_kept() {
        assert_eq!(said(8, &[(0, "0123456789\n"); 100]), "3456789\n");
        assert_eq!(said(8, &[(1, "0123456789"); 100]), "23456789");
    }
}
