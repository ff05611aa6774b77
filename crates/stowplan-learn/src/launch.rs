//! What `ros2 launch` costs, from when nodes appeared (docs/measuring.md §1, launch).

use serde::Serialize;

use crate::draft::{DraftLaunch, Figure};

/// When the parts of a launch began and ended, in nanoseconds of the trace's clock.
///
/// evaluate = launch begins → first other node; spawn = first other node → last process;
/// load = last process → last node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LaunchTimes {
    /// The node of `ros2 launch` itself appears: the interpreter runs.
    pub begin_ns: i64,
    /// The first other node is created.
    pub first_node_ns: i64,
    /// The last process that is launched appears.
    pub last_process_ns: i64,
    /// The last node is created.
    pub last_node_ns: i64,
    /// Processes launched.
    pub processes: u64,
    /// Nodes loaded into component containers, without the containers' own.
    pub components: u64,
}

impl LaunchTimes {
    /// From the begin to the last node, in nanoseconds.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        self.last_node_ns - self.begin_ns
    }

    /// Until the first other node, in nanoseconds.
    #[must_use]
    pub fn evaluate_ns(&self) -> i64 {
        self.first_node_ns - self.begin_ns
    }

    /// While processes appear, in nanoseconds.
    #[must_use]
    pub fn spawn_ns(&self) -> i64 {
        (self.last_process_ns - self.first_node_ns).max(0)
    }

    /// While only nodes appear, in nanoseconds.
    #[must_use]
    pub fn load_ns(&self) -> i64 {
        self.total_ns() - self.evaluate_ns() - self.spawn_ns()
    }

    /// Evaluate, spawn and load, in nanoseconds.
    #[must_use]
    pub fn parts_ns(&self) -> [i64; 3] {
        [self.evaluate_ns(), self.spawn_ns(), self.load_ns()]
    }

    /// The same where evaluate, spawn and load take so many nanoseconds.
    pub(crate) fn with_parts_ns(&self, [evaluate, spawn, load]: [i64; 3]) -> Self {
        let first_node_ns = self.begin_ns + evaluate;
        let last_process_ns = first_node_ns + spawn;
        Self {
            first_node_ns,
            last_process_ns,
            last_node_ns: last_process_ns + load,
            ..*self
        }
    }

    /// Shares of evaluate, spawn and load, which sum to 1; `None` for a launch without duration.
    #[must_use]
    pub fn shares(&self) -> Option<[f64; 3]> {
        let total = self.total_ns();
        (total > 0).then(|| self.parts_ns().map(|part| part as f64 / total as f64))
    }

    /// The same where everything takes `factor` times as long.
    pub(crate) fn slower(&self, factor: f64) -> Self {
        let longer = self
            .parts_ns()
            .map(|ns| (ns as f64 * factor).round() as i64);
        self.with_parts_ns(longer)
    }

    /// Serial time for each process and component, in nanoseconds: as processes appear, unless loading
    /// components at that pace would take longer than it did.
    #[must_use]
    pub fn entity_ns(&self) -> f64 {
        let others = self.processes.saturating_sub(1).max(1) as f64;
        let spawning = self.spawn_ns() as f64 / others;
        if spawning * self.components as f64 <= self.load_ns() as f64 {
            spawning
        } else {
            (self.spawn_ns() + self.load_ns()) as f64 / (others + self.components as f64)
        }
    }

    /// CPU time of a component's constructor in nanoseconds, such that loading all of them on `cpus` CPUs
    /// beside the launcher takes what it took; 0 without components.
    #[must_use]
    pub fn component_ns(&self, cpus: u32) -> f64 {
        if self.components == 0 {
            return 0.0;
        }
        let each = self.load_ns() as f64 * f64::from(cpus.max(1)) / self.components as f64;
        (each - self.entity_ns()).max(0.0)
    }

    /// The cost in iterations of `ns_per_iteration` each.
    pub(crate) fn draft(&self, ns_per_iteration: f64) -> DraftLaunch {
        let iterations = |ns: f64| (ns.max(0.0) / ns_per_iteration) as u64;
        let (evaluate, entity) = (self.evaluate_ns() as f64, self.entity_ns());
        DraftLaunch {
            start: Figure::assumed(
                iterations(evaluate - entity),
                iterations(evaluate / 4.0),
                iterations(evaluate * 2.0),
                format!(
                    "{:.1} s between launch's own node and the first other one, as if all were CPU time of one core",
                    evaluate / 1e9
                ),
            ),
            entity: Figure::assumed(
                iterations(entity),
                iterations(entity / 4.0),
                iterations(entity * 2.0),
                format!(
                    "{} processes within {:.1} s, {} components within {:.1} s after them",
                    self.processes,
                    self.spawn_ns() as f64 / 1e9,
                    self.components,
                    self.load_ns() as f64 / 1e9
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn times(components: u64) -> LaunchTimes {
        LaunchTimes {
            begin_ns: SECOND,
            first_node_ns: 11 * SECOND,
            last_process_ns: 15 * SECOND,
            last_node_ns: 21 * SECOND,
            processes: 41,
            components,
        }
    }

    #[test]
    fn shares_sum_to_one() {
        assert_eq!(times(10).shares(), Some([0.5, 0.2, 0.3]));
        let none = LaunchTimes {
            last_node_ns: SECOND,
            ..times(0)
        };
        assert_eq!(none.shares(), None);
    }

    #[test]
    fn processes_set_the_pace_unless_components_were_faster() {
        assert_eq!(times(10).entity_ns(), 0.1e9);
        assert_eq!(times(60).entity_ns(), 0.1e9);
        assert_eq!(times(160).entity_ns(), 10e9 / 200.0);
    }

    #[test]
    fn constructors_fill_what_the_launcher_leaves() {
        assert_eq!(times(30).component_ns(1), 0.1e9);
        assert_eq!(times(30).component_ns(2), 0.3e9);
        assert_eq!(times(0).component_ns(2), 0.0);
        assert_eq!(times(160).component_ns(1), 0.0);
    }
}
