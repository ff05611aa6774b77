//! From a preset or a table to the assignment of every node.

use std::collections::{HashMap, HashSet};

use stowplan_model::{Name, Node, Partition, ServiceAssignment, Stack};

use crate::error::PlanError;
use crate::nearest::hint;
use crate::table::{Choice, Preset, Table};

/// Services in order of their first mention, and the service of each node.
struct Assignment {
    services: Vec<Name>,
    index: HashMap<Name, usize>,
    of_node: Vec<Option<usize>>,
}

impl Assignment {
    fn new(stack: &Stack) -> Self {
        Self {
            services: Vec::new(),
            index: HashMap::new(),
            of_node: vec![None; stack.nodes.len()],
        }
    }

    fn service(&mut self, name: &Name) -> usize {
        if let Some(found) = self.index.get(name) {
            return *found;
        }
        self.services.push(name.clone());
        self.index.insert(name.clone(), self.services.len() - 1);
        self.services.len() - 1
    }

    /// The partition; services that got no node are left out.
    ///
    /// # Errors
    /// When a service of the partition has the name of a node that is a service of its own.
    fn finish(
        mut self,
        stack: &Stack,
        name: &str,
        mut notes: Vec<String>,
    ) -> Result<Partition, PlanError> {
        self.apart(stack, name)?;
        let mut services: Vec<ServiceAssignment> = self
            .services
            .into_iter()
            .map(|service| ServiceAssignment {
                service,
                nodes: Vec::new(),
            })
            .collect();
        for (node, service) in stack.nodes.iter().zip(&self.of_node) {
            if let Some(service) = service {
                services[*service].nodes.push(node.name.clone());
            }
        }
        for empty in services.iter().filter(|s| s.nodes.is_empty()) {
            notes.push(format!(
                "service '{}' has no node of this stack and is left out",
                empty.service
            ));
        }
        services.retain(|s| !s.nodes.is_empty());
        Ok(Partition {
            name: name.to_owned(),
            services,
            notes,
        })
    }

    /// Gives each node that is a service of its own that service, which no other node is in.
    fn apart(&mut self, stack: &Stack, partition: &str) -> Result<(), PlanError> {
        for (position, node) in stack.nodes.iter().enumerate() {
            if !is_apart(node) {
                continue;
            }
            if self.index.contains_key(&node.name) {
                return Err(PlanError::OwnService {
                    partition: partition.to_owned(),
                    service: node.name.to_string(),
                });
            }
            self.of_node[position] = Some(self.service(&node.name));
        }
        Ok(())
    }
}

/// Whether a node is a service of its own, whatever the partition.
fn is_apart(node: &Node) -> bool {
    node.background.is_some_and(|of| of.own_service)
}

/// Assigns every node of `stack` to a service.
///
/// A node that no source attributes to its module (`attributed: false`) stays with the process
/// that it lives in, unless a table names it or its function: in the service of the first
/// attributed node of that process. A note says how many there are.
///
/// # Errors
/// When a table names what the stack does not have, claims something twice or leaves nodes out,
/// or when module and function make no name.
pub fn partition(stack: &Stack, choice: &Choice) -> Result<Partition, PlanError> {
    match choice {
        Choice::Preset(preset) => of_preset(stack, *preset),
        Choice::Table(table) => of_table(stack, table),
    }
}

fn of_preset(stack: &Stack, preset: Preset) -> Result<Partition, PlanError> {
    let error = |source| PlanError::Name {
        partition: preset.name().to_owned(),
        source,
    };
    let mut assignment = Assignment::new(stack);
    let all = Name::new("all").map_err(error)?;
    let mut followers = Vec::new();
    for (position, node) in stack.nodes.iter().enumerate() {
        if is_apart(node) {
            continue;
        }
        let by_module = matches!(preset, Preset::Modules | Preset::Functions);
        if by_module && !node.attributed {
            followers.push(position);
            continue;
        }
        let service = match (preset, &node.function) {
            (Preset::Single, _) => all.clone(),
            (Preset::Nodes, _) => node.name.clone(),
            (Preset::Functions, Some(function)) => {
                Name::new(format!("{}-{function}", node.module)).map_err(error)?
            }
            (Preset::Modules | Preset::Functions, _) => node.module.clone(),
        };
        assignment.of_node[position] = Some(assignment.service(&service));
    }
    let mut notes = Vec::new();
    follow(stack, &mut assignment, &followers, &mut notes);
    for position in followers {
        if assignment.of_node[position].is_none() {
            let service = assignment.service(&stack.nodes[position].module);
            assignment.of_node[position] = Some(service);
        }
    }
    assignment.finish(stack, preset.name(), notes)
}

