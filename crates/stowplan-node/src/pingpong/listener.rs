//! Both sides in the library's receiving thread, so that no thread has to be woken: as `ddsperf ping listener` and
//! `ddsperf pong listener`, which is that program's default.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::{LOST_NS, Path, PingPongArgs, Times};
use crate::error::NodeError;

/// Answers until the process is ended.
pub(super) fn answer(path: Path) -> Result<Option<Value>, NodeError> {
    let path = Arc::new(Mutex::new(path));
    let own = Arc::clone(&path);
    lock(&path).reader.on_data(move || {
        // An answer that cannot be sent is a ping that the other side counts as lost.
        let _ = lock(&own).answer_all();
    })?;
    loop {
        std::thread::park();
    }
}

struct Pinging {
    path: Path,
    times: Times,
    ended: Option<Result<(), NodeError>>,
}

impl Pinging {
    /// Takes what has come and sends the next ping.
    fn go_on(&mut self) {
        if self.ended.is_some() {
            return;
        }
        let result = match self.path.answer_to(self.times.sequence) {
            Ok(None) => return,
            Ok(Some(answered_ns)) => {
                self.times.answered(answered_ns);
                self.next()
            }
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.ended = Some(Err(error));
        }
    }

    fn next(&mut self) -> Result<(), NodeError> {
        if self.times.are_complete() {
            self.ended = Some(Ok(()));
            return Ok(());
        }
        let sequence = self.times.sequence + 1;
        self.times.sent(sequence, self.path.ping(sequence)?);
        Ok(())
    }
}

/// Sends pings until the time is over.
pub(super) fn measure(path: Path, args: &PingPongArgs) -> Result<Value, NodeError> {
    path.wait_for_match()?;
    let bytes = path.buffer.len();
    let times = Times::of(args);
    let pinging = Pinging {
        path,
        times,
        ended: None,
    };
    let shared = Arc::new((Mutex::new(pinging), Condvar::new()));
    let own = Arc::clone(&shared);
    let mut pinging = lock(&shared.0);
    pinging.path.reader.on_data(move || {
        let mut pinging = lock(&own.0);
        pinging.go_on();
        if pinging.ended.is_some() {
            own.1.notify_all();
        }
    })?;
    pinging.next()?;
    let longest = Duration::from_nanos(LOST_NS.unsigned_abs());
    loop {
        let waited = shared.1.wait_timeout(pinging, longest);
        pinging = waited.unwrap_or_else(PoisonError::into_inner).0;
        match pinging.ended.take() {
            Some(result) => {
                result?;
                // The library's thread must not go on while the result is made.
                pinging.ended = Some(Ok(()));
                return Ok(std::mem::take(&mut pinging.times).summary(args, bytes));
            }
            None if pinging.times.is_late() => {
                pinging.times.lost += 1;
                pinging.next()?;
            }
            None => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
