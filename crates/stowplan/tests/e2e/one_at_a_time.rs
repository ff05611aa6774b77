//! Tests share the machine's cores: those whose outcome depends on times run alone, over all test programs, and others
//! beside each other, as does every command of a test that has no turn.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

use rustix::fs::FlockOperation;
use stowplan_testkit::waited;

thread_local! {
    /// Turns that this test has.
    static TURNS: Cell<u32> = const { Cell::new(0) };
}

/// Held while a stack is started and measured.
pub struct Turn {
    _lock: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURNS.set(TURNS.get() - 1);
    }
}

/// Waits for all others to end: for tests that hold times against what is known.
pub fn turn() -> Turn {
    lock(FlockOperation::LockExclusive)
}

/// Waits for those that run alone: for tests of what happens, whatever time it takes.
pub fn shared_turn() -> Turn {
    lock(FlockOperation::LockShared)
}

/// For a command of a test, whatever it does: `None` if the test has a turn.
pub fn turn_of_command() -> Option<Turn> {
    (TURNS.get() == 0).then(shared_turn)
}

fn lock(how: FlockOperation) -> Turn {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-stack-at-a-time.lock");
    let lock = File::create(path).expect("the lock file can be made");
    let begin = Instant::now();
    rustix::fs::flock(&lock, how).expect("the lock can be taken");
    waited(begin.elapsed());
    TURNS.set(TURNS.get() + 1);
    Turn { _lock: lock }
}
