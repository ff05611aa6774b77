//! Another participant of the domain reads what a service's participants say of their nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

use cyclors::*;
use stowplan_wire::announce::Announcement;
use stowplan_wire::service::ProfilePlan;

use crate::common::*;
use crate::exchange::hello;

type Guid = [u8; 16];

/// A node as its participant describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    readers: Vec<Guid>,
    writers: Vec<Guid>,
}

/// Nodes by namespace and name, and their participant.
type Nodes = BTreeMap<(String, String), (Guid, Node)>;

/// An endpoint that DDS itself tells of.
#[derive(Debug, PartialEq, Eq)]
struct Endpoint {
    participant: Guid,
    topic: String,
}

/// A participant that reads and says nothing.
struct Onlooker {
    domain: dds_entity_t,
    info: dds_entity_t,
    publications: dds_entity_t,
    subscriptions: dds_entity_t,
    waitset: dds_entity_t,
}

impl Onlooker {
    fn new(id: u32) -> Self {
        let config = CString::new(include_str!("cyclonedds.xml")).unwrap();
        let (name, kind) = (
            CString::new("ros_discovery_info").unwrap(),
            CString::new("rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_").unwrap(),
        );
        let builtin = |participant, topic| {
            // SAFETY: plain values; null takes the defaults.
            unsafe { dds_create_reader(participant, topic, std::ptr::null(), std::ptr::null()) }
        };
        // SAFETY: strings and QoS are valid for the calls, which copy them; null takes the defaults.
        unsafe {
            let domain = dds_create_domain(id, config.as_ptr());
            let participant = dds_create_participant(id, std::ptr::null(), std::ptr::null());
            let topic = cdds_create_blob_topic(
                participant,
                name.as_ptr().cast_mut(),
                kind.as_ptr().cast_mut(),
                true,
            );
            let qos = dds_create_qos();
            dds_qset_reliability(qos, dds_reliability_kind_DDS_RELIABILITY_RELIABLE, 0);
            dds_qset_durability(qos, dds_durability_kind_DDS_DURABILITY_TRANSIENT_LOCAL);
            dds_qset_history(qos, dds_history_kind_DDS_HISTORY_KEEP_ALL, 0);
            let info = dds_create_reader(participant, topic, qos, std::ptr::null());
            dds_delete_qos(qos);
            let waitset = dds_create_waitset(participant);
            let condition = dds_create_readcondition(info, DDS_ANY_STATE);
            assert!(dds_waitset_attach(waitset, condition, 0) >= 0);
            Self {
                domain,
                info,
                publications: builtin(participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION),
                subscriptions: builtin(participant, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION),
                waitset,
            }
        }
    }

    /// Waits until so many nodes are known, whatever their participants say first.
    fn nodes(&self, count: usize) -> Nodes {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut nodes = Nodes::new();
        while nodes.len() < count {
            assert!(Instant::now() < deadline, "only {:?}", nodes.keys());
            // SAFETY: no result is asked for.
            unsafe { dds_waitset_wait(self.waitset, std::ptr::null_mut(), 0, 1_000_000_000) };
            while let Some(message) = self.take() {
                if !message.is_empty() {
                    decode(&message, &mut nodes);
                }
            }
        }
        nodes
    }

    fn take(&self) -> Option<Vec<u8>> {
        let mut data = std::ptr::null_mut();
        let mut info = std::mem::MaybeUninit::<dds_sample_info_t>::uninit();
        // SAFETY: places for one sample; what was returned is ours until it is given back.
        unsafe {
            let any = DDS_ANY_STATE;
            if dds_takecdr(self.info, &raw mut data, 1, info.as_mut_ptr(), any) < 1 {
                return None;
            }
            let size = ddsi_serdata_size(data) as usize;
            let mut message = Vec::new();
            if info.assume_init().valid_data {
                let mut bytes = ddsrt_iovec_t {
                    iov_base: std::ptr::null_mut(),
                    iov_len: 0,
                };
                let held = ddsi_serdata_to_ser_ref(data, 0, size, &raw mut bytes);
                let from = std::slice::from_raw_parts(bytes.iov_base.cast::<u8>(), size);
                message.extend_from_slice(from);
                ddsi_serdata_to_ser_unref(held, &raw const bytes);
            }
            ddsi_serdata_unref(data);
            Some(message)
        }
    }

