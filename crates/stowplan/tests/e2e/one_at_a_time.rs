//! Tests that start stacks share the machine's cores: one at a time, over all test programs.

use std::fs::File;
use std::path::Path;

use rustix::fs::FlockOperation;

/// Held while a stack is started and measured.
pub struct Turn {
    _lock: File,
}

/// Waits for the others to end.
pub fn turn() -> Turn {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-stack-at-a-time.lock");
    let lock = File::create(path).expect("the lock file can be made");
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).expect("the lock can be taken");
    Turn { _lock: lock }
}
