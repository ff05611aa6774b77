//! In which order a service is launched: the rules without processes.
//!
//! Processes start one after another in the order of the plan; one whose nodes depend on nodes of other
//! processes waits for them, and the next is started meanwhile. Each container is asked for one node
//! after another; containers are asked at the same time. Other processes load their nodes by themselves.

use std::collections::HashSet;

use stowplan_wire::service::{NodePlan, ServicePlan};

/// What the launcher does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Start this process.
    Spawn(usize),
    /// Ask this container for this node.
    Load {
        /// Which process.
        process: usize,
        /// Which of its nodes.
        node: usize,
    },
    /// Wait until something has happened.
    Wait,
    /// Everything is started and loaded.
    Ready,
    /// These nodes wait for each other.
    Stuck(Vec<String>),
}

#[derive(Debug, Clone, Default)]
struct State {
    started: bool,
    up: bool,
    discovered: bool,
    loaded: HashSet<usize>,
    asked: HashSet<usize>,
}

/// How far the launch is.
#[derive(Debug)]
pub struct Progress {
    states: Vec<State>,
    loaded: HashSet<String>,
    names: Vec<Vec<String>>,
}

impl Progress {
    /// Nothing is started.
    pub fn new(plan: &ServicePlan) -> Self {
        let names = plan
            .processes
            .iter()
            .map(|process| process.nodes.iter().map(|node| node.name.clone()).collect());
        Self {
            states: vec![State::default(); plan.processes.len()],
            loaded: HashSet::new(),
            names: names.collect(),
        }
    }

    /// A process exists.
    pub fn up(&mut self, process: usize) {
        self.states[process].up = true;
    }

    /// A container's service is discovered, or need not be.
    pub fn discovered(&mut self, process: usize) {
        self.states[process].discovered = true;
    }

    /// A node is loaded.
    pub fn loaded(&mut self, process: usize, node: usize) {
        if let Some(name) = self.names[process].get(node) {
            self.loaded.insert(name.clone());
            self.states[process].loaded.insert(node);
        }
    }

    /// Whether everything that a node depends on is loaded, other than by its own process.
    fn free(&self, node: &NodePlan, own: &[String]) -> bool {
        node.depends_on
            .iter()
            .all(|other| self.loaded.contains(other) || own.contains(other))
    }

    /// What is to be done next; notes that it will be done.
    pub fn next(&mut self, plan: &ServicePlan) -> Next {
        if let Some(process) = self.next_process(plan) {
            self.states[process].started = true;
            // Nobody asks a container for its own node.
            self.states[process]
                .asked
                .extend(plan.processes[process].own_node());
            return Next::Spawn(process);
        }
        if let Some((process, node)) = self.next_node(plan) {
            self.states[process].asked.insert(node);
            return Next::Load { process, node };
        }
        let open: Vec<String> = plan
            .processes
            .iter()
            .flat_map(|process| &process.nodes)
            .filter(|node| !self.loaded.contains(&node.name))
            .map(|node| node.name.clone())
            .collect();
        if open.is_empty() && self.states.iter().all(|state| state.up) {
            return Next::Ready;
        }
        if self.works(plan) {
            Next::Wait
        } else {
            Next::Stuck(open)
        }
    }

    fn next_process(&self, plan: &ServicePlan) -> Option<usize> {
        let candidates = plan.processes.iter().enumerate();
        candidates
            .filter(|(process, _)| !self.states[*process].started)
            .find(|(process, started)| {
                // A container is started anyway: its nodes are asked for one by one.
                started.component_container
                    || started
                        .nodes
                        .iter()
                        .all(|n| self.free(n, &self.names[*process]))
            })
            .map(|(process, _)| process)
    }

    fn next_node(&self, plan: &ServicePlan) -> Option<(usize, usize)> {
        plan.processes
            .iter()
            .enumerate()
            .find_map(|(process, container)| {
                let state = &self.states[process];
                let idle = state.asked.len() == state.loaded.len();
                if !(container.component_container && state.up && state.discovered && idle) {
                    return None;
                }
                let mut nodes = container.nodes.iter().enumerate();
                nodes
                    .find(|(node, plan)| !state.asked.contains(node) && self.free(plan, &[]))
                    .map(|(node, _)| (process, node))
            })
    }

