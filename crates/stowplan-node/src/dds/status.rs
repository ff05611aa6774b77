//! What DDS reports of endpoints outside the data path: matches and losses.

use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cyclors::*;
use rustix::event::{EventfdFlags, eventfd};
use stowplan_ctf::events::stowplan::{EndpointsMatched, SampleLost};
use stowplan_ctf::schema::Handle;

use crate::record;

/// Counts the endpoints of a process that still miss a peer.
#[derive(Debug)]
pub struct Matching {
    missing: AtomicU32,
    declared: AtomicU32,
    pairs: AtomicU32,
    last_ns: AtomicU64,
    sealed: AtomicBool,
    notified: AtomicBool,
    event: OwnedFd,
}

impl Matching {
    /// Nothing declared yet. It stays for the life of the process, because listeners of the
    /// library point to it.
    ///
    /// # Errors
    /// When the kernel gives no event descriptor.
    pub fn leak() -> std::io::Result<&'static Self> {
        Ok(Box::leak(Box::new(Self {
            missing: AtomicU32::new(0),
            declared: AtomicU32::new(0),
            pairs: AtomicU32::new(0),
            last_ns: AtomicU64::new(0),
            sealed: AtomicBool::new(false),
            notified: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })))
    }

    /// Becomes readable once all declared endpoints are matched.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// No endpoint will be declared any more.
    pub fn seal(&self) {
        self.last_ns.fetch_max(record::now(), Ordering::AcqRel);
        self.sealed.store(true, Ordering::SeqCst);
        self.check();
    }

    /// Endpoints that had something to match, and when the last one was matched.
    pub fn result(&self) -> (u32, u64) {
        (
            self.declared.load(Ordering::Acquire),
            self.last_ns.load(Ordering::Acquire),
        )
    }

    fn check(&self) {
        if self.sealed.load(Ordering::SeqCst)
            && self.missing.load(Ordering::SeqCst) == 0
            && !self.notified.swap(true, Ordering::SeqCst)
        {
            record::event(&EndpointsMatched {
                count: self.pairs.load(Ordering::Acquire),
            });
            // A full counter is impossible: this is written once.
            let _written = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}

/// What the listener of an endpoint needs; lives as long as the process, because the library calls
/// listeners from its own threads until the endpoint is gone.
#[derive(Debug)]
pub struct Hooks {
    matching: &'static Matching,
    expected: u32,
    met: AtomicBool,
    handle: u64,
}

impl Hooks {
    /// For an endpoint that is recorded as `handle` and expects so many peers. Made before the
    /// endpoint, because it may match at once.
    pub fn leak(matching: &'static Matching, handle: u64, expected: u32) -> &'static Self {
        if expected > 0 {
            matching.missing.fetch_add(1, Ordering::SeqCst);
            matching.declared.fetch_add(1, Ordering::AcqRel);
            matching.pairs.fetch_add(expected, Ordering::AcqRel);
        }
        Box::leak(Box::new(Self {
            matching,
            expected,
            met: AtomicBool::new(expected == 0),
            handle,
        }))
    }

    fn count(&self, current: u32) {
        if current >= self.expected && !self.met.swap(true, Ordering::SeqCst) {
            let matching = self.matching;
            matching.last_ns.fetch_max(record::now(), Ordering::AcqRel);
            matching.missing.fetch_sub(1, Ordering::SeqCst);
            matching.check();
        }
    }

    fn argument(&'static self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    pub(super) fn writer_listener(&'static self) -> Listener {
        let listener = Listener::new();
        // SAFETY: the listener is valid; function and static argument fit each other.
        unsafe {
            dds_lset_publication_matched_arg(listener.0, Some(publication), self.argument(), false);
        }
        listener
    }

    pub(super) fn reader_listener(&'static self) -> Listener {
        let listener = Listener::new();
        // SAFETY: as above. No data listener: that would change how data is reported. Statuses are
        // not reset, so that they can still be read.
        unsafe {
            dds_lset_subscription_matched_arg(
                listener.0,
                Some(subscription),
                self.argument(),
                false,
            );
            dds_lset_sample_lost_arg(listener.0, Some(sample_lost), self.argument(), false);
        }
        listener
    }
}

unsafe extern "C" fn publication(
    _: dds_entity_t,
    status: dds_publication_matched_status_t,
    hooks: *mut c_void,
) {
    // SAFETY: the argument is a `&'static Hooks`, set in `writer_listener`.
    unsafe { &*hooks.cast::<Hooks>() }.count(status.current_count);
}

unsafe extern "C" fn subscription(
    _: dds_entity_t,
    status: dds_subscription_matched_status_t,
    hooks: *mut c_void,
) {
    // SAFETY: the argument is a `&'static Hooks`, set in `reader_listener`.
    unsafe { &*hooks.cast::<Hooks>() }.count(status.current_count);
}

unsafe extern "C" fn sample_lost(
    _: dds_entity_t,
    status: dds_sample_lost_status_t,
    hooks: *mut c_void,
) {
    // SAFETY: the argument is a `&'static Hooks`, set in `reader_listener`.
    let hooks = unsafe { &*hooks.cast::<Hooks>() };
    record::event(&SampleLost {
        rmw_subscription_handle: Handle(hooks.handle),
        total: u64::from(status.total_count),
    });
}

/// What is called when a reader has data; boxed twice, because the library's argument is a thin pointer.
pub(super) type DataAction = Box<dyn Fn() + Send + Sync>;

unsafe extern "C" fn data(_: dds_entity_t, action: *mut c_void) {
    // SAFETY: the argument is a `&'static DataAction`, set in `calling`.
    let action = unsafe { &*action.cast::<DataAction>() };
    action();
}

/// A `dds_listener_t` that is freed when dropped; entities copy it.
pub(super) struct Listener(*mut dds_listener_t);

impl Listener {
    fn new() -> Self {
        // SAFETY: the library allocates; freed once, in `drop`.
        Self(unsafe { dds_create_listener(std::ptr::null_mut()) })
    }

    /// One that calls `action` when a reader has data.
    pub(super) fn calling(action: &'static DataAction) -> Self {
        let listener = Self::new();
        let argument = std::ptr::from_ref(action).cast_mut().cast();
        // SAFETY: the listener is valid; function and static argument fit each other.
        unsafe { dds_lset_data_available_arg(listener.0, Some(data), argument, true) };
        listener
    }

    pub(super) fn as_ptr(&self) -> *const dds_listener_t {
        self.0
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed only here.
        unsafe { dds_delete_listener(self.0) }
    }
}
