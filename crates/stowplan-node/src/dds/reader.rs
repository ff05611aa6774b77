//! Readers.

use cyclors::*;

use super::cache::ArrivalCache;
use super::qos::RawQos;
use super::status::{DataAction, Hooks, Listener};
use super::waitset::Condition;
use super::{DdsError, Participant, Qos, Topic, check, gid};

/// A DDS reader of byte messages.
#[derive(Debug)]
pub struct Reader {
    entity: dds_entity_t,
    condition: Condition,
    gid: [u8; 24],
}

/// A message taken from a reader's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// CLOCK_REALTIME at the writer, nanoseconds.
    pub source_timestamp: i64,
    /// Its size in bytes; the caller's buffer has as much of it as fits.
    pub size: usize,
}

impl Reader {
    /// Creates a reader. With `arrivals`, every sample that reaches its cache is recorded under this
    /// handle, on the thread that brings it.
    ///
    /// # Errors
    /// When CycloneDDS refuses it.
    pub fn new(
        participant: &Participant,
        topic: Topic,
        qos: &Qos,
        hooks: Option<&'static Hooks>,
        arrivals: Option<u64>,
    ) -> Result<Self, DdsError> {
        let raw = RawQos::new(qos);
        let listener = hooks.map(Hooks::reader_listener);
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.as_ptr());
        let entity = match arrivals {
            // SAFETY: QoS and listener are valid for the call, which copies them.
            None => unsafe {
                dds_create_reader(participant.entity, topic.entity, raw.as_ptr(), listener)
            },
            Some(handle) => {
                let cache = ArrivalCache::new(Topic::sertype(topic.entity)?, qos, handle)?;
                // SAFETY: as above; the reader takes over the cache and frees it through its table.
                unsafe {
                    dds_create_reader_rhc(
                        participant.entity,
                        topic.entity,
                        raw.as_ptr(),
                        listener,
                        cache,
                    )
                }
            }
        };
        let entity = check(entity, || "create a reader".into())?;
        // SAFETY: plain values.
        let condition = unsafe { dds_create_readcondition(entity, DDS_ANY_STATE) };
        let condition = check(condition, || "create a read condition".into())?;
        Ok(Self {
            entity,
            condition: Condition(condition),
            gid: gid(entity)?,
        })
    }

    /// The condition that holds while its cache has a sample.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// The endpoint's global identifier.
    #[must_use]
    pub fn gid(&self) -> [u8; 24] {
        self.gid
    }

    /// Takes the next message and copies its bytes to `buffer`, as rmw_take copies them into the
    /// message; `None` if there is none. Notices without data are passed over, as rmw_take does.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn take(&self, buffer: &mut [u8]) -> Result<Option<Taken>, DdsError> {
        self.take_with(buffer.len(), |bytes| {
            buffer[..bytes.len()].copy_from_slice(bytes);
        })
    }

    /// Takes the next message whole; `buffer` holds it then, and nothing else.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn take_whole(&self, buffer: &mut Vec<u8>) -> Result<Option<Taken>, DdsError> {
        self.take_with(usize::MAX, |bytes| {
            buffer.clear();
            buffer.extend_from_slice(bytes);
        })
    }

    /// Takes the next message and shows at most `limit` bytes of it.
    fn take_with(
        &self,
        limit: usize,
        mut show: impl FnMut(&[u8]),
    ) -> Result<Option<Taken>, DdsError> {
        loop {
            let mut data = std::ptr::null_mut();
            let mut info = std::mem::MaybeUninit::<dds_sample_info_t>::uninit();
            // SAFETY: both places are valid for one sample.
            let count = unsafe {
                dds_takecdr(
                    self.entity,
                    &raw mut data,
                    1,
                    info.as_mut_ptr(),
                    DDS_ANY_STATE,
                )
            };
            if check(count, || "take a message".into())? == 0 {
                return Ok(None);
            }
            // SAFETY: one sample was returned, so both are set; the reference is ours and given
            // back here. The bytes are valid between `to_ser_ref` and `to_ser_unref`.
            unsafe {
                let info = info.assume_init();
                let taken = info.valid_data.then(|| {
                    let size = ddsi_serdata_size(data);
                    let copied = (size as usize).min(limit);
                    let mut bytes = ddsrt_iovec_t {
                        iov_base: std::ptr::null_mut(),
                        iov_len: 0,
                    };
                    let held = ddsi_serdata_to_ser_ref(data, 0, copied, &raw mut bytes);
                    show(std::slice::from_raw_parts(
                        bytes.iov_base.cast::<u8>(),
                        copied,
                    ));
                    ddsi_serdata_to_ser_unref(held, &raw const bytes);
                    Taken {
                        source_timestamp: info.source_timestamp,
                        size: size as usize,
                    }
                });
                ddsi_serdata_unref(data);
                if taken.is_some() {
                    return Ok(taken);
                }
            }
        }
    }

    /// Calls `action` on the library's receiving thread whenever a message has come. The action stays for the life of
    /// the process, because the library calls it until the reader is gone.
    ///
    /// # Errors
    /// When CycloneDDS refuses.
    pub fn on_data(&self, action: impl Fn() + Send + Sync + 'static) -> Result<(), DdsError> {
        let action: DataAction = Box::new(action);
        let listener = Listener::calling(Box::leak(Box::new(action)));
        // SAFETY: the listener is valid for the call, which copies it over what the reader has; what it does not set,
        // the reader loses, and nobody asks for that any more once it is matched.
        let done = unsafe { dds_set_listener(self.entity, listener.as_ptr()) };
        check(done, || "set a data listener".into()).map(|_| ())
    }

    /// Samples that DDS reported lost since the reader exists.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let mut status = dds_sample_lost_status_t {
            total_count: 0,
            total_count_change: 0,
        };
        // SAFETY: `status` is a valid place for the result, and stays zero on an error.
        unsafe { dds_get_sample_lost_status(self.entity, &raw mut status) };
        u64::from(status.total_count)
    }
}
