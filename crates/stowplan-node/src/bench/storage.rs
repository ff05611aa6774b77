//! Where files lie, and what the kernel counts of their bytes at block devices.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use stowplan_wire::bench::{Backing, Storage};

use super::{BenchArgs, Found, failed};
use crate::error::NodeError;

/// Bytes of the file that shows whether a device is behind a folder.
const PROBE: usize = 64 << 10;

/// Alignment that `O_DIRECT` asks for on every device.
const ALIGNMENT: usize = 4096;

/// No benchmark: it says what is behind a folder, for programs that do not.
pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let (_, storage) = folder(args)?;
    Ok(Found {
        storage: Some(storage),
        ..Found::default()
    })
}

/// The folder of a benchmark with files, and what it is.
pub(super) fn folder(args: &BenchArgs) -> Result<(PathBuf, Storage), NodeError> {
    let folder = args.folder.clone();
    let folder = folder.ok_or_else(|| failed(&args.name, "it needs --folder"))?;
    let storage = describe(&folder, args.disk.as_deref().unwrap_or("volume"));
    let storage =
        storage.map_err(|error| failed(&args.name, format!("{}: {error}", folder.display())))?;
    Ok((folder, storage))
}

fn describe(folder: &Path, disk: &str) -> io::Result<Storage> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let folder = folder.canonicalize()?;
    let mount = mount_of(&table, &folder).unwrap_or_default();
    Ok(Storage {
        disk: disk.to_owned(),
        backing: backing(&folder)?,
        file_system: mount.kind,
        device: mount.source,
        upper: mount.upper,
    })
}

/// A mount of proc_pid_mountinfo(5).
#[derive(Debug, Default, PartialEq, Eq)]
struct Mount {
    kind: String,
    source: String,
    upper: Option<String>,
}

/// The last mount on the longest path that the folder lies below.
fn mount_of(table: &str, folder: &Path) -> Option<Mount> {
    let mut longest: Option<(usize, Mount)> = None;
    for line in table.lines() {
        let (left, right) = line.split_once(" - ")?;
        let on = left.split(' ').nth(4)?;
        let mut right = right.split(' ');
        let (kind, source) = (right.next()?, right.next()?);
        let mut options = right.next().unwrap_or_default().split(',');
        let upper = options.find_map(|option| option.strip_prefix("upperdir="));
        let is_longest = longest
            .as_ref()
            .is_none_or(|(length, _)| on.len() >= *length);
        if folder.starts_with(on) && is_longest {
            let mount = Mount {
                kind: kind.to_owned(),
                source: source.to_owned(),
                upper: upper.map(str::to_owned),
            };
            longest = Some((on.len(), mount));
        }
    }
    longest.map(|(_, mount)| mount)
}

/// Whether what is written and synced in a folder goes to a block device: shown by doing it.
fn backing(folder: &Path) -> io::Result<Backing> {
    let path = folder.join(format!("probe-{}", std::process::id()));
    // Those of this thread: what others of the process write meanwhile says nothing of this folder.
    let counted = || of_io(&fs::read_to_string("/proc/thread-self/io").ok()?);
    let before = counted();
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&[1; PROBE])?;
        file.sync_all()
    });
    let after = counted();
    fs::remove_file(&path)?;
    written?;
    Ok(match before.zip(after) {
        None => Backing::Unknown,
        Some((before, after)) if after.written > before.written => Backing::Device,
        Some(_) => Backing::Memory,
    })
}

/// Bytes at block devices that this process has caused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DeviceBytes {
    pub(super) read: u64,
    pub(super) written: u64,
}

/// `read_bytes` and `write_bytes` of /proc/self/io; none where the kernel does not count.
pub(super) fn device_bytes() -> Option<DeviceBytes> {
    of_io(&fs::read_to_string("/proc/self/io").ok()?)
}

fn of_io(text: &str) -> Option<DeviceBytes> {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
    };
    Some(DeviceBytes {
        read: value("read_bytes")?,
        written: value("write_bytes")?,
    })
}

/// Opens a file past the page cache, or through it.
pub(super) fn open(path: &Path, write: bool, direct: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(write).create(write);
    if direct {
        options.custom_flags(libc::O_DIRECT);
    }
    options.open(path)
}

/// Takes a file out of the page cache, as far as nobody else has it mapped.
pub(super) fn forget(file: &File) -> io::Result<()> {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// Share of the first `bytes` bytes of a file that is in the page cache, mincore(2).
pub(super) fn resident(file: &File, bytes: u64) -> io::Result<f64> {
    let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new mapping of a file, which is unmapped below and read by nobody.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is there, and there is a byte for each of its pages.
    let looked = match unsafe { libc::mincore(map, length, pages.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the mapping from above.
    unsafe { libc::munmap(map, length) };
    looked?;
    let there = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok(there as f64 / pages.len().max(1) as f64)
}

/// A buffer that `O_DIRECT` takes.
pub(super) struct Aligned {
    bytes: Vec<u8>,
    from: usize,
    length: usize,
}

impl Aligned {
    /// So many bytes of a pattern that is not all zeros.
    pub(super) fn new(length: usize) -> Self {
        let bytes: Vec<u8> = (0..length + ALIGNMENT)
            .map(|at| (at * 31 + 7) as u8)
            .collect();
        let from = bytes.as_ptr().align_offset(ALIGNMENT);
        Self {
            bytes,
            from,
            length,
        }
    }

    pub(super) fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
21 1 254:0 / / rw - ext4 /dev/vda rw,discard
30 21 0:30 / /dev/shm rw - tmpfs tmpfs rw,size=24683656k
31 21 0:31 / /c rw - overlay overlay rw,lowerdir=/i,upperdir=/u/1,workdir=/w
32 31 0:31 / /c/volume rw - ext4 /dev/vdb rw
";

    #[test]
    fn the_mount_of_a_folder_is_the_longest_above_it() {
        let of = |folder: &str| {
            let mount = mount_of(TABLE, Path::new(folder)).unwrap();
            (mount.kind, mount.source, mount.upper)
        };
        let plain = |kind: &str, source: &str| (kind.to_owned(), source.to_owned(), None);
        assert_eq!(of("/var"), plain("ext4", "/dev/vda"));
        assert_eq!(of("/dev/shm/run"), plain("tmpfs", "tmpfs"));
        assert_eq!(of("/dev/shmx"), plain("ext4", "/dev/vda"));
        assert_eq!(of("/c/volume/x"), plain("ext4", "/dev/vdb"));
        assert_eq!(of("/c/tmp").2.as_deref(), Some("/u/1"));
    }

    #[test]
    fn counters_of_the_kernel_are_read_by_name() {
        let text =
            "rchar: 5\nwchar: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        let expected = DeviceBytes {
            read: 4096,
            written: 8192,
        };
        assert_eq!(of_io(text), Some(expected));
        assert_eq!(of_io("rchar: 5\n"), None);
    }

    #[test]
    fn a_tmpfs_has_no_device_behind_it() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let storage = describe(folder.path(), "tmpfs").unwrap();
        assert_eq!(storage.file_system, "tmpfs");
        if device_bytes().is_some() {
            assert_eq!(storage.backing, Backing::Memory);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_buffer_begins_where_a_page_does() {
        let mut buffer = Aligned::new(16 << 10);
        assert_eq!(buffer.get().len(), 16 << 10);
        assert_eq!(buffer.get().as_ptr().align_offset(ALIGNMENT), 0);
    }
}
