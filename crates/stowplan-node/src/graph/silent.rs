//! Endpoints of a node that exist and carry nothing: discovery, memory and waiting know them.

use std::sync::Arc;

use stowplan_ctf::events::ros2::RclcppCallbackRegister;
use stowplan_ctf::schema::Handle;
use stowplan_wire::service::{NodePlan, SilentSubscriptionPlan};

use super::discovery::NodeEntities;
use super::implicit::{Host, implicit_type};
use super::load::topic;
use super::subscription::SubscriptionHandles;
use super::{Publisher, new_handle};
use crate::dds::{Hooks, Reader};
use crate::error::NodeError;
use crate::executor::schedule::Class;
use crate::record;

impl Host<'_> {
    /// Creates the silent endpoints of a node.
    ///
    /// # Errors
    /// When CycloneDDS refuses one, or the plan contradicts itself.
    pub(super) fn silent(
        self,
        plan: &NodePlan,
        entities: &mut NodeEntities,
    ) -> Result<(), NodeError> {
        let process = self.process;
        for publisher in &plan.silent.publishers {
            let topic = topic(process, plan, publisher.topic)?;
            let publisher = Arc::new(Publisher::new(process, self.node, publisher, topic)?);
            entities.writer(publisher.gid());
            process.keep_publisher(&publisher);
        }
        for subscription in &plan.silent.subscriptions {
            self.silent_subscription(plan, subscription, entities)?;
        }
        for name in &plan.silent.services {
            self.named_service(name, entities)?;
        }
        for name in &plan.silent.clients {
            self.named_client(name, entities)?;
        }
        Ok(())
    }

    fn silent_subscription(
        self,
        plan: &NodePlan,
        subscription: &SilentSubscriptionPlan,
        entities: &mut NodeEntities,
    ) -> Result<(), NodeError> {
        let process = self.process;
        let topic = topic(process, plan, subscription.topic)?;
        let handles = SubscriptionHandles::new();
        let expected = subscription.expected_publishers;
        let participant = &process.participant;
        // One more beside those that every node has is of their type.
        let dds_topic = match implicit_type(&topic.name) {
            Some(kind) => participant.topic(&format!("rt{}", topic.name), kind)?,
            None => process.payload_topic(topic)?,
        };
        let reader = Reader::new(
            participant,
            dds_topic,
            &super::process::qos_of(topic, topic.intra_process)?,
            Some(Hooks::leak(process.matching, handles.rmw, expected)),
            None,
        )?;
        entities.reader(reader.gid());
        let callback = new_handle();
        handles.record(
            self.node,
            &topic.name,
            topic.depth,
            reader.gid(),
            callback,
            None,
        );
        record::event(&RclcppCallbackRegister {
            callback: Handle(callback),
            symbol: &format!("{}::drop", plan.name),
        });
        self.idle(Class::Subscription, handles.rcl, reader)?;
        Ok(())
    }
}
