//! Processes per service: a process never spans services, one that a partition cuts becomes
//! one per service with the same executor and container type.

use std::collections::HashMap;

use stowplan_model::{Name, Partition, Process, Stack};

use crate::error::PlanError;

/// A process of one service and the nodes of it that are in this service.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessPart {
    /// The process with its executor and container type.
    pub process: Process,
    /// Its nodes in this service, in the order of the stack.
    pub nodes: Vec<Name>,
}

/// The processes of one service.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceSplit {
    /// The service.
    pub service: Name,
    /// Its processes, in the order in which its nodes first name them.
    pub processes: Vec<ProcessPart>,
}

/// Where each node of a stack ended up, by position in the stack.
pub(crate) struct Seats {
    /// Position of the node's service.
    pub service: Vec<usize>,
    /// A number that nodes share exactly when they share service and process.
    pub part: Vec<usize>,
}

/// The processes of every service of `partition`.
///
/// # Errors
/// When the partition names a node that the stack does not have, names one twice or leaves one out,
/// or when a node's process is not declared.
pub fn split(stack: &Stack, partition: &Partition) -> Result<Vec<ServiceSplit>, PlanError> {
    split_with_seats(stack, partition).map(|(splits, _)| splits)
}

pub(crate) fn split_with_seats(
    stack: &Stack,
    partition: &Partition,
) -> Result<(Vec<ServiceSplit>, Seats), PlanError> {
    let mismatch = |why: String| PlanError::Mismatch {
        partition: partition.name.clone(),
        stack: stack.name.to_string(),
        why,
    };
    let positions: HashMap<&Name, usize> = stack
        .nodes
        .iter()
        .enumerate()
        .map(|(i, n)| (&n.name, i))
        .collect();
    let processes: HashMap<&Name, &Process> =
        stack.processes.iter().map(|p| (&p.name, p)).collect();
    let mut service_of: Vec<Option<usize>> = vec![None; stack.nodes.len()];
    let mut part_of = vec![0; stack.nodes.len()];
    let mut parts = 0;
    let mut splits = Vec::with_capacity(partition.services.len());
    for (service, assignment) in partition.services.iter().enumerate() {
        let mut mine: Vec<usize> = Vec::with_capacity(assignment.nodes.len());
        for name in &assignment.nodes {
            let position = *positions
                .get(name)
                .ok_or_else(|| mismatch(format!("the stack has no node '{name}'")))?;
            if service_of[position].replace(service).is_some() {
                return Err(mismatch(format!("node '{name}' is in two services")));
            }
            mine.push(position);
        }
        mine.sort_unstable();
        let mut split = ServiceSplit {
            service: assignment.service.clone(),
            processes: Vec::new(),
        };
        let mut seen: HashMap<&Name, usize> = HashMap::new();
        for position in mine {
            let node = &stack.nodes[position];
            let process = processes.get(&node.process).ok_or_else(|| {
                mismatch(format!(
                    "process '{}' of node '{}' is not declared",
                    node.process, node.name
                ))
            })?;
            let index = *seen.entry(&node.process).or_insert_with(|| {
                split.processes.push(ProcessPart {
                    process: (*process).clone(),
                    nodes: Vec::new(),
                });
                split.processes.len() - 1
            });
            split.processes[index].nodes.push(node.name.clone());
            part_of[position] = parts + index;
        }
        parts += split.processes.len();
        splits.push(split);
    }
    let service = service_of
        .into_iter()
        .zip(&stack.nodes)
        .map(|(service, node)| {
            service.ok_or_else(|| mismatch(format!("node '{}' is in no service", node.name)))
        })
        .collect::<Result<Vec<usize>, PlanError>>()?;
    Ok((
        splits,
        Seats {
            service,
            part: part_of,
        },
    ))
}
