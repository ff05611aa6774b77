//! Tests that start stacks share the machine's cores: those whose outcome depends on times run alone, over all test
//! programs, and others beside each other.

use std::fs::File;
use std::path::Path;

use rustix::fs::FlockOperation;

/// Held while a stack is started and measured.
pub struct Turn {
    _lock: File,
}

/// Waits for all others to end: for tests that hold times against what is known.
pub fn turn() -> Turn {
    lock(FlockOperation::LockExclusive)
}

/// Waits for those that run alone: for tests of what happens, whatever time it takes.
pub fn shared_turn() -> Turn {
    lock(FlockOperation::LockShared)
}

fn lock(how: FlockOperation) -> Turn {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-stack-at-a-time.lock");
    let lock = File::create(path).expect("the lock file can be made");
    rustix::fs::flock(&lock, how).expect("the lock can be taken");
    Turn { _lock: lock }
}
