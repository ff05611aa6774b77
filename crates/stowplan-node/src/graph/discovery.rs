//! `ros_discovery_info`: which nodes a participant has, and which endpoints belong to which of them.
//!
//! DDS tells endpoints of participants; that they belong to nodes is ROS 2's own knowledge. Each participant
//! writes it as `rmw_dds_common/msg/ParticipantEntitiesInfo` and has a thread that takes what the others
//! write into a cache of the graph (rmw_cyclonedds `init` and `discovery_thread`, rmw_dds_common `GraphCache`).
//! Differences: rmw_cyclonedds writes after each endpoint, this once for each node; its thread also listens to
//! DDS's own topics and forgets participants that have left.

use std::collections::BTreeMap;
use std::io::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use stowplan_wire::service::ProfilePlan;

use crate::dds::{
    self, DdsError, Durability, Guard, History, Participant, Qos, Reader, Reliability, WaitSet,
    Writer,
};

/// Topic and type as rmw_cyclonedds names them: without the prefix of ROS topics.
const TOPIC: (&str, &str) = (
    "ros_discovery_info",
    "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_",
);

/// Its writer, as rmw_cyclonedds_cpp's context makes it.
const WRITER: Qos = Qos {
    reliability: Reliability::Reliable,
    durability: Durability::TransientLocal,
    history: History::KeepLast(1),
    lifespan_ns: None,
    ignore_local: false,
    partition: None,
};

/// Its reader keeps all, and leaves out what its own participant writes.
const READER: Qos = Qos {
    history: History::KeepAll,
    ignore_local: true,
    ..WRITER
};

/// A global identifier as DDS has it.
type Guid = [u8; 16];

/// A node and its endpoints, as `rmw_dds_common/msg/NodeEntitiesInfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEntities {
    namespace: String,
    name: String,
    readers: Vec<Guid>,
    writers: Vec<Guid>,
}

impl NodeEntities {
    /// A node without endpoints. The namespace begins with a slash.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            readers: Vec::new(),
            writers: Vec::new(),
        }
    }

    /// Adds an endpoint by its identifier as events have it.
    pub fn reader(&mut self, gid: [u8; 24]) {
        self.readers.push(guid(gid));
    }

    /// Adds an endpoint by its identifier as events have it.
    pub fn writer(&mut self, gid: [u8; 24]) {
        self.writers.push(guid(gid));
    }
}

fn guid(gid: [u8; 24]) -> Guid {
    let mut guid = [0; 16];
    guid.copy_from_slice(&gid[..16]);
    guid
}

/// What a participant knows of all others: their nodes, by the participant's identifier.
type GraphCache = BTreeMap<Guid, Vec<NodeEntities>>;

