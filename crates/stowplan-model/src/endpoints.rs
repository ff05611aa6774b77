//! How many endpoints nodes have, with those that rclcpp gives them unasked.

use std::ops::AddAssign;

use crate::stack::{Node, Process, Profile, Stack, Trigger};

/// Parameter services of a node (rclcpp `parameter_service.cpp`).
const PARAMETER_SERVICES: u64 = 6;
/// Services of a component container (`composition_interfaces`): load, unload, list.
const CONTAINER_SERVICES: u64 = 3;

/// Numbers of endpoints by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Endpoints {
    /// Publishers.
    pub publishers: u64,
    /// Subscriptions.
    pub subscriptions: u64,
    /// Service servers.
    pub services: u64,
    /// Service clients.
    pub clients: u64,
    /// Timers.
    pub timers: u64,
}

impl AddAssign for Endpoints {
    fn add_assign(&mut self, other: Self) {
        self.publishers += other.publishers;
        self.subscriptions += other.subscriptions;
        self.services += other.services;
        self.clients += other.clients;
        self.timers += other.timers;
    }
}

impl Endpoints {
    /// Of a node in its process.
    #[must_use]
    pub fn of_node(node: &Node, process: &Process, use_sim_time: bool) -> Self {
        let timers = node.callbacks.iter();
        let timers = timers.filter(|c| matches!(c.trigger, Trigger::Timer { .. }));
        let mut all = Self {
            publishers: node.publishers().len() as u64,
            subscriptions: node.subscriptions().count() as u64,
            services: node.silent.services.len() as u64,
            clients: node.silent.clients.len() as u64,
            timers: timers.count() as u64,
        };
        if process.profile == Profile::Minimal {
            return all;
        }
        let options = &node.options;
        all.publishers += u64::from(options.rosout) + u64::from(options.parameter_event_publisher);
        all.subscriptions +=
            u64::from(options.parameter_event_subscription) + u64::from(use_sim_time);
        if options.parameter_services {
            all.services += PARAMETER_SERVICES;
        }
        if process.profile == Profile::Jazzy && options.type_description_service {
            all.services += 1;
        }
        if process.is_own_node(node) {
            all.services += CONTAINER_SERVICES;
        }
        all
    }

    /// Of all modelled nodes of a stack; launchers, and containers whose own node the stack does not have, come on top.
    #[must_use]
    pub fn of_stack(stack: &Stack) -> Self {
        let mut all = Self::default();
        for node in &stack.nodes {
            if let Some(process) = stack.process(node.process.as_str()) {
                all += Self::of_node(node, process, stack.use_sim_time);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Name;
    use crate::stack::{Executor, NodeOptions, NodeStartUp, SilentEndpoints};

    fn count(node: &str, options: NodeOptions, profile: Profile) -> [u64; 5] {
        let name = |text: &str| Name::new(text).expect("a name");
        let process = Process {
            name: name("box"),
            executor: Executor::Single,
            profile,
            component_container: true,
        };
        let node = Node {
            name: name(node),
            module: name("m"),
            function: None,
            attributed: true,
            process: name("box"),
            options,
            callbacks: Vec::new(),
            silent: SilentEndpoints {
                publishers: vec!["/x".to_owned(), "/x".to_owned()],
                clients: vec!["/y".to_owned()],
                ..SilentEndpoints::default()
            },
            reentrant_groups: Vec::new(),
            start_up: NodeStartUp::default(),
            depends_on: Vec::new(),
            background: None,
        };
        let of = Endpoints::of_node(&node, &process, true);
        [
            of.publishers,
            of.subscriptions,
            of.services,
            of.clients,
            of.timers,
        ]
    }

    /// Numbers as `autoware-carla` (Galactic) has them for nodes of each kind.
    #[test]
    fn nodes_have_what_rclcpp_gives_them() {
        let galactic = |node, options| count(node, options, Profile::Galactic);
        assert_eq!(galactic("a", NodeOptions::default()), [4, 2, 6, 1, 0]);
        let container = NodeOptions::of_container();
        assert_eq!(galactic("box", container), [3, 2, 3, 1, 0]);
        assert_eq!(galactic("listener", container), [3, 2, 0, 1, 0]);
        assert_eq!(
            count("a", NodeOptions::default(), Profile::Jazzy),
            [4, 2, 7, 1, 0]
        );
        assert_eq!(
            count("a", NodeOptions::default(), Profile::Minimal),
            [2, 0, 0, 1, 0]
        );
    }
}
