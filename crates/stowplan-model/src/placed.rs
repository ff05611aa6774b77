//! Processes of a stack as a partition places them, and the modules that they belong to.

use std::collections::HashMap;

use crate::{Name, Node, Partition, Process, Stack};

/// A process of the stack in one service; where a partition cuts a process, there is one in each of the services.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedProcess<'a> {
    /// Service.
    pub service: &'a Name,
    /// The process in the stack.
    pub process: &'a Process,
    /// Its nodes in this service, in the order of the stack.
    pub nodes: Vec<&'a Node>,
}

impl<'a> PlacedProcess<'a> {
    /// Modules of its nodes, each once, in the order in which they are named. A node that no source attributes to its
    /// module counts only where none of the process is attributed: elsewhere it stays with its process, as in partitions.
    #[must_use]
    pub fn modules(&self) -> Vec<&'a Name> {
        let attributed = self.nodes.iter().any(|node| node.attributed);
        let counts = self.nodes.iter().filter(|n| n.attributed == attributed);
        let mut modules: Vec<&Name> = Vec::new();
        for node in counts {
            if !modules.contains(&&node.module) {
                modules.push(&node.module);
            }
        }
        modules
    }
}

impl Stack {
    /// The processes of every service of a partition, services in starting order, processes in that of the stack.
    #[must_use]
    pub fn placed<'a>(&'a self, partition: &'a Partition) -> Vec<PlacedProcess<'a>> {
        let service_of: HashMap<&Name, &Name> = partition
            .services
            .iter()
            .flat_map(|s| s.nodes.iter().map(|node| (node, &s.service)))
            .collect();
        let mut nodes: HashMap<(&Name, &Name), Vec<&Node>> = HashMap::new();
        for node in &self.nodes {
            if let Some(service) = service_of.get(&node.name) {
                let at = (*service, &node.process);
                nodes.entry(at).or_default().push(node);
            }
        }
        let services = partition.services.iter().map(|s| &s.service);
        let all = services.flat_map(|service| {
            let processes = self.processes.iter();
            processes.map(move |process| (service, process))
        });
        let placed = all.filter_map(|(service, process)| {
            Some(PlacedProcess {
                service,
                process,
                nodes: nodes.remove(&(service, &process.name))?,
            })
        });
        placed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Executor, ExecutorCost, Launch, NodeOptions, NodeStartUp, Profile, ServiceAssignment,
        SilentEndpoints,
    };

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    /// Name, module, process, and whether a source attributes it to its module.
    fn stack(nodes: &[(&str, &str, &str, bool)]) -> Stack {
        let node = |&(node, module, process, attributed): &(&str, &str, &str, bool)| Node {
            name: name(node),
            module: name(module),
            function: None,
            attributed,
            process: name(process),
            options: NodeOptions::default(),
            callbacks: Vec::new(),
            silent: SilentEndpoints::default(),
            reentrant_groups: Vec::new(),
            start_up: NodeStartUp::default(),
            depends_on: Vec::new(),
            background: None,
        };
        let process = |text: &str| Process {
            name: name(text),
            executor: Executor::Single,
            profile: Profile::Minimal,
            component_container: false,
        };
        Stack {
            name: name("s"),
            description: String::new(),
            use_sim_time: false,
            ns_per_iteration: None,
            launch: Launch {
                start_iterations: 0,
                entity_iterations: 0,
                read_bytes: 0,
                memory_bytes: 0,
            },
            executor_cost: ExecutorCost::default(),
            topics: Vec::new(),
            processes: vec![process("p"), process("q")],
            nodes: nodes.iter().map(node).collect(),
            chains: Vec::new(),
            services: Vec::new(),
        }
    }

    fn partition(services: &[(&str, &[&str])]) -> Partition {
        let assignment = |&(service, nodes): &(&str, &[&str])| ServiceAssignment {
            service: name(service),
            nodes: nodes.iter().map(|node| name(node)).collect(),
        };
        Partition {
            name: "t".to_owned(),
            services: services.iter().map(assignment).collect(),
            notes: Vec::new(),
        }
    }

    /// Service, process and modules of each.
    fn placed(stack: &Stack, services: &[(&str, &[&str])]) -> Vec<String> {
        let partition = partition(services);
        let placed = stack.placed(&partition).into_iter().map(|placed| {
            let modules: Vec<&str> = placed.modules().into_iter().map(Name::as_str).collect();
            let process = &placed.process.name;
            format!("{}/{process}: {}", placed.service, modules.join(" + "))
        });
        placed.collect()
    }

    #[test]
    fn a_process_that_a_partition_cuts_belongs_to_the_modules_of_each_part() {
        let stack = stack(&[
            ("a", "sensing", "q", true),
            ("b", "planning", "p", true),
            ("c", "sensing", "p", true),
            ("d", "planning", "p", true),
        ]);
        let together = placed(&stack, &[("all", &["a", "b", "c", "d"])]);
        assert_eq!(together, ["all/p: planning + sensing", "all/q: sensing"]);
        let apart = placed(&stack, &[("one", &["a", "c"]), ("two", &["b", "d"])]);
        assert_eq!(
            apart,
            ["one/p: sensing", "one/q: sensing", "two/p: planning"]
        );
        assert_eq!(placed(&stack, &[("two", &["b"])]), ["two/p: planning"]);
    }

    #[test]
    fn a_node_that_no_source_attributes_goes_with_its_process() {
        let stack = stack(&[
            ("a", "rest", "p", false),
            ("b", "planning", "p", true),
            ("c", "rest", "q", false),
        ]);
        let all = placed(&stack, &[("all", &["a", "b", "c"])]);
        assert_eq!(all, ["all/p: planning", "all/q: rest"]);
    }
}
