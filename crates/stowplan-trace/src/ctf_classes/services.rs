//! Events of calls of services.

use super::EventFields;
use crate::ctf_table::{Kind as K, Kind};
use crate::event::Body;

pub(super) fn body(kind: Kind, read: &EventFields) -> Option<Body<'_>> {
    Some(match kind {
        K::RmwClientInit => Body::RmwClientInit {
            rmw_client: read.u64(0)?,
            gid: read.bytes()?,
        },
        K::SendRequest => Body::SendRequest {
            rmw_client: read.u64(0)?,
            sequence: read.i64(1)?,
        },
        K::TakeRequest => Body::TakeRequest {
            rmw_service: read.u64(0)?,
            client_gid: read.bytes()?,
            sequence: read.i64(2)?,
            taken: read.i64(3)? != 0,
        },
        K::SendResponse => Body::SendResponse {
            rmw_service: read.u64(0)?,
            client_gid: read.bytes()?,
            sequence: read.i64(2)?,
        },
        K::TakeResponse => Body::TakeResponse {
            rmw_client: read.u64(0)?,
            sequence: read.i64(1)?,
            taken: read.i64(2)? != 0,
        },
        _ => return None,
    })
}
