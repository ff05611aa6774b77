//! Publishers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stowplan_ctf::events::ros2::{
    RclPublish, RclPublisherInit, RclcppIntraPublish, RclcppPublish, RmwPublish, RmwPublisherInit,
};
use stowplan_ctf::schema::{Gid, Handle};
use stowplan_wire::service::{PublisherPlan, TopicPlan};

use super::intra::{IntraMessage, IntraTopic};
use super::{Process, new_handle};
use crate::dds::{self, DdsError, Hooks, Writer};
use crate::draw::{Purpose, draw, whole};
use crate::payload::{HEAD_BYTES, Head, Origin, sequence_message};
use crate::record;
use crate::vision::Camera;
use crate::work::Serialiser;

/// A publisher of a callback.
#[derive(Debug)]
pub struct Publisher {
    handle: u64,
    rmw_handle: u64,
    id: u32,
    topic: u32,
    seed: u64,
    size: stowplan_wire::service::DistributionPlan,
    filler: Arc<[u8]>,
    /// What draws its images; `None` where its messages are filler.
    camera: Option<Mutex<Camera>>,
    /// `None` where the stack gives serialising no cost.
    serialiser: Option<Serialiser>,
    writer: Writer,
    /// Messages are their numbers, for a real program.
    counts: bool,
    intra: Option<Arc<IntraTopic>>,
    sequence: AtomicU64,
    refused: AtomicU64,
}

/// What a message has behind its head.
#[derive(Debug, Clone, Copy)]
struct Content<'a> {
    /// Bytes that count.
    size: usize,
    /// These, in whole words.
    words: &'a [u8],
}

/// Records what rmw and rcl record of a new publisher and returns its two handles.
pub(super) fn record_publisher(node: u64, topic: &str, depth: u32, gid: [u8; 24]) -> (u64, u64) {
    let (handle, rmw_handle) = (new_handle(), new_handle());
    record::event(&RmwPublisherInit {
        rmw_publisher_handle: Handle(rmw_handle),
        gid: Gid(gid),
    });
    record::event(&RclPublisherInit {
        publisher_handle: Handle(handle),
        node_handle: Handle(node),
        rmw_publisher_handle: Handle(rmw_handle),
        topic_name: topic,
        queue_depth: u64::from(depth),
    });
    (handle, rmw_handle)
}

impl Publisher {
    /// Creates the publisher of a callback in a node.
    ///
    /// # Errors
    /// When CycloneDDS refuses its writer.
    pub fn new(
        process: &Process,
        node: u64,
        plan: &PublisherPlan,
        topic: &TopicPlan,
    ) -> Result<Self, DdsError> {
        let hooks = Hooks::leak(process.matching, 0, plan.expected_subscriptions);
        let dds_topic = process.payload_topic(topic)?;
        let qos = super::process::qos_of(topic, false)?;
        let writer = Writer::new(&process.participant, dds_topic, &qos, Some(hooks))?;
        let (handle, rmw_handle) = record_publisher(node, &topic.name, topic.depth, writer.gid());
        Ok(Self {
            handle,
            rmw_handle,
            id: plan.id,
            topic: plan.topic,
            seed: process.plan.seed,
            size: topic.bytes,
            filler: Arc::clone(&process.filler),
            camera: topic
                .frames
                .map(|frames| Mutex::new(Camera::new(frames, plan.id))),
            serialiser: topic.serialisation.map(Serialiser::new),
            writer,
            counts: topic.dds.is_some(),
            intra: topic.intra_process.then(|| process.intra_topic(plan.topic)),
            sequence: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// Its number in the stack.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether it publishes on the topic with this number in the plan.
    pub(super) fn is_on(&self, topic: u32) -> bool {
        self.topic == topic
    }

    /// The global identifier of its writer.
    pub(super) fn gid(&self) -> [u8; 24] {
        self.writer.gid()
    }

    /// Messages published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// Messages that DDS refused to send.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Acquire)
    }

    /// Publishes a message of this origin from call number `call` of its callback, with so many bytes or as many as are drawn.
    ///
    /// One reading of the clock stamps the message and the event that begins its publication, so that what
    /// the message says of itself can be compared with the trace exactly. A second one is taken when the
    /// message is ready for DDS: between the two lies the part `send`.
    pub fn publish(&self, origin: Origin, call: u64, bytes: Option<u64>) {
        let sequence = self.sequence.fetch_add(1, Ordering::AcqRel);
        // Drawn before its publication begins, as a driver fills its message.
        let camera = self.camera.as_ref();
        let mut camera = camera.map(|it| it.lock().unwrap_or_else(PoisonError::into_inner));
        let image = camera.as_mut().map(|camera| camera.image(sequence));
        let size = image.map_or_else(|| self.size(call, bytes), <[u8]>::len);
        let head = Head {
            stamp_ns: record::now(),
            origin,
            sequence,
            publisher: self.id,
        };
        if let Some(intra) = &self.intra {
            if intra.has_subscriptions() {
                let image = image.map(Box::from);
                self.publish_intra(intra, IntraMessage { head, image });
            }
            // rclcpp sends over DDS too only if somebody outside the process listens.
            if self.writer.matched() == 0 {
                return;
            }
        }
        let content = Content {
            size,
            words: image.unwrap_or_else(|| &self.filler[..Head::padded(size)]),
        };
        self.publish_dds(&head, content);
    }

    /// Bytes of a message: as many as are given, or as are drawn; not more than there are.
    fn size(&self, call: u64, given: Option<u64>) -> usize {
        let drawn = || whole(draw(self.seed, Purpose::Size, self.id, call, &self.size));
        let size = usize::try_from(given.unwrap_or_else(drawn)).unwrap_or(usize::MAX);
        size.min(self.filler.len())
    }

    fn publish_intra(&self, intra: &IntraTopic, message: IntraMessage) {
        let message = Arc::new(message);
        record::event_at(
            message.head.stamp_ns,
            &RclcppIntraPublish {
                publisher_handle: Handle(self.handle),
                message: Handle(Arc::as_ptr(&message).addr() as u64),
            },
        );
        intra.deliver(&message);
    }

    /// Serialises the message and hands it to DDS.
    fn publish_dds(&self, head: &Head, content: Content<'_>) {
        let size = content.size;
        let (bytes, number): ([u8; HEAD_BYTES], [u8; 8]);
        let parts: [&[u8]; 2] = if self.counts {
            number = sequence_message(head.sequence);
            [&number, &[]]
        } else {
            bytes = head.encode(size as u32);
            [&bytes, content.words]
        };
        let message = Handle(parts[0].as_ptr().addr() as u64);
        // `rcl_publish` only passes the message on: it needs no reading of its own.
        record::event_at(head.stamp_ns, &RclcppPublish { message });
        record::event_at(
            head.stamp_ns,
            &RclPublish {
                publisher_handle: Handle(self.handle),
                message,
            },
        );
        if let Some(serialiser) = &self.serialiser {
            serialiser.run(size);
        }
        // The event has the time at which DDS gets the message; what recording costs is transport's.
        let timestamp = dds::time();
        record::event(&RmwPublish {
            rmw_publisher_handle: Handle(self.rmw_handle),
            message,
            timestamp,
        });
        if self.writer.write(parts, timestamp).is_err() {
            self.refused.fetch_add(1, Ordering::AcqRel);
        }
    }
}
