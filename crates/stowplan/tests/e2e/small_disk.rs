//! A disk that is soon full.

use std::path::PathBuf;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A small disk of the test's own, gone with it.
pub struct SmallDisk(pub PathBuf);

impl SmallDisk {
    pub fn new(path: PathBuf, bytes: u64) -> Self {
        std::fs::create_dir(&path).unwrap();
        let size = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        mount(
            "tmpfs",
            &path,
            "tmpfs",
            MountFlags::empty(),
            size.as_c_str(),
        )
        .unwrap();
        Self(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The test has failed already where this fails.
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}