    /// Whether some process is on its way: coming up, or loading a node.
    fn works(&self, plan: &ServicePlan) -> bool {
        let mut all = plan.processes.iter().zip(&self.states);
        all.any(|(process, state)| {
            let (asked, loaded) = (state.asked.len(), state.loaded.len());
            state.started
                && if process.component_container {
                    !state.up || !state.discovered || asked > loaded
                } else {
                    !state.up || loaded < process.nodes.len()
                }
        })
    }
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::{node_plan, process_plan, service_plan};
    use stowplan_wire::service::ProcessPlan;

    use super::*;

    /// `(process, is a container, [(node, depends on)])`
    type Sketch<'a> = (&'a str, bool, &'a [(&'a str, &'a [&'a str])]);

    fn plan(sketch: &[Sketch<'_>]) -> ServicePlan {
        let node = |&(name, depends_on): &(&str, &[&str])| NodePlan {
            depends_on: depends_on.iter().map(ToString::to_string).collect(),
            ..node_plan(name, vec![])
        };
        let processes = sketch
            .iter()
            .map(|&(name, component_container, nodes)| ProcessPlan {
                component_container,
                ..process_plan(name, nodes.iter().map(node).collect())
            });
        ServicePlan {
            processes: processes.collect(),
            ..service_plan("run", "service")
        }
    }

    #[test]
    fn processes_first_then_components_of_all_containers_at_once() {
        let plan = plan(&[
            ("a", true, &[("a1", &[]), ("a2", &[])]),
            ("b", false, &[("b1", &[])]),
            ("c", true, &[("c1", &[])]),
        ]);
        let mut progress = Progress::new(&plan);
        for process in 0..3 {
            assert_eq!(progress.next(&plan), Next::Spawn(process));
        }
        assert_eq!(progress.next(&plan), Next::Wait);
        progress.up(2);
        assert_eq!(progress.next(&plan), Next::Wait, "not discovered");
        progress.discovered(2);
        progress.up(0);
        progress.discovered(0);
        let load = |process, node| Next::Load { process, node };
        assert_eq!(progress.next(&plan), load(0, 0));
        assert_eq!(progress.next(&plan), load(2, 0));
        assert_eq!(progress.next(&plan), Next::Wait, "one after another");
        progress.loaded(0, 0);
        assert_eq!(progress.next(&plan), load(0, 1));
        progress.loaded(0, 1);
        progress.loaded(2, 0);
        assert_eq!(progress.next(&plan), Next::Wait);
        progress.up(1);
        progress.loaded(1, 0);
        assert_eq!(progress.next(&plan), Next::Ready);
    }

    #[test]
    fn what_depends_waits_and_lets_others_pass() {
        let plan = plan(&[
            ("late", false, &[("l", &["c1"])]),
            ("c", true, &[("c2", &["c1"]), ("c1", &[])]),
        ]);
        let mut progress = Progress::new(&plan);
        assert_eq!(progress.next(&plan), Next::Spawn(1));
        progress.up(1);
        progress.discovered(1);
        assert_eq!(
            progress.next(&plan),
            Next::Load {
                process: 1,
                node: 1
            }
        );
        progress.loaded(1, 1);
        assert_eq!(progress.next(&plan), Next::Spawn(0));
        assert_eq!(
            progress.next(&plan),
            Next::Load {
                process: 1,
                node: 0
            }
        );
    }

    #[test]
    fn nodes_that_wait_for_each_other_are_named() {
        let plan = plan(&[
            ("p", false, &[("x", &["y"])]),
            ("q", false, &[("y", &["x"])]),
        ]);
        let mut progress = Progress::new(&plan);
        let names = vec!["x".to_owned(), "y".to_owned()];
        assert_eq!(progress.next(&plan), Next::Stuck(names));
    }

    #[test]
    fn an_empty_service_is_ready() {
        let plan = plan(&[]);
        assert_eq!(Progress::new(&plan).next(&plan), Next::Ready);
    }

    #[test]
    fn a_container_is_not_asked_for_its_own_node() {
        let plan = plan(&[("box", true, &[("box", &[]), ("a", &[])])]);
        let mut progress = Progress::new(&plan);
        assert_eq!(progress.next(&plan), Next::Spawn(0));
        progress.up(0);
        progress.discovered(0);
        assert_eq!(progress.next(&plan), Next::Wait);
        progress.loaded(0, 0);
        let next = Next::Load {
            process: 0,
            node: 1,
        };
        assert_eq!(progress.next(&plan), next);
        progress.loaded(0, 1);
        assert_eq!(progress.next(&plan), Next::Ready);
    }
}