    fn endpoints(&self) -> BTreeMap<Guid, Endpoint> {
        let mut found = BTreeMap::new();
        for reader in [self.publications, self.subscriptions] {
            loop {
                let mut sample = std::ptr::null_mut();
                let mut info = std::mem::MaybeUninit::<dds_sample_info_t>::uninit();
                // SAFETY: one loan, given back after its texts are copied.
                unsafe {
                    let places = (&raw mut sample, info.as_mut_ptr());
                    if dds_take(reader, places.0, places.1, 1, 1) < 1 {
                        break;
                    }
                    if info.assume_init().valid_data {
                        let one = &*sample.cast::<dds_builtintopic_endpoint_t>();
                        let topic = CStr::from_ptr(one.topic_name);
                        let endpoint = Endpoint {
                            participant: one.participant_key.v,
                            topic: topic.to_str().unwrap().to_owned(),
                        };
                        found.insert(one.key.v, endpoint);
                    }
                    dds_return_loan(reader, places.0, 1);
                }
            }
        }
        found
    }
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        // SAFETY: the library checks the handle, and deletes what is in the domain.
        unsafe { dds_delete(self.domain) };
    }
}

/// Reads the message as ROS 2 Humble lays it out.
fn decode(message: &[u8], nodes: &mut Nodes) {
    let mut at = 4;
    let mut bytes = |count: usize| {
        let taken = &message[at..at + count];
        at += count;
        taken
    };
    let guid = |gid: &[u8]| {
        assert_eq!(gid[16..], [0; 8], "filled up with zeros");
        Guid::try_from(&gid[..16]).unwrap()
    };
    let number = |word: &[u8]| u32::from_le_bytes(word.try_into().unwrap()) as usize;
    let participant = guid(bytes(24));
    for _ in 0..number(bytes(4)) {
        let mut text = || {
            let length = number(bytes(4));
            let padded = bytes(length.next_multiple_of(4));
            assert_eq!(padded[length - 1], 0);
            String::from_utf8(padded[..length - 1].to_vec()).unwrap()
        };
        let name = (text(), text());
        let mut guids = || {
            let count = number(bytes(4));
            (0..count).map(|_| guid(bytes(24))).collect::<Vec<_>>()
        };
        let (readers, writers) = (guids(), guids());
        nodes.insert(name, (participant, Node { readers, writers }));
    }
    assert_eq!(at, message.len(), "nothing is left over");
}

#[test]
fn participants_say_which_endpoints_are_whose() {
    let mut plan = hello(127);
    for process in &mut plan.processes {
        process.profile = ProfilePlan::Humble;
    }
    plan.processes[1].component_container = true;
    let mut service = Service::start(&plan);
    service.until(1, |said| matches!(said, Announcement::Launched { .. }));
    // Later than all that was written: durability brings it.
    let onlooker = Onlooker::new(127);
    let nodes = onlooker.nodes(5);
    let names: Vec<String> = nodes
        .keys()
        .map(|(ns, name)| format!("{ns} {name}"))
        .collect();
    let expected = [
        "/ control",
        "/ filter",
        "/ launch_ros_hello",
        "/ sensor",
        "/hello driving",
    ];
    assert_eq!(names, expected);
    let endpoints = onlooker.endpoints();
    let topics = |gids: &[Guid], participant: &Guid| -> BTreeSet<&str> {
        gids.iter()
            .map(|gid| {
                let endpoint = &endpoints[gid];
                assert_eq!(&endpoint.participant, participant);
                endpoint.topic.as_str()
            })
            .collect()
    };
    let of = |namespace: &str, name: &str| {
        let (participant, node) = &nodes[&(namespace.to_owned(), name.to_owned())];
        let readers = topics(&node.readers, participant);
        (participant, readers, topics(&node.writers, participant))
    };
    let (sensing, readers, writers) = of("/", "sensor");
    assert_eq!((readers.len(), writers.len()), (7, 9));
    for topic in ["rt/points", "rt/rosout", "rt/parameter_events"] {
        assert!(writers.contains(topic), "{writers:?}");
    }
    assert!(readers.contains("rq/sensor/list_parametersRequest"));
    let (driving, readers, writers) = of("/", "filter");
    assert!(readers.contains("rt/points") && writers.contains("rt/filtered"));
    assert!(
        !readers.contains("rt/filtered"),
        "that is control's: {readers:?}"
    );
    let (container, readers, writers) = of("/hello", "driving");
    assert_eq!(container, driving);
    assert_ne!(container, sensing);
    // Three services, /parameter_events and /rosout.
    assert_eq!((readers.len(), writers.len()), (4, 4));
    // Its client of the container's service, beside what every node has.
    let (_, readers, writers) = of("/", "launch_ros_hello");
    let load = "rq/hello/driving/_container/load_nodeRequest";
    assert!(writers.contains(load), "{writers:?}");
    assert_eq!((readers.len(), writers.len()), (7, 9));
    drop(onlooker);
    service.tell(&stowplan_wire::announce::Control::Stop);
    assert!(service.wait().success());
}
