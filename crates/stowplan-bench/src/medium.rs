//! Where bytes of a file really came from or went to, by what the kernel counted: a page cache is not a disk.

use std::fmt;

use stowplan_wire::bench::{Backing, Direction, FileAccess, Moved};

/// A share of the bytes from which on a device moved them, and one up to which it did not.
const MOST: f64 = 0.8;
const HARDLY_ANY: f64 = 0.2;

/// Where bytes came from or went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Medium {
    /// A block device.
    Device,
    /// The page cache of a file on a device.
    PageCache,
    /// A file system that no device is behind.
    Memory,
    /// A device and the page cache.
    Mixed,
    /// The kernel did not say.
    Unknown,
}

impl Medium {
    /// Of the bytes of one figure.
    #[must_use]
    pub fn of(moved: &Moved, backing: Backing) -> Self {
        let counted = match moved.direction {
            Direction::Read => moved.from_device,
            Direction::Write => moved.to_device,
        };
        let share = counted.map(|bytes| bytes as f64 / moved.bytes.max(1) as f64);
        match (moved.direction, moved.access, share) {
            // Bytes count as written when they become dirty: nothing says that they have left.
            (Direction::Write, FileAccess::Buffered | FileAccess::Cold, _) => {
                Self::without_device(backing, Self::PageCache)
            }
            (_, _, None) => Self::Unknown,
            (_, _, Some(share)) if share >= MOST => Self::Device,
            (_, _, Some(share)) if share > HARDLY_ANY => Self::Mixed,
            (Direction::Read, FileAccess::Buffered, Some(_)) => {
                Self::without_device(backing, Self::PageCache)
            }
            // Past the page cache or after it was emptied, and still no device: there is none.
            (_, _, Some(_)) => Self::Memory,
        }
    }

    /// Of files that are made and deleted.
    #[must_use]
    pub const fn of_backing(backing: Backing) -> Self {
        match backing {
            Backing::Device => Self::Device,
            Backing::Memory => Self::Memory,
            Backing::Unknown => Self::Unknown,
        }
    }

    fn without_device(backing: Backing, else_is: Self) -> Self {
        if backing == Backing::Memory {
            Self::Memory
        } else {
            else_is
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [
            Self::Device,
            Self::PageCache,
            Self::Memory,
            Self::Mixed,
            Self::Unknown,
        ];
        all.into_iter().find(|medium| medium.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::PageCache => "page cache",
            Self::Memory => "memory",
            Self::Mixed => "device and page cache",
            Self::Unknown => "unknown medium",
        }
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(direction: Direction, access: FileAccess, device: Option<u64>) -> Moved {
        let reads = direction == Direction::Read;
        Moved {
            direction,
            access,
            bytes: 1000,
            from_device: if reads { device } else { Some(0) },
            to_device: if reads { Some(0) } else { device },
            resident: None,
        }
    }

    #[test]
    fn what_the_device_moved_decides() {
        use Direction::{Read, Write};
        use FileAccess::{Buffered, Cold, Direct, Synced};
        for (direction, access, device, backing, expected) in [
            (Read, Buffered, Some(0), Backing::Device, Medium::PageCache),
            (Read, Buffered, Some(1000), Backing::Device, Medium::Device),
            (Read, Buffered, Some(0), Backing::Memory, Medium::Memory),
            (Read, Buffered, Some(500), Backing::Device, Medium::Mixed),
            (Read, Cold, Some(1100), Backing::Device, Medium::Device),
            (Read, Cold, Some(0), Backing::Memory, Medium::Memory),
            (Read, Direct, None, Backing::Unknown, Medium::Unknown),
            // The upper folder of an overlay is in memory, and the file below it is on a disk.
            (Read, Direct, Some(1000), Backing::Memory, Medium::Device),
            (
                Write,
                Buffered,
                Some(1000),
                Backing::Device,
                Medium::PageCache,
            ),
            (Write, Buffered, Some(0), Backing::Memory, Medium::Memory),
            (Write, Synced, Some(1000), Backing::Device, Medium::Device),
            (Write, Synced, Some(0), Backing::Memory, Medium::Memory),
            (Write, Direct, Some(1000), Backing::Device, Medium::Device),
        ] {
            let own = Medium::of(&moved(direction, access, device), backing);
            assert_eq!(
                own, expected,
                "{direction:?} {access:?} {device:?} {backing:?}"
            );
            assert_eq!(Medium::of_name(&own.to_string()), Some(own));
        }
    }
}