/// The participant's side of `ros_discovery_info`.
#[derive(Debug)]
pub struct Discovery {
    writer: Writer,
    format: Format,
    participant: Guid,
    nodes: Mutex<Vec<NodeEntities>>,
    end: Guard,
    thread: Mutex<Option<JoinHandle<GraphCache>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Discovery {
    /// Creates the endpoints and starts the thread; `None` for a profile without implicit endpoints.
    ///
    /// # Errors
    /// When CycloneDDS or the kernel refuses.
    pub fn start(
        participant: &Participant,
        profile: ProfilePlan,
    ) -> Result<Option<Self>, DdsError> {
        let Some(format) = Format::of(profile) else {
            return Ok(None);
        };
        let topic = participant.topic(TOPIC.0, TOPIC.1)?;
        let writer = Writer::new(participant, topic, &WRITER, None)?;
        let reader = Reader::new(participant, topic, &READER, None, None)?;
        let (waitset, end) = (WaitSet::new(participant)?, Guard::new(participant)?);
        waitset.attach(end.condition(), END)?;
        waitset.attach(reader.condition(), DATA)?;
        let thread = Builder::new()
            .name("discovery".to_owned())
            .spawn(move || listen(&waitset, &reader, format))
            .map_err(|error: Error| DdsError {
                what: "start the thread that takes ros_discovery_info".into(),
                reason: error.to_string(),
            })?;
        Ok(Some(Self {
            writer,
            format,
            participant: guid(participant.gid()?),
            nodes: Mutex::default(),
            end,
            thread: Mutex::new(Some(thread)),
        }))
    }

    /// Says that the participant has another node.
    ///
    /// # Errors
    /// When CycloneDDS refuses the message.
    pub fn add(&self, node: NodeEntities) -> Result<(), DdsError> {
        self.change(|nodes| nodes.push(node))
    }

    /// Says that its first node has other endpoints now.
    ///
    /// # Errors
    /// When CycloneDDS refuses the message.
    pub fn extend_first(&self, more: impl FnOnce(&mut NodeEntities)) -> Result<(), DdsError> {
        self.change(|nodes| {
            if let Some(first) = nodes.first_mut() {
                more(first);
            }
        })
    }

    /// The lock is held until the message is written: the last message has to be the newest state.
    fn change(&self, change: impl FnOnce(&mut Vec<NodeEntities>)) -> Result<(), DdsError> {
        let mut nodes = lock(&self.nodes);
        change(&mut nodes);
        let message = self.format.encode(&self.participant, &nodes);
        self.writer.write([&message, &[]], dds::time())
    }

    /// Ends the thread; to be called before the participant is closed.
    pub fn stop(&self) {
        self.end.trigger();
        if let Some(thread) = lock(&self.thread).take() {
            // It ends with what it has learned, which nobody needs any more.
            let _graph = thread.join();
        }
    }
}

/// Numbers of the thread's conditions.
const END: usize = 0;
const DATA: usize = 1;

/// Takes what other participants say of themselves until it is ended.
fn listen(waitset: &WaitSet, reader: &Reader, format: Format) -> GraphCache {
    let mut graph = GraphCache::new();
    let mut message = Vec::new();
    let mut held = [0; 2];
    loop {
        let held = waitset.wait(&mut held, i64::MAX);
        // Nothing holds only if the participant is gone.
        if held.is_empty() || held.contains(&END.cast_signed()) {
            return graph;
        }
        while let Ok(Some(_)) = reader.take_whole(&mut message) {
            // What is no such message is passed over, as by rmw_take.
            if let Some((participant, nodes)) = format.decode(&message) {
                graph.insert(participant, nodes);
            }
        }
    }
}

/// How the message is laid out: plain CDR (XCDR1, little-endian) with identifiers of this many bytes.
///
/// ```text
/// Gid                 gid                      char[24] data, since Iron char[16]
/// NodeEntitiesInfo[]  node_entities_info_seq
///   string            node_namespace
///   string            node_name
///   Gid[]             reader_gid_seq
///   Gid[]             writer_gid_seq
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    gid_bytes: usize,
}

/// Encapsulation header of little-endian plain CDR.
const HEADER: [u8; 4] = [0, 1, 0, 0];

impl Format {
    fn of(profile: ProfilePlan) -> Option<Self> {
        let gid_bytes = match profile {
            ProfilePlan::Minimal => return None,
            ProfilePlan::Galactic | ProfilePlan::Humble => 24,
            ProfilePlan::Jazzy => 16,
        };
        Some(Self { gid_bytes })
    }

    /// Always whole words: identifiers are, and everything else is aligned to them.
    fn encode(self, participant: &Guid, nodes: &[NodeEntities]) -> Vec<u8> {
        let mut out = HEADER.to_vec();
        self.put_gid(&mut out, participant);
        put_length(&mut out, nodes.len());
        for node in nodes {
            put_text(&mut out, &node.namespace);
            put_text(&mut out, &node.name);
            for gids in [&node.readers, &node.writers] {
                put_length(&mut out, gids.len());
                for gid in gids {
                    self.put_gid(&mut out, gid);
                }
            }
        }
        out
    }

    fn put_gid(self, out: &mut Vec<u8>, gid: &Guid) {
        out.extend_from_slice(gid);
        out.resize(out.len() + self.gid_bytes - gid.len(), 0);
    }

