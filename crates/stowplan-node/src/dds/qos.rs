//! Quality of service, as far as ROS 2 uses it.

use std::ffi::CString;

use cyclors::*;

/// Delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    /// Lost messages stay lost.
    BestEffort,
    /// Lost messages are sent again.
    Reliable,
}

/// What late readers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing.
    Volatile,
    /// The writer's history.
    TransientLocal,
}

/// What caches keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// The newest so many messages.
    KeepLast(u32),
    /// All.
    KeepAll,
}

/// Quality of service of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos {
    /// Delivery.
    pub reliability: Reliability,
    /// What late readers get.
    pub durability: Durability,
    /// What caches keep.
    pub history: History,
    /// Nanoseconds after which a message is of no use; `None` never.
    pub lifespan_ns: Option<i64>,
    /// Whether messages of this participant are left out, because they come by pointer.
    pub ignore_local: bool,
    /// Partition; `None` is the default one.
    pub partition: Option<CString>,
}

/// rmw_cyclonedds blocks a reliable writer without limit while its cache is full.
const MAX_BLOCKING_NS: i64 = i64::MAX;

/// A `dds_qos_t` that is freed when dropped.
pub(super) struct RawQos(*mut dds_qos_t);

impl RawQos {
    pub(super) fn new(qos: &Qos) -> Self {
        // SAFETY: the library allocates; the pointer is freed once, in `drop`. The setters take a
        // valid QoS and plain values.
        unsafe {
            let raw = dds_create_qos();
            let reliability = match qos.reliability {
                Reliability::BestEffort => dds_reliability_kind_DDS_RELIABILITY_BEST_EFFORT,
                Reliability::Reliable => dds_reliability_kind_DDS_RELIABILITY_RELIABLE,
            };
            dds_qset_reliability(raw, reliability, MAX_BLOCKING_NS);
            let durability = match qos.durability {
                Durability::Volatile => dds_durability_kind_DDS_DURABILITY_VOLATILE,
                Durability::TransientLocal => dds_durability_kind_DDS_DURABILITY_TRANSIENT_LOCAL,
            };
            dds_qset_durability(raw, durability);
            let (history, depth) = match qos.history {
                History::KeepLast(depth) => (dds_history_kind_DDS_HISTORY_KEEP_LAST, depth.max(1)),
                History::KeepAll => (dds_history_kind_DDS_HISTORY_KEEP_ALL, 1),
            };
            dds_qset_history(raw, history, i32::try_from(depth).unwrap_or(i32::MAX));
            if let Some(lifespan) = qos.lifespan_ns {
                dds_qset_lifespan(raw, lifespan);
            }
            let ignore = if qos.ignore_local {
                dds_ignorelocal_kind_DDS_IGNORELOCAL_PARTICIPANT
            } else {
                dds_ignorelocal_kind_DDS_IGNORELOCAL_NONE
            };
            dds_qset_ignorelocal(raw, ignore);
            dds_qset_writer_data_lifecycle(raw, false);
            if let Some(partition) = &qos.partition {
                // The library gives the publisher or subscriber that it makes for an endpoint the endpoint's QoS.
                dds_qset_partition1(raw, partition.as_ptr());
            }
            Self(raw)
        }
    }

    /// The same with everything that a reader needs and this does not say.
    pub(super) fn for_reader_cache(qos: &Qos) -> Self {
        // The policy that `dds_create_reader` leaves out too, because the topic decides it.
        const DATA_REPRESENTATION: u64 = 1 << 35;
        let raw = Self::new(qos);
        // SAFETY: both are valid QoS objects; the second is a constant of the library.
        unsafe {
            ddsi_xqos_mergein_missing(
                raw.0,
                &raw const ddsi_default_qos_reader,
                !DATA_REPRESENTATION,
            );
        }
        raw
    }

    pub(super) fn as_ptr(&self) -> *const dds_qos_t {
        self.0
    }
}

impl Drop for RawQos {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed only here.
        unsafe { dds_delete_qos(self.0) }
    }
}
