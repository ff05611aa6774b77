//! What starting costs: files mapped and touched, memory kept.

use std::fs::File;
use std::path::Path;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use stowplan_wire::service::FileUse;

use crate::error::NodeError;

/// Maps each file privately, reads from the share of its pages that is touched, evenly spread, and writes to the first
/// of these where a dynamic loader would relocate. The mappings stay, as those of shared libraries do.
///
/// # Errors
/// When a file cannot be mapped.
pub fn touch_files(folder: &Path, files: &[FileUse]) -> Result<(), NodeError> {
    for file in files {
        let path = folder.join(&file.path);
        touch_file(&path, file).map_err(|source| NodeError::StartUpFile { path, source })?;
    }
    Ok(())
}

fn touch_file(path: &Path, how: &FileUse) -> std::io::Result<()> {
    let file = File::open(path)?;
    let size = usize::try_from(file.metadata()?.len()).map_err(std::io::Error::other)?;
    if size == 0 {
        return Ok(());
    }
    let page = rustix::param::page_size();
    let relocated = usize::try_from(how.relocated_bytes).unwrap_or(usize::MAX);
    let relocated = relocated.div_ceil(page);
    let access = match relocated {
        0 => ProtFlags::READ,
        _ => ProtFlags::READ | ProtFlags::WRITE,
    };
    // SAFETY: a new private mapping, of which nobody else knows. Start-up files belong to the image of the run and are
    // not cut while it lasts.
    let base = unsafe {
        mmap(
            std::ptr::null_mut(),
            size,
            access,
            MapFlags::PRIVATE,
            &file,
            0,
        )
    }?
    .cast::<u8>();
    let pages = size.div_ceil(page);
    for (number, index) in touched(pages, how.touched).enumerate() {
        // SAFETY: `index` is below the number of pages of the mapping, and what is written to it is writable then.
        unsafe {
            let at = base.add(index * page);
            let value = at.read_volatile();
            if number < relocated {
                at.write_volatile(value);
            }
        }
    }
    Ok(())
}

/// Numbers of the touched pages out of `pages`, evenly spread.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a number of pages is a number of pages"
)]
fn touched(pages: usize, share: f64) -> impl Iterator<Item = usize> {
    let count = (pages as f64 * share.clamp(0.0, 1.0)).round() as usize;
    (0..count).map(move |index| index * pages / count)
}

/// Takes private memory and writes to every page of it; it stays for the life of the process.
///
/// # Errors
/// When the kernel gives none.
pub fn keep_memory(bytes: u64) -> Result<(), NodeError> {
    let Ok(size) = usize::try_from(bytes) else {
        let source = std::io::ErrorKind::OutOfMemory.into();
        return Err(NodeError::Memory { bytes, source });
    };
    if size == 0 {
        return Ok(());
    }
    // SAFETY: a new anonymous mapping.
    let base = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            size,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    }
    .map_err(|error| NodeError::Memory {
        bytes,
        source: error.into(),
    })?
    .cast::<u8>();
    for at in (0..size).step_by(rustix::param::page_size()) {
        // SAFETY: `at` is within the mapping, which is writable and ours alone.
        unsafe { base.add(at).write_volatile(1) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_are_spread() {
        assert_eq!(touched(10, 0.5).collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
        assert_eq!(touched(3, 1.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(touched(3, 0.0).count(), 0);
    }

    #[test]
    fn files_and_memory_can_be_had() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lib"), vec![1; 10_000]).unwrap();
        let used = |path: &str| FileUse {
            path: path.into(),
            touched: 0.7,
            relocated_bytes: 4_097,
        };
        touch_files(folder.path(), &[used("lib")]).unwrap();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let of_lib = smaps.split_once(&*folder.path().join("lib").to_string_lossy());
        let copied = of_lib.unwrap().1.lines();
        // Not what is dirty: of a file just written that may be pages which are only read.
        let copied = copied.filter_map(|line| line.strip_prefix("Anonymous:"));
        let kib = 2 * rustix::param::page_size() / 1024;
        assert_eq!(copied.map(str::trim).next(), Some(&*format!("{kib} kB")));
        assert!(touch_files(folder.path(), &[used("none")]).is_err());
        keep_memory(100_000).unwrap();
        keep_memory(0).unwrap();
    }
}
