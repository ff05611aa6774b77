//! A reader's cache that records when a sample reaches it.
//!
//! CycloneDDS lets the caller supply the history cache of a reader (`dds_create_reader_rhc`). This one
//! holds the library's own cache and passes every call on to it; before a sample is stored, on the
//! thread that brings it, it records `stowplan:arrival`. Read conditions, waitsets and listeners belong
//! to the inner cache, so that the waiter wakes exactly as without this (a listener could not do it:
//! it runs after the waiter was woken and does not say which sample came).
//!
//! The table of functions is that of `dds/ddsc/dds_rhc.h` and `dds/ddsi/ddsi_rhc.h` of CycloneDDS 11.0.

use std::ffi::c_void;

use cyclors::{dds_qos_t, dds_rhc, ddsi_serdata, ddsi_serdata_kind_SDK_DATA, ddsi_sertype};
use stowplan_ctf::events::stowplan::Arrival;
use stowplan_ctf::schema::Handle;

use super::qos::RawQos;
use super::{DdsError, Qos};
use crate::record;

type ReadTake =
    unsafe extern "C" fn(*mut Outer, i32, u32, u64, *mut c_void, *const c_void, *mut c_void) -> i32;

/// `struct dds_rhc_ops`.
#[repr(C)]
struct Ops {
    store: unsafe extern "C" fn(*mut Outer, *const c_void, *mut ddsi_serdata, *mut c_void) -> bool,
    unregister_writer: unsafe extern "C" fn(*mut Outer, *const c_void),
    relinquish_ownership: unsafe extern "C" fn(*mut Outer, u64),
    free: unsafe extern "C" fn(*mut Outer),
    peek: ReadTake,
    read: ReadTake,
    take: ReadTake,
    add_condition: unsafe extern "C" fn(*mut Outer, *mut c_void) -> bool,
    remove_condition: unsafe extern "C" fn(*mut Outer, *mut c_void),
    associate: unsafe extern "C" fn(*mut Outer, *mut c_void) -> i32,
}

/// `struct dds_rhc` with what this cache adds. The library's own begins with its table too, so the
/// functions of an inner cache are called with its pointer as if it were one of these.
#[repr(C)]
struct Outer {
    ops: *const Ops,
    inner: *mut Outer,
    handle: u64,
}

unsafe extern "C" {
    fn dds_rhc_default_new(
        gv: *mut c_void,
        sertype: *const ddsi_sertype,
        qos: *const dds_qos_t,
    ) -> *mut Outer;
}

/// Calls a function of the inner cache.
macro_rules! inner {
    ($outer:expr, $function:ident $(, $argument:expr)*) => {{
        // SAFETY: the library passes the pointer that `ArrivalCache::new` gave it; the inner cache
        // lives until `free`. The other arguments are passed on unchanged.
        unsafe {
            let inner = (*$outer).inner;
            ((*(*inner).ops).$function)(inner $(, $argument)*)
        }
    }};
}

unsafe extern "C" fn store(
    outer: *mut Outer,
    writer: *const c_void,
    sample: *mut ddsi_serdata,
    instance: *mut c_void,
) -> bool {
    // SAFETY: the library passes a valid sample and our own cache.
    let (kind, source_timestamp, handle) =
        unsafe { ((*sample).kind, (*sample).timestamp.v, (*outer).handle) };
    if kind == ddsi_serdata_kind_SDK_DATA {
        record::event(&Arrival {
            rmw_subscription_handle: Handle(handle),
            source_timestamp,
        });
    }
    inner!(outer, store, writer, sample, instance)
}

unsafe extern "C" fn unregister_writer(outer: *mut Outer, writer: *const c_void) {
    inner!(outer, unregister_writer, writer);
}

unsafe extern "C" fn relinquish_ownership(outer: *mut Outer, writer: u64) {
    inner!(outer, relinquish_ownership, writer);
}

unsafe extern "C" fn free(outer: *mut Outer) {
    inner!(outer, free);
    // SAFETY: made by `Box::into_raw` in `new`; the library frees a cache once.
    drop(unsafe { Box::from_raw(outer) });
}

/// One of the three functions that look into the cache.
macro_rules! read_take {
    ($name:ident) => {
        unsafe extern "C" fn $name(
            outer: *mut Outer,
            samples: i32,
            mask: u32,
            instance: u64,
            condition: *mut c_void,
            collect: *const c_void,
            argument: *mut c_void,
        ) -> i32 {
            inner!(
                outer, $name, samples, mask, instance, condition, collect, argument
            )
        }
    };
}

read_take!(peek);
read_take!(read);
read_take!(take);

unsafe extern "C" fn add_condition(outer: *mut Outer, condition: *mut c_void) -> bool {
    inner!(outer, add_condition, condition)
}

unsafe extern "C" fn remove_condition(outer: *mut Outer, condition: *mut c_void) {
    inner!(outer, remove_condition, condition);
}

unsafe extern "C" fn associate(outer: *mut Outer, reader: *mut c_void) -> i32 {
    inner!(outer, associate, reader)
}

static OPS: Ops = Ops {
    store,
    unregister_writer,
    relinquish_ownership,
    free,
    peek,
    read,
    take,
    add_condition,
    remove_condition,
    associate,
};

/// Makes caches.
pub(super) struct ArrivalCache;

impl ArrivalCache {
    /// A cache for a reader of this type and QoS that records arrivals under `handle`.
    #[expect(
        clippy::new_ret_no_self,
        reason = "the reader takes over the cache as the library's own type"
    )]
    pub(super) fn new(
        sertype: *const ddsi_sertype,
        qos: &Qos,
        handle: u64,
    ) -> Result<*mut dds_rhc, DdsError> {
        // SAFETY: the type is alive as long as its topic. It knows its domain once a topic uses it.
        let domain = unsafe { (*sertype).gv.v } as *mut c_void;
        if domain.is_null() {
            return Err(DdsError {
                what: "make the cache of a reader".into(),
                reason: "its type is not registered in a domain".into(),
            });
        }
        let qos = RawQos::for_reader_cache(qos);
        // SAFETY: domain, type and complete QoS are valid for the call; the QoS is only read.
        let inner = unsafe { dds_rhc_default_new(domain, sertype, qos.as_ptr()) };
        let outer = Box::new(Outer {
            ops: &raw const OPS,
            inner,
            handle,
        });
        Ok(Box::into_raw(outer).cast::<dds_rhc>())
    }
}
