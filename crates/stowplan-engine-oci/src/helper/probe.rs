//! Whether containers can be made here, found out by making what they are made of.

use rustix::mount::{MountFlags, mount};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::error::{Context as _, HelperError};
use super::place::Place;

/// Tries the namespaces and an overlay. What it makes goes with this process.
pub(crate) fn probe() -> Result<(), HelperError> {
    let mut place = Place::enter()?;
    place.renew()?;
    let flags = UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    // SAFETY: only CLONE_FILES makes unshare unsafe (descriptors of others), and it is not asked for.
    unsafe { unshare_unsafe(flags) }.context("cannot make namespaces")?;
    let [lower, upper, work, root] =
        ["lower", "upper", "work", "root"].map(|name| place.folder(name));
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower?.display(),
        upper?.display(),
        work?.display()
    );
    let options = std::ffi::CString::new(options).context("overlay")?;
    mount(
        "overlay",
        root?,
        "overlay",
        MountFlags::empty(),
        options.as_c_str(),
    )
    .context("cannot mount an overlay on tmpfs")
}
