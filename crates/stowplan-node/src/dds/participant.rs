//! A domain of one process, its participant and its topics.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use cyclors::*;

use super::{DdsError, check, gid};

/// One DDS participant in a domain configured by the run's own XML.
#[derive(Debug)]
pub struct Participant {
    domain: dds_entity_t,
    pub(super) entity: dds_entity_t,
    topics: Mutex<HashMap<(String, String), Topic>>,
}

/// A topic of a participant: a DDS name and a type name, with messages as bytes.
#[derive(Debug, Clone, Copy)]
pub struct Topic {
    pub(super) entity: dds_entity_t,
}

/// `value` as the library wants it.
///
/// # Errors
/// When it has a zero byte.
pub fn text(what: &str, value: &str) -> Result<CString, DdsError> {
    CString::new(value).map_err(|_| DdsError {
        what: format!("use the {what} {value:?}"),
        reason: "it has a zero byte".into(),
    })
}

impl Participant {
    /// Joins domain `id` with the configuration `xml` alone: the environment variable
    /// `CYCLONEDDS_URI` has no say. Others see the user data, if there is one.
    ///
    /// # Errors
    /// When the configuration is refused or the participant cannot be made.
    pub fn new(id: u32, xml: &str, user_data: Option<&str>) -> Result<Self, DdsError> {
        let config = text("configuration", xml)?;
        // SAFETY: `config` is a C string that outlives the call.
        let domain = unsafe { dds_create_domain(id, config.as_ptr()) };
        let domain = check(domain, || format!("create domain {id}"))?;
        // SAFETY: the QoS is valid until it is freed; it and the participant copy what they are given. A null
        // listener is allowed.
        let entity = unsafe {
            let qos = dds_create_qos();
            if let Some(data) = user_data {
                dds_qset_userdata(qos, data.as_ptr().cast(), data.len());
            }
            let entity = dds_create_participant(id, qos, std::ptr::null());
            dds_delete_qos(qos);
            entity
        };
        let entity = check(entity, || format!("create a participant in domain {id}"))?;
        Ok(Self {
            domain,
            entity,
            topics: Mutex::default(),
        })
    }

    /// The topic of this DDS name and type name.
    ///
    /// # Errors
    /// When CycloneDDS refuses it.
    pub fn topic(&self, name: &str, type_name: &str) -> Result<Topic, DdsError> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), type_name.to_owned());
        if let Some(topic) = topics.get(&key) {
            return Ok(*topic);
        }
        let (c_name, c_type) = (text("topic name", name)?, text("type name", type_name)?);
        // SAFETY: both strings are copied by the function, which does not write to them.
        let entity = unsafe {
            cdds_create_blob_topic(
                self.entity,
                c_name.as_ptr().cast_mut(),
                c_type.as_ptr().cast_mut(),
                true,
            )
        };
        let entity = check(entity, || {
            format!("create topic '{name}' of type '{type_name}'")
        })?;
        let topic = Topic { entity };
        topics.insert(key, topic);
        Ok(topic)
    }

    /// Its global identifier.
    ///
    /// # Errors
    /// When it is closed.
    pub fn gid(&self) -> Result<[u8; 24], DdsError> {
        gid(self.entity)
    }

    /// Leaves the domain: deletes every entity and ends the library's threads, so that afterwards
    /// none of them records an event.
    pub fn close(&self) {
        for entity in [self.entity, self.domain] {
            // SAFETY: the library checks the handle.
            unsafe { dds_delete(entity) };
        }
    }
}

impl Topic {
    /// How the library serialises the topic's type.
    pub(super) fn sertype(entity: dds_entity_t) -> Result<*const ddsi_sertype, DdsError> {
        let mut sertype = std::ptr::null();
        // SAFETY: `sertype` is a valid place for the result; the entity keeps it alive.
        let code = unsafe { dds_get_entity_sertype(entity, &raw mut sertype) };
        check(code, || "find the type of a topic".into())?;
        Ok(sertype)
    }
}
