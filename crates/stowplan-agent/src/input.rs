//! Requests on standard input, a line each.

use std::os::fd::BorrowedFd;

/// A line longer than this is not a request.
const LONGEST: usize = 256 << 20;

/// What reading gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// There may be complete lines.
    Some,
    /// The other side is gone.
    End,
}

/// Bytes that have arrived and are not a whole line yet.
#[derive(Debug, Default)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    /// How much of the buffer has been searched for a line's end.
    searched: usize,
}

impl Input {
    /// Reads what is there; call it when the descriptor is readable.
    pub(crate) fn fill(&mut self, fd: BorrowedFd<'_>) -> Read {
        let mut part = [0; 64 * 1024];
        match rustix::io::read(fd, &mut part) {
            Ok(0) => Read::End,
            Ok(length) if self.buffer.len() + length <= LONGEST => {
                self.buffer.extend_from_slice(&part[..length]);
                Read::Some
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Read::Some,
            Ok(_) | Err(_) => Read::End,
        }
    }

    /// The next whole line, without its end.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(end) = found.map(|at| at + self.searched) else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        self.searched = 0;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn lines_come_whole() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut input = Input::default();
        rustix::io::write(&write, b"one\ntw").unwrap();
        assert_eq!(input.fill(read.as_fd()), Read::Some);
        assert_eq!(input.line().unwrap(), b"one");
        assert_eq!(input.line(), None);
        rustix::io::write(&write, b"o\n\n").unwrap();
        input.fill(read.as_fd());
        assert_eq!(input.line().unwrap(), b"two");
        assert_eq!(input.line().unwrap(), b"");
        drop(write);
        assert_eq!(input.fill(read.as_fd()), Read::End);
    }
}
