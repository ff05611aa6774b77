//! How large LTTng's buffers are.
//!
//! LTTng discards events when its consumer does not empty buffers as fast as a program fills them. So a buffer has to
//! hold what the fastest program records while the consumer is kept from the CPU:
//!
//! > buffer of a CPU = events/s × bytes per event × longest stall, at most a share of the free memory
//!
//! A user's programs share one buffer per possible CPU. Events are discarded and counted when it is full; a traced
//! program is never made to wait.

use std::fs;

use stowplan_host::HostError;

/// Events per second that one CPU may record. Autoware's scenario trace in TUM's `ros2_latency_analysis` has 1.99
/// million events in 62 s of 40 processes, 32,000/s over all; four times that on one CPU.
const EVENTS_PER_S: u64 = 128_000;

/// Bytes of an event with its contexts: 80 to 85 in traces recorded with the contexts of a [`crate::Recorder`].
const EVENT_BYTES: u64 = 88;

/// Longest time that the consumer is kept from the CPU, in seconds.
const STALL_S: u64 = 4;

/// Buffers of all CPUs and users take at most one of so many parts of the free memory.
const MEMORY_PARTS: u64 = 4;

/// Sub-buffers of a buffer: LTTng hands over and loses whole ones, so that more of them lose less.
const SUB_BUFFERS: u64 = 8;

/// Smallest sub-buffer, in bytes: that of `ros2 trace` (`tracetools_trace`, 8 × 4096).
const SMALLEST: u64 = 32 << 10;

/// What buffers can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Free memory in bytes: the smaller of the kernel's estimate and the room on /dev/shm, where buffers lie.
    pub free_bytes: u64,
    /// CPUs that the kernel may ever have: LTTng makes a buffer for each of them.
    pub cpus: u64,
}

/// The buffers of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// Size of a sub-buffer in bytes, a power of two.
    pub sub_buffer_bytes: u64,
    /// Sub-buffers of each CPU and user.
    pub sub_buffers: u64,
    /// CPUs that have a buffer.
    pub cpus: u64,
    /// Whether there is less memory than the rule asks for.
    pub short: bool,
}

impl Memory {
    /// That of this machine.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn of_this_machine() -> Result<Self, HostError> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|e| HostError::io("read", path.as_ref(), e))
        };
        let meminfo = read("/proc/meminfo")?;
        let available = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
            .ok_or_else(|| HostError::new("/proc/meminfo has no MemAvailable"))?;
        let shm = rustix::fs::statvfs("/dev/shm")
            .map_err(|e| HostError::io("look at", "/dev/shm".as_ref(), e))?;
        let possible = read("/sys/devices/system/cpu/possible")?;
        let cpus = count(possible.trim()).ok_or_else(|| {
            HostError::new(format!(
                "cannot read the list of CPUs '{}'",
                possible.trim()
            ))
        })?;
        Ok(Self {
            free_bytes: (available * 1024).min(shm.f_bavail * shm.f_frsize),
            cpus,
        })
    }
}

/// CPUs in a list as `0-3,8`.
fn count(list: &str) -> Option<u64> {
    list.split(',')
        .map(|part| match part.split_once('-') {
            None => part.parse::<u64>().ok().map(|_| 1),
            Some((from, to)) => {
                (to.parse::<u64>().ok()? + 1).checked_sub(from.parse::<u64>().ok()?)
            }
        })
        .sum()
}

impl Buffers {
    /// By the rule, for programs of so many users.
    ///
    /// # Errors
    /// When there is not even memory for the smallest buffers: LTTng would record nothing and say nothing.
    pub fn by_rule(memory: Memory, users: u64) -> Result<Self, HostError> {
        let wanted = EVENTS_PER_S * EVENT_BYTES * STALL_S;
        let most = memory.free_bytes / MEMORY_PARTS / (memory.cpus.max(1) * users.max(1));
        Self::of_size(wanted.min(most), memory.cpus, most < wanted).ok_or_else(|| {
            let needed = SMALLEST * SUB_BUFFERS * memory.cpus * users * MEMORY_PARTS;
            HostError::new(format!(
                "{} MiB of free memory are too few for trace buffers of {} CPUs and {users} users, which need {} MiB",
                memory.free_bytes >> 20,
                memory.cpus,
                needed >> 20,
            ))
            .hint("free memory, or make /dev/shm larger: mount -o remount,size=1G /dev/shm; docker run --shm-size=1g")
        })
    }

    /// Buffers of this size for each CPU; rounded down to what LTTng takes.
    ///
    /// # Errors
    /// When that is less than the smallest.
    pub fn given(bytes: u64, cpus: u64) -> Result<Self, HostError> {
        Self::of_size(bytes, cpus, false).ok_or_else(|| {
            let smallest = (SMALLEST * SUB_BUFFERS) >> 10;
            HostError::new(format!("a trace buffer has at least {smallest} KiB"))
        })
    }

    fn of_size(bytes: u64, cpus: u64, short: bool) -> Option<Self> {
        let exponent = (bytes / SUB_BUFFERS).checked_ilog2()?;
        let buffers = Self {
            sub_buffer_bytes: 1 << exponent,
            sub_buffers: SUB_BUFFERS,
            cpus,
            short,
        };
        (buffers.sub_buffer_bytes >= SMALLEST).then_some(buffers)
    }

    /// Bytes of the buffers of one user on all CPUs.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.sub_buffer_bytes * self.sub_buffers * self.cpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn rule(free_mib: u64, cpus: u64) -> Buffers {
        let memory = Memory {
            free_bytes: free_mib * MIB,
            cpus,
        };
        Buffers::by_rule(memory, 1).unwrap()
    }

    #[test]
    fn with_memory_enough_the_rate_and_the_stall_decide() {
        // 128,000 × 88 × 4 = 45,056,000 bytes; an eighth of it is 5.37 MiB, rounded down to 4 MiB.
        let buffers = rule(16 << 10, 2);
        assert_eq!(buffers.sub_buffer_bytes, 4 * MIB);
        assert_eq!(buffers.bytes(), 64 * MIB);
        assert!(!buffers.short);
    }

    #[test]
    fn with_little_memory_or_many_cpus_a_quarter_of_it_is_shared() {
        // 2,048 MiB / 4 / 64 CPUs = 8 MiB each, 1 MiB a sub-buffer.
        let buffers = rule(2048, 64);
        assert_eq!(buffers.sub_buffer_bytes, MIB);
        assert_eq!(buffers.bytes(), 512 * MIB);
        assert!(buffers.short);
    }

    #[test]
    fn too_little_memory_is_said_instead_of_recording_nothing() {
        let memory = Memory {
            free_bytes: 64 * MIB,
            cpus: 256,
        };
        let error = Buffers::by_rule(memory, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "64 MiB of free memory are too few for trace buffers of 256 CPUs and 1 users, which need 256 MiB"
        );
        assert!(error.hint.unwrap().contains("--shm-size"));
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count("0-3,8"), Some(5));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("none"), None);
    }

    #[test]
    fn this_machine_has_cpus_and_memory() {
        let memory = Memory::of_this_machine().unwrap();
        let cpus = std::thread::available_parallelism().unwrap().get() as u64;
        assert!(memory.cpus >= cpus && memory.free_bytes > 0, "{memory:?}");
    }
}
