//! Actions, by the services and topics that each is made of.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::NodeId;
use crate::overview::Overview;
use crate::summary::TopicSummary;

/// An action of which the trace has a service, a client or a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSummary {
    /// Its name.
    pub name: String,
    /// Nodes with a server of it.
    pub servers: BTreeSet<NodeId>,
    /// Nodes with a client of it.
    pub clients: BTreeSet<NodeId>,
    /// Calls by service: `send_goal`, `get_result`, `cancel_goal`.
    pub calls: BTreeMap<String, u64>,
    /// Its feedback, where the trace names the topic.
    pub feedback: Option<TopicSummary>,
    /// Status of its goals, likewise.
    pub status: Option<TopicSummary>,
}

/// The action that a service or topic is part of, and which part it is.
#[must_use]
pub fn action_of(name: &str) -> Option<(&str, &str)> {
    name.split_once("/_action/")
}

impl Overview {
    /// Actions by name.
    #[must_use]
    pub fn actions(&self) -> Vec<ActionSummary> {
        let mut actions = BTreeMap::new();
        for (_, service) in self.graph.services.iter() {
            if let Some((action, _)) = part(&mut actions, &service.name) {
                action.servers.insert(service.node);
            }
        }
        for client in &self.graph.clients {
            if let Some((action, _)) = part(&mut actions, &client.name) {
                action.clients.insert(client.node);
            }
        }
        for calls in &self.services {
            let name = calls.name.as_deref().unwrap_or_default();
            if let Some((action, part)) = part(&mut actions, name) {
                *action.calls.entry(part.to_owned()).or_default() += calls.calls;
            }
        }
        for topic in self.topic_summaries() {
            match part(&mut actions, &topic.name) {
                Some((action, "feedback")) => action.feedback = Some(topic),
                Some((action, "status")) => action.status = Some(topic),
                _ => {}
            }
        }
        actions.into_values().collect()
    }
}

/// The action of a name, made if it is new, and which part of it the name is.
fn part<'a, 'n>(
    actions: &'a mut BTreeMap<String, ActionSummary>,
    name: &'n str,
) -> Option<(&'a mut ActionSummary, &'n str)> {
    let (action, part) = action_of(name)?;
    let summary = || ActionSummary {
        name: action.to_owned(),
        servers: BTreeSet::new(),
        clients: BTreeSet::new(),
        calls: BTreeMap::new(),
        feedback: None,
        status: None,
    };
    let entry = actions.entry(action.to_owned());
    Some((entry.or_insert_with(summary), part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Body;
    use crate::scripted::Script;

    #[test]
    fn services_and_topics_of_an_action_are_one() {
        let mut script = Script::new();
        let [server, client] = [1, 2].map(|vpid| script.process(vpid));
        let at_server = script.node(server, "server");
        let at_client = script.node(client, "client");
        let gid = &[7; 16];
        let names = [
            "/move/_action/send_goal",
            "/move/_action/get_result",
            "/move/_action/cancel_goal",
        ];
        for (rmw, name) in (1..).zip(names) {
            let service = Body::ServiceInit {
                service: 0x100 * rmw,
                node: at_server.address,
                rmw_service: Some(rmw),
                name,
            };
            script.add(-1, server, service);
            let rmw_client = rmw;
            script.add(-2, client, Body::RmwClientInit { rmw_client, gid });
            let body = Body::ClientInit {
                node: at_client.address,
                rmw_client: Some(rmw),
                name,
            };
            script.add(-1, client, body);
        }
        let feedback = script.publisher(at_server, "/move/_action/feedback");
        let sub = script.subscription(at_client, "/move/_action/feedback", "client::on");
        script.publisher(at_server, "/rosout");
        let rmw_client = 1;
        for sequence in 1..=2 {
            let body = Body::SendRequest {
                rmw_client,
                sequence,
            };
            script.add(sequence, client, body);
        }
        script.publish(100, server, feedback, Some(5));
        script.publish(200, server, feedback, Some(6));
        script.receive(300, 310, client, sub, 6);
        let overview = script.overview();
        let [action] = &overview.actions()[..] else {
            panic!("{:?}", overview.actions())
        };
        assert_eq!(action.name, "/move");
        let node = |id: &NodeId| overview.graph.nodes[*id].full_name();
        let servers: Vec<String> = action.servers.iter().map(node).collect();
        let clients: Vec<String> = action.clients.iter().map(node).collect();
        assert_eq!(
            (servers, clients),
            (vec!["/server".to_owned()], vec!["/client".to_owned()])
        );
        assert_eq!(action.calls, BTreeMap::from([("send_goal".to_owned(), 2)]));
        let feedback = action.feedback.as_ref().unwrap();
        let counts = (feedback.publications, feedback.takes, feedback.linked);
        assert_eq!(counts, (2, 1, 1));
        assert_eq!(action.status, None);
    }
}