    fn decode(self, message: &[u8]) -> Option<(Guid, Vec<NodeEntities>)> {
        let mut rest = message.strip_prefix(&HEADER)?;
        let participant = self.gid(&mut rest)?;
        let count = length(&mut rest)?;
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(NodeEntities {
                namespace: string(&mut rest)?,
                name: string(&mut rest)?,
                readers: self.gids(&mut rest)?,
                writers: self.gids(&mut rest)?,
            });
        }
        Some((participant, nodes))
    }

    fn gid(self, rest: &mut &[u8]) -> Option<Guid> {
        let bytes = take(rest, self.gid_bytes)?;
        bytes[..16].try_into().ok()
    }

    fn gids(self, rest: &mut &[u8]) -> Option<Vec<Guid>> {
        let count = length(rest)?;
        (0..count).map(|_| self.gid(rest)).collect()
    }
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    // A participant has far fewer than 2^32 of anything.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_length(out, text.len() + 1);
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

fn length(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?))
}

fn string(rest: &mut &[u8]) -> Option<String> {
    let length = length(rest)? as usize;
    let bytes = take(rest, length)?;
    // The last string of a message may end without its padding.
    let padding = length.next_multiple_of(4) - length;
    take(rest, padding.min(rest.len()))?;
    String::from_utf8(bytes.strip_suffix(&[0])?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<NodeEntities> {
        let mut filter = NodeEntities::new("/", "filter");
        filter.reader([3; 24]);
        filter.writer([4; 24]);
        filter.writer([5; 24]);
        vec![NodeEntities::new("/a", "b"), filter]
    }

    #[test]
    fn a_message_is_plain_cdr() {
        let format = Format::of(ProfilePlan::Jazzy).unwrap();
        let mut expected = vec![0, 1, 0, 0];
        expected.extend([9; 16]);
        expected.extend([2, 0, 0, 0]);
        expected.extend([3, 0, 0, 0, b'/', b'a', 0, 0]);
        expected.extend([2, 0, 0, 0, b'b', 0, 0, 0]);
        expected.extend([0; 8]);
        expected.extend([2, 0, 0, 0, b'/', 0, 0, 0]);
        expected.extend(b"\x07\0\0\0filter\0\0");
        expected.extend([1, 0, 0, 0]);
        expected.extend([3; 16]);
        expected.extend([2, 0, 0, 0]);
        expected.extend([4; 16]);
        expected.extend([5; 16]);
        assert_eq!(format.encode(&[9; 16], &nodes()), expected);
        assert_eq!(format.decode(&expected), Some(([9; 16], nodes())));
    }

    #[test]
    fn before_iron_identifiers_have_24_bytes() {
        let format = Format::of(ProfilePlan::Humble).unwrap();
        assert_eq!(Format::of(ProfilePlan::Galactic), Some(format));
        let message = format.encode(&[9; 16], &nodes());
        assert_eq!(message[4..20], [9; 16]);
        assert_eq!(message[20..28], [0; 8]);
        // Four identifiers are eight bytes longer.
        let jazzy = Format::of(ProfilePlan::Jazzy).unwrap();
        let shorter = jazzy.encode(&[9; 16], &nodes()).len();
        assert_eq!(message.len(), shorter + 4 * 8);
        assert_eq!(format.decode(&message), Some(([9; 16], nodes())));
    }

    #[test]
    fn what_is_cut_short_is_no_message() {
        let format = Format::of(ProfilePlan::Jazzy).unwrap();
        let message = format.encode(&[9; 16], &nodes());
        for end in 0..message.len() {
            assert_eq!(format.decode(&message[..end]), None, "{end} bytes");
        }
        let mut endless = message.clone();
        endless[20..24].fill(255);
        assert_eq!(format.decode(&endless), None);
    }

    #[test]
    fn a_minimal_process_says_nothing() {
        assert_eq!(Format::of(ProfilePlan::Minimal), None);
    }
}
