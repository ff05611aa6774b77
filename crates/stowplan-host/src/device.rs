//! Devices of this machine.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::HostError;

/// A device node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Absolute path.
    pub path: String,
    /// Whether it is a block device; otherwise a character device.
    pub block: bool,
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
}

impl Device {
    /// Looks at the device at `path`.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(path: &str) -> Result<Self, HostError> {
        let found = fs::metadata(path)
            .map_err(|e| HostError::io("look at the device", Path::new(path), e))?;
        let block = found.file_type().is_block_device();
        if !block && !found.file_type().is_char_device() {
            return Err(HostError::new(format!("{path} is no device"))
                .hint("mount files and folders under 'mounts'"));
        }
        Ok(Self {
            path: path.to_owned(),
            block,
            major: rustix::fs::major(found.rdev()),
            minor: rustix::fs::minor(found.rdev()),
            mode: found.mode() & 0o7777,
            user: found.uid(),
            group: found.gid(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_its_numbers_and_nothing_else_is_one() {
        let null = Device::find("/dev/null").unwrap();
        // devices.txt of the kernel.
        assert_eq!((null.block, null.major, null.minor), (false, 1, 3));
        let file = Device::find("/proc/self/status").unwrap_err();
        assert!(file.to_string().contains("is no device") && file.hint.is_some());
        let none = Device::find("/dev/no-such-device").unwrap_err();
        assert!(none.to_string().contains("/dev/no-such-device"));
    }
}
