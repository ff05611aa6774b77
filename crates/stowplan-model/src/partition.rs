//! Partitions: the assignment of every node of a stack to a service.

use crate::names::Name;

/// One service of a partition and the nodes in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAssignment {
    /// Name of the service.
    pub service: Name,
    /// Names of its nodes, in the order of the stack.
    pub nodes: Vec<Name>,
}

/// The assignment of every node to a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Preset or file name, as given by the user.
    pub name: String,
    /// The services in starting order.
    pub services: Vec<ServiceAssignment>,
    /// What the user should know about this partition, for example how it counts.
    pub notes: Vec<String>,
}

impl Partition {
    /// The service that `node` is assigned to.
    #[must_use]
    pub fn service_of(&self, node: &Name) -> Option<&Name> {
        self.services
            .iter()
            .find(|s| s.nodes.contains(node))
            .map(|s| &s.service)
    }
}
