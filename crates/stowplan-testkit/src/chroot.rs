//! Where a test runs.

/// Whether the root is a folder and no mount; the test is recorded as skipped then: unshare(1) cannot make a namespace there
/// whose mounts nobody else sees.
///
/// # Panics
/// Without `/proc`.
#[must_use]
pub fn in_chroot() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted");
    let root = mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some("/"));
    if !root {
        crate::skip!("the root is that of a chroot");
    }
    !root
}
