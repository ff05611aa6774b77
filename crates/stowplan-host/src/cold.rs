//! Dropping the page cache, and proof that it is gone (docs/measuring.md §4).

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Advice;
use stowplan_wire::host::ColdProof;

use crate::HostError;

/// Unit of `st_blocks` in bytes (inode(7)).
const BLOCK: u64 = 512;

const DROP: &str = "/proc/sys/vm/drop_caches";

/// Writes back, drops the page cache with dentries and inodes, and counts what is still resident of `files`;
/// a folder stands for all files in it.
///
/// # Errors
/// When the cache may not be dropped or a file cannot be looked at.
pub fn cold(files: &[String]) -> Result<ColdProof, HostError> {
    let mut all = Vec::new();
    for file in files {
        collect(Path::new(file), &mut all)?;
    }
    rustix::fs::sync();
    for path in &all {
        let file = File::open(path).map_err(|e| HostError::io("open", path, e))?;
        // Takes out pages that drop_caches passes over because they sit in a per-CPU batch.
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    }
    fs::write(DROP, "3").map_err(|e| {
        HostError::io("write to", Path::new(DROP), e)
            .hint("a cold start needs root; leave it out, or run as root")
    })?;
    let mut proof = ColdProof {
        pages: 0,
        resident: 0,
    };
    for path in &all {
        let (pages, resident) = residency(path)?;
        proof.pages += pages;
        proof.resident += resident;
    }
    Ok(proof)
}

/// Bytes that were read from block devices since boot, by whomever (`pgpgin` of /proc/vmstat, which counts KiB).
///
/// # Errors
/// When the kernel does not tell.
pub fn paged_in_bytes() -> Result<u64, HostError> {
    const VMSTAT: &str = "/proc/vmstat";
    let path = Path::new(VMSTAT);
    let text = fs::read_to_string(path).map_err(|e| HostError::io("read", path, e))?;
    let mut lines = text.lines();
    let kib = lines.find_map(|line| line.strip_prefix("pgpgin ")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| HostError::new(format!("{VMSTAT} has no pgpgin")))
}

fn collect(path: &Path, into: &mut Vec<PathBuf>) -> Result<(), HostError> {
    let meta = fs::symlink_metadata(path).map_err(|e| HostError::io("look at", path, e))?;
    if meta.is_dir() {
        let entries = fs::read_dir(path).map_err(|e| HostError::io("read", path, e))?;
        for entry in entries {
            let entry = entry.map_err(|e| HostError::io("read", path, e))?;
            collect(&entry.path(), into)?;
        }
    } else if meta.is_file() {
        into.push(path.to_owned());
    }
    Ok(())
}

/// Pages of a file without its holes, and how many of them are in memory.
///
/// # Errors
/// When the file cannot be mapped.
pub fn residency(path: &Path) -> Result<(u64, u64), HostError> {
    let failed = |e| HostError::io("map", path, e);
    let file = File::open(path).map_err(|e| HostError::io("open", path, e))?;
    let meta = file.metadata().map_err(failed)?;
    let Ok(length) = usize::try_from(meta.len()) else {
        return Err(HostError::new(format!(
            "{} is too large to be mapped",
            path.display()
        )));
    };
    if length == 0 {
        return Ok((0, 0));
    }
    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new private mapping of `length` bytes that is never read or written, only asked about, and
    // unmapped below; `pages` has one byte a page as mincore wants.
    let done = unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if start == libc::MAP_FAILED {
            Err(std::io::Error::last_os_error())
        } else {
            let asked = libc::mincore(start, length, pages.as_mut_ptr());
            let error = std::io::Error::last_os_error();
            libc::munmap(start, length);
            if asked == 0 { Ok(()) } else { Err(error) }
        }
    };
    done.map_err(failed)?;
    let resident = pages.iter().filter(|page| **page & 1 == 1).count() as u64;
    // Holes are nothing that has to be read: a disk in a sparse file would hide what is resident of it.
    let on_disk = (meta.blocks() * BLOCK).div_ceil(page as u64);
    let pages = on_disk.clamp(1, pages.len() as u64);
    Ok((pages.max(resident), resident))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_just_written_is_resident() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, vec![1; 3 * rustix::param::page_size() + 1]).unwrap();
        assert_eq!(residency(&path).unwrap(), (4, 4));
        fs::write(&path, "").unwrap();
        assert_eq!(residency(&path).unwrap(), (0, 0));
        let mut all = Vec::new();
        collect(folder.path(), &mut all).unwrap();
        assert_eq!(all, vec![path]);
    }

    #[test]
    fn holes_are_no_pages() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "x").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 30).unwrap();
        // A file system may give what is written more than a page, and later.
        file.sync_all().unwrap();
        let (pages, resident) = residency(&path).unwrap();
        assert!((1..1000).contains(&pages), "{pages}");
        assert!((1..=pages).contains(&resident), "{resident}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = cold(&["/nowhere/at/all".to_owned()]).unwrap_err();
        assert!(error.message.contains("/nowhere/at/all"));
    }
}
