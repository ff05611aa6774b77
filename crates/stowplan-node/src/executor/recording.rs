//! What a source replays: times and sizes of messages in a file that was made before the run.

use std::fs::File;
use std::path::Path;

use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Bytes of a message in the file: when it is due and its size.
const RECORD: usize = 16;

/// The messages of a source. They are in memory from the beginning, so that reading them waits for nothing.
#[derive(Debug, Clone, Copy)]
pub struct Recording(&'static [[u64; 2]]);

/// A message of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// When it is due, ns since arming.
    pub due_ns: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Recording {
    /// Maps a file of `stowplan_wire::service::RecordingPlan::bytes`, and reads all its pages. It stays for the life of the
    /// process.
    ///
    /// # Errors
    /// When it cannot be mapped.
    pub fn map(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let size = usize::try_from(file.metadata()?.len()).map_err(std::io::Error::other)?;
        let count = size / RECORD;
        if count == 0 {
            return Ok(Self(&[]));
        }
        // SAFETY: a new private mapping, of which nobody else knows. Files of the run folder are not cut while the run lasts.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                size,
                ProtFlags::READ,
                MapFlags::PRIVATE | MapFlags::POPULATE,
                &file,
                0,
            )
        }?;
        // SAFETY: the mapping has `size` bytes at least, is aligned to a page, is never written to and never unmapped.
        Ok(Self(unsafe {
            std::slice::from_raw_parts(base.cast::<[u64; 2]>(), count)
        }))
    }

    /// Messages with these times and sizes.
    #[cfg(test)]
    pub fn of(messages: &[[u64; 2]]) -> Self {
        Self(messages.to_vec().leak())
    }

    /// Message number `at`.
    #[must_use]
    pub fn get(self, at: u64) -> Option<Recorded> {
        let [due_ns, bytes] = self.0.get(usize::try_from(at).ok()?)?.map(u64::from_le);
        Some(Recorded { due_ns, bytes })
    }
}
