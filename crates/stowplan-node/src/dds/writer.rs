//! Writers.

use std::ffi::c_void;

use cyclors::*;

use super::qos::RawQos;
use super::status::Hooks;
use super::{DdsError, Participant, Qos, Topic, check, gid};

/// A DDS writer of byte messages.
#[derive(Debug)]
pub struct Writer {
    entity: dds_entity_t,
    sertype: *const ddsi_sertype,
    gid: [u8; 24],
}

// SAFETY: `sertype` points to an immutable, reference-counted object that the writer keeps alive; the
// library locks the writer itself on every call.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

impl Writer {
    /// Creates a writer.
    ///
    /// # Errors
    /// When CycloneDDS refuses it.
    pub fn new(
        participant: &Participant,
        topic: Topic,
        qos: &Qos,
        hooks: Option<&'static Hooks>,
    ) -> Result<Self, DdsError> {
        let raw = RawQos::new(qos);
        let listener = hooks.map(Hooks::writer_listener);
        let listener_ptr = listener.as_ref().map_or(std::ptr::null(), |l| l.as_ptr());
        // SAFETY: QoS and listener are valid for the call, which copies them; what the listener
        // points to is static.
        let entity = unsafe {
            dds_create_writer(participant.entity, topic.entity, raw.as_ptr(), listener_ptr)
        };
        let entity = check(entity, || "create a writer".into())?;
        Ok(Self {
            entity,
            sertype: Topic::sertype(entity)?,
            gid: gid(entity)?,
        })
    }

    /// The endpoint's global identifier.
    #[must_use]
    pub fn gid(&self) -> [u8; 24] {
        self.gid
    }

    /// Sends the parts one after another as one message with this source timestamp
    /// (CLOCK_REALTIME, nanoseconds). Together they must be a multiple of four bytes, because the
    /// library sends whole words.
    ///
    /// # Errors
    /// When CycloneDDS refuses the message.
    pub fn write(&self, parts: [&[u8]; 2], source_timestamp: i64) -> Result<(), DdsError> {
        let iov = parts.map(|part| ddsrt_iovec_t {
            iov_base: part.as_ptr().cast_mut().cast::<c_void>(),
            iov_len: part.len(),
        });
        let size = parts[0].len() + parts[1].len();
        debug_assert!(size.is_multiple_of(4));
        // SAFETY: the type is alive as long as the writer; the parts are only read. `forwardcdr`
        // takes over the reference that `from_ser_iov` made.
        let code = unsafe {
            let data = ddsi_serdata_from_ser_iov(
                self.sertype,
                ddsi_serdata_kind_SDK_DATA,
                iov.len(),
                iov.as_ptr(),
                size,
            );
            (*data).timestamp.v = source_timestamp;
            (*data).statusinfo = 0;
            dds_forwardcdr(self.entity, data)
        };
        check(code, || "write a message".into()).map(drop)
    }

    /// Readers that it is matched with now.
    #[must_use]
    pub fn matched(&self) -> u32 {
        let mut status = dds_publication_matched_status_t {
            total_count: 0,
            total_count_change: 0,
            current_count: 0,
            current_count_change: 0,
            last_subscription_handle: 0,
        };
        // SAFETY: `status` is a valid place for the result, and stays zero on an error.
        unsafe { dds_get_publication_matched_status(self.entity, &raw mut status) };
        status.current_count
    }
}
