//! Locks of the C library, as far apart as sysbench has them.
//!
//! Both are a part of what they cost where two CPUs take them. With locks of Rust, 16 bytes apart, `threads` had 0.93 of the events of
//! sysbench and `mutex` 1.02 of its locks, twenty times each in turn (Intel Xeon, 2 CPUs). On one CPU `mutex` had 1.00.

use std::cell::UnsafeCell;

use libc::{PTHREAD_MUTEX_INITIALIZER, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock};

/// A lock, and so many bytes more until the next.
#[repr(C)]
pub(super) struct Lock<const MORE: usize> {
    own: UnsafeCell<pthread_mutex_t>,
    _more: [u8; MORE],
}

// SAFETY: it is reached only by the two functions that are made for it, which any thread may call.
unsafe impl<const MORE: usize> Sync for Lock<MORE> {}

impl<const MORE: usize> Lock<MORE> {
    pub(super) const fn new() -> Self {
        Self {
            own: UnsafeCell::new(PTHREAD_MUTEX_INITIALIZER),
            _more: [0; MORE],
        }
    }

    /// Does something under it. What it does cannot panic and must not take the same lock again.
    pub(super) fn hold(&self, work: impl FnOnce()) {
        // SAFETY: it is initialised and stays where it is while it is borrowed. One of the default kind is always taken in the end.
        unsafe { pthread_mutex_lock(self.own.get()) };
        work();
        // SAFETY: this thread has just taken it.
        unsafe { pthread_mutex_unlock(self.own.get()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_a_lock() {
        let lock = Lock::<0>::new();
        let number = AtomicU32::new(0);
        let add = || {
            for _ in 0..1000 {
                lock.hold(|| {
                    let before = number.load(Ordering::Relaxed);
                    std::thread::yield_now();
                    number.store(before + 1, Ordering::Relaxed);
                });
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(add);
            }
        });
        assert_eq!(number.load(Ordering::Relaxed), 3000);
    }

    #[test]
    fn locks_are_as_far_apart_as_those_of_sysbench() {
        let own = size_of::<pthread_mutex_t>();
        assert_eq!(
            (size_of::<Lock<0>>(), size_of::<Lock<256>>()),
            (own, own + 256)
        );
    }
}