/// Puts each of `followers` into the service of its process, where another node gives it one.
fn follow(
    stack: &Stack,
    assignment: &mut Assignment,
    followers: &[usize],
    notes: &mut Vec<String>,
) {
    let mut homes: HashMap<&Name, usize> = HashMap::new();
    for (node, service) in stack.nodes.iter().zip(&assignment.of_node) {
        if let Some(service) = service {
            homes.entry(&node.process).or_insert(*service);
        }
    }
    let mut followed = 0;
    for position in followers {
        if let Some(home) = homes.get(&stack.nodes[*position].process) {
            assignment.of_node[*position] = Some(*home);
            followed += 1;
        }
    }
    if followed > 0 {
        notes.push(format!(
            "{followed} nodes that no source attributes to a module stay with the process they live in"
        ));
    }
}

/// What the services of a table claim at one level.
struct Claims<'a> {
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Claims<'a> {
    fn new(
        table: &'a Table,
        what: &'static str,
        names: impl Fn(usize) -> &'a [String],
        known: &HashSet<String>,
    ) -> Result<Self, PlanError> {
        let mut by_name = HashMap::new();
        for position in 0..table.services.len() {
            for name in names(position) {
                if !known.contains(name) {
                    return Err(PlanError::Unknown {
                        table: table.name.clone(),
                        service: table.services[position].service.to_string(),
                        what,
                        name: name.clone(),
                        hint: hint(name, known.iter().map(String::as_str)),
                    });
                }
                if let Some(first) = by_name.insert(name.as_str(), position) {
                    return Err(twice(table, first, position, what, name));
                }
            }
        }
        Ok(Self { by_name })
    }

    fn of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

fn twice(table: &Table, first: usize, second: usize, what: &'static str, name: &str) -> PlanError {
    PlanError::Twice {
        table: table.name.clone(),
        first: table.services[first].service.to_string(),
        second: table.services[second].service.to_string(),
        what,
        name: name.to_owned(),
    }
}

fn function_of(node: &Node) -> Option<String> {
    node.function
        .as_ref()
        .map(|f| format!("{}/{f}", node.module))
}

fn of_table(stack: &Stack, table: &Table) -> Result<Partition, PlanError> {
    let known = |names: Vec<String>| names.into_iter().collect::<HashSet<_>>();
    let services = &table.services;
    let in_services = || stack.nodes.iter().filter(|node| !is_apart(node));
    let nodes = known(in_services().map(|n| n.name.to_string()).collect());
    let functions = known(in_services().filter_map(function_of).collect());
    let modules = known(in_services().map(|n| n.module.to_string()).collect());
    let nodes = Claims::new(table, "node", |i| &services[i].nodes, &nodes)?;
    let functions = Claims::new(table, "function", |i| &services[i].functions, &functions)?;
    let modules = Claims::new(table, "module", |i| &services[i].modules, &modules)?;
    let mut rest = None;
    for position in (0..services.len()).filter(|i| services[*i].rest) {
        if let Some(first) = rest.replace(position) {
            return Err(twice(table, first, position, "rest", "true"));
        }
    }

    let mut assignment = Assignment::new(stack);
    let order: Vec<usize> = services
        .iter()
        .map(|s| assignment.service(&s.service))
        .collect();
    let mut followers = Vec::new();
    for (position, node) in stack.nodes.iter().enumerate() {
        if is_apart(node) {
            continue;
        }
        let by_name = nodes.of(node.name.as_str());
        let by_function = || function_of(node).and_then(|f| functions.of(&f));
        let service = match by_name.or_else(by_function) {
            Some(service) => Some(service),
            None if node.attributed => modules.of(node.module.as_str()),
            None => {
                followers.push(position);
                None
            }
        };
        assignment.of_node[position] = service.map(|s| order[s]);
    }
    let mut notes = table.notes.clone();
    follow(stack, &mut assignment, &followers, &mut notes);
    let mut unassigned = Vec::new();
    for (position, node) in stack.nodes.iter().enumerate() {
        if assignment.of_node[position].is_none() && !is_apart(node) {
            match modules.of(node.module.as_str()).or(rest) {
                Some(service) => assignment.of_node[position] = Some(order[service]),
                None => unassigned.push(node.name.as_str()),
            }
        }
    }
    if let Some(first) = unassigned.first() {
        return Err(PlanError::Unassigned {
            table: table.name.clone(),
            first: (*first).to_owned(),
            others: unassigned.len() - 1,
        });
    }

    for service in services {
        if let Some(note) = &service.note {
            notes.push(format!("{}: {note}", service.service));
        }
    }
    assignment.finish(stack, &table.name, notes)
}
