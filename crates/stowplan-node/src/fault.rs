//! Faults that a process makes of itself when it is asked to.

use std::sync::{Arc, Barrier, Mutex};

use stowplan_wire::announce::{Announcement, OwnFault};

use crate::announce::Agent;
use crate::error::NodeError;
use crate::record;

/// Memory is used in steps of so many bytes, so that a limit is met while the process runs.
const STEP: u64 = 1 << 20;

/// Size of a page, or less than it.
const PAGE: usize = 4096;

/// Says that it is about to fail, and fails.
///
/// # Errors
/// When the agent does not take it, or the kernel does not let it fail.
pub fn happen(agent: &Agent, process: Option<&str>, fault: OwnFault) -> Result<(), NodeError> {
    // Nobody wants its memory in a file.
    // SAFETY: a plain system call.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    agent.say(&Announcement::Faulting {
        process: process.map(str::to_owned),
        t_ns: record::now(),
    })?;
    match fault {
        OwnFault::Crash => crash(),
        // SAFETY: ends the process at once, as a failed program does that runs no destructors.
        OwnFault::Exit(status) => unsafe { libc::_exit(status.into()) },
        OwnFault::Allocate(bytes) => {
            allocate(bytes);
            Ok(())
        }
        OwnFault::Deadlock => {
            deadlock();
            Ok(())
        }
    }
}

/// Writes to a page that must not be touched. The first process of a PID namespace ends by that, too, which a signal sent from
/// outside does not do.
fn crash() -> Result<(), NodeError> {
    // SAFETY: a mapping of its own, anywhere.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PAGE,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return Err(NodeError::System {
            what: "map a page to crash with",
            source: std::io::Error::last_os_error(),
        });
    }
    // SAFETY: the page is mapped and nobody else's; that the kernel ends the process for the write is what is asked for.
    unsafe { page.cast::<u8>().write_volatile(1) };
    Ok(())
}

/// Uses so many bytes more and keeps them.
fn allocate(bytes: u64) {
    for _ in 0..bytes.div_ceil(STEP) {
        let mut step = vec![0_u8; STEP as usize];
        step.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
        // Not optimised away, and never given back.
        std::hint::black_box(&mut step);
        std::mem::forget(step);
    }
}

/// This thread and another one wait for each other's lock, for ever.
fn deadlock() {
    let first = Arc::new(Mutex::new(()));
    let second = Arc::new(Mutex::new(()));
    let both = Arc::new(Barrier::new(2));
    let other = {
        let (first, second, both) = (Arc::clone(&first), Arc::clone(&second), Arc::clone(&both));
        std::thread::spawn(move || lock_both(&second, &first, &both))
    };
    lock_both(&first, &second, &both);
    // Not reached; a thread that has panicked would be no deadlock.
    drop(other.join());
}

/// Takes its own lock, and that of the other when both have theirs.
fn lock_both(own: &Mutex<()>, others: &Mutex<()>, both: &Barrier) {
    let _own = own.lock();
    both.wait();
    let _others = others.lock();
}
