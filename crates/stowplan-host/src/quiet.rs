//! Waiting until the machine is quiet before a run (docs/measuring.md §5).

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::Duration;

use stowplan_wire::host::Quiet;

use crate::HostError;
use crate::process::clock_ns;
use crate::sampler::busy_ticks;

/// Length of the window that must be quiet.
const WINDOW_NS: u64 = 2_000_000_000;
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Largest busy share of all CPUs.
const BUSY: f64 = 0.03;
/// Most dirty page cache in bytes.
const DIRTY: u64 = 1_000_000;

/// Waits until the busy share stayed below 3 % for two seconds and less than 1 MB is dirty, or time is up.
/// `pause` waits for the time given to it and says whether to go on.
///
/// # Errors
/// When /proc cannot be read.
pub fn wait_until_quiet(
    timeout: Duration,
    pause: &mut dyn FnMut(Duration) -> bool,
) -> Result<Quiet, HostError> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let cpus = crate::facts::online_cpus().map_or(cpus, |list| list.len());
    let capacity_per_ns = cpus as f64 * rustix::param::clock_ticks_per_second() as f64 / 1e9;
    let begin = clock_ns();
    let mut looks = VecDeque::new();
    // Writing back needs a push: by itself it takes thirty seconds.
    rustix::fs::sync();
    loop {
        let now = clock_ns();
        looks.push_back((now, busy()?));
        while looks.len() > 1 && now - looks[1].0 >= WINDOW_NS {
            looks.pop_front();
        }
        let (since, ticks) = looks[0];
        let covered = now - since;
        let busy = if covered == 0 {
            1.0
        } else {
            (looks[looks.len() - 1].1.saturating_sub(ticks)) as f64
                / (covered as f64 * capacity_per_ns)
        };
        let dirty_bytes = dirty()?;
        let quiet = covered >= WINDOW_NS && busy < BUSY && dirty_bytes < DIRTY;
        let waited_ns = now - begin;
        let late = u128::from(waited_ns) >= timeout.as_nanos();
        if quiet || late || !pause(LOOK) {
            return Ok(Quiet {
                quiet,
                busy,
                dirty_bytes,
                waited_ns,
            });
        }
    }
}

fn busy() -> Result<u64, HostError> {
    let path = Path::new("/proc/stat");
    let text = fs::read(path).map_err(|e| HostError::io("read", path, e))?;
    busy_ticks(&text).ok_or_else(|| HostError::new("cannot make sense of /proc/stat"))
}

fn dirty() -> Result<u64, HostError> {
    let path = Path::new("/proc/meminfo");
    let text = fs::read_to_string(path).map_err(|e| HostError::io("read", path, e))?;
    let kib = |key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    kib("Dirty:")
        .zip(kib("Writeback:"))
        .map(|(dirty, writeback)| (dirty + writeback) * 1024)
        .ok_or_else(|| HostError::new("cannot find Dirty in /proc/meminfo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn being_told_to_stop_ends_the_wait() {
        let quiet = wait_until_quiet(Duration::from_secs(60), &mut |_| false).unwrap();
        assert!(!quiet.quiet);
    }

    #[test]
    fn no_time_is_one_look() {
        let quiet = wait_until_quiet(Duration::ZERO, &mut |_| panic!("waits")).unwrap();
        assert!(!quiet.quiet);
        assert!((quiet.busy - 1.0).abs() < 1e-9);
    }
}
