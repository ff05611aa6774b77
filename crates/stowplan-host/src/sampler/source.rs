//! A file that is read again and again, and the numbers in it.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Bytes read of a file; what Stowplan looks for stands in them.
pub(super) const BUFFER: usize = 16 * 1024;

pub(super) type Buffer = [u8; BUFFER];

/// A file by path, opened when it exists.
#[derive(Debug)]
pub(super) struct Source {
    path: Option<CString>,
    fd: Option<OwnedFd>,
}

impl Source {
    pub(super) fn new(path: &Path) -> Self {
        let path = CString::new(path.as_os_str().as_bytes()).ok();
        let mut source = Self { path, fd: None };
        source.open();
        source
    }

    pub(super) const fn none() -> Self {
        Self {
            path: None,
            fd: None,
        }
    }

    fn open(&mut self) {
        if let Some(path) = &self.path {
            self.fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        }
    }

    /// The first bytes of the file as it is now.
    pub(super) fn read<'b>(&mut self, buffer: &'b mut Buffer) -> Option<&'b [u8]> {
        if self.fd.is_none() {
            self.open();
        }
        let length = rustix::io::pread(self.fd.as_ref()?, buffer.as_mut_slice(), 0).ok()?;
        Some(&buffer[..length])
    }
}

/// Length of a tick, in which the kernel tells CPU times in /proc, ns.
pub(super) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

/// The number at the beginning of `text`.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let mut value: Option<u64> = None;
    for digit in digits {
        value = Some(
            value
                .unwrap_or(0)
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?,
        );
    }
    value
}

/// The number after `key` at the beginning of a line.
pub(super) fn field(text: &[u8], key: &[u8]) -> Option<u64> {
    text.split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(key))
        .and_then(|rest| {
            let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
            number(&rest[blanks..])
        })
}

/// The sum of the numbers after every `key`.
pub(super) fn sum_after(text: &[u8], key: &[u8]) -> u64 {
    text.windows(key.len())
        .enumerate()
        .filter(|(_, window)| *window == key)
        .filter_map(|(at, _)| number(&text[at + key.len()..]))
        .sum()
}
