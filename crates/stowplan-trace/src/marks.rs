//! Instants and totals that single events state: start-up, arming, lost samples.

use rustc_hash::FxHashMap;

use crate::callback_cpu::CallbackCpu;
use crate::durations::Budget;
use crate::event::{Body, TraceEvent};
use crate::ids::{CallbackId, NodeId, ProcessId, SubscriptionId};
use crate::registry::Registry;
use crate::scheduling::Scheduled;

/// What the trace says about itself. Times are nanoseconds of the trace's clock.
#[derive(Debug, Default)]
pub struct Marks {
    /// First instruction of a process.
    pub process_start: Vec<(ProcessId, i64)>,
    /// The same instant as the process itself reads CLOCK_MONOTONIC: differs where
    /// the process has a time namespace.
    pub host_monotonic: Vec<(ProcessId, i64)>,
    /// `rcl_init`.
    pub rcl_init: Vec<(ProcessId, i64)>,
    /// `rcl_node_init`.
    pub node_init: Vec<(NodeId, i64)>,
    /// A node begins to load: process, full node name.
    pub load_begin: Vec<(ProcessId, String, i64)>,
    /// A node is loaded: process, full node name, module (may be empty).
    pub loaded: Vec<(ProcessId, String, String, i64)>,
    /// The launcher of a service has started everything.
    pub launch_ready: Vec<(String, i64)>,
    /// Declared endpoints matched: process, number of pairs.
    pub endpoints_matched: Vec<(ProcessId, u32, i64)>,
    /// The window begins: process, common start.
    pub armed: Vec<(ProcessId, i64)>,
    /// The window ends.
    pub disarmed: Vec<(ProcessId, i64)>,
    /// Life-cycle transitions: node, state left, state entered.
    pub transitions: Vec<(NodeId, String, String, i64)>,
    /// CPU time and work of callbacks, where recorded by the program itself or by the kernel's
    /// scheduler; where a window was armed, of the calls that began in it.
    pub callback_cpu: FxHashMap<CallbackId, CallbackCpu>,
    /// What the kernel's scheduler did with the calls of callbacks, where its events are in the trace.
    pub scheduled: FxHashMap<CallbackId, Scheduled>,
    /// What the samples of all `callback_cpu` may take together.
    cpu_budget: Budget,
    /// Samples that DDS reports lost: subscription, total so far.
    pub samples_lost: Vec<(SubscriptionId, u64, i64)>,
    /// Datagrams that a process's sockets have dropped: total so far.
    pub datagrams_dropped: Vec<(ProcessId, u64, i64)>,
}

impl Marks {
    /// Takes what the kernel's scheduler says of calls. What the program itself says of them goes before.
    pub(crate) fn schedule(&mut self, scheduled: FxHashMap<CallbackId, Scheduled>) {
        for (&callback, of) in &scheduled {
            let cpu = self.callback_cpu.entry(callback);
            cpu.or_insert_with(|| of.cpu.clone());
        }
        self.scheduled = scheduled;
    }

    pub(crate) fn rcl_init(&mut self, process: ProcessId, time_ns: i64) {
        self.rcl_init.push((process, time_ns));
    }

    pub(crate) fn node_init(&mut self, node: NodeId, time_ns: i64) {
        self.node_init.push((node, time_ns));
    }

    /// Takes an event; `call_began_ns` is when the callback began that its thread ended last.
    pub(crate) fn observe(
        &mut self,
        registry: &Registry,
        event: &TraceEvent<'_>,
        call_began_ns: Option<i64>,
    ) {
        let (process, time_ns) = (event.process, event.time_ns);
        match event.body {
            Body::ProcessStart { host_monotonic_ns } => {
                self.process_start.push((process, time_ns));
                self.host_monotonic.push((process, host_monotonic_ns));
            }
            Body::NodeLoadBegin { node } => {
                self.load_begin.push((process, node.to_owned(), time_ns));
            }
            Body::NodeLoaded { node, module } => {
                self.loaded
                    .push((process, node.to_owned(), module.to_owned(), time_ns));
            }
            Body::LaunchReady { service } => {
                self.launch_ready.push((service.to_owned(), time_ns));
            }
            Body::EndpointsMatched { count } => {
                self.endpoints_matched.push((process, count, time_ns));
            }
            Body::Armed { t_arm_ns } => {
                // Calls of the warm-up do not count: every process is told before any is armed.
                self.callback_cpu.clear();
                self.armed.push((process, t_arm_ns));
            }
            Body::Disarmed => self.disarmed.push((process, time_ns)),
            Body::LifecycleTransition {
                state_machine,
                start,
                goal,
            } => {
                if let Some(node) = registry.lifecycle_node(process, state_machine) {
                    self.transitions
                        .push((node, start.to_owned(), goal.to_owned(), time_ns));
                }
            }
            Body::CallbackCpu {
                callback,
                cpu_ns,
                iterations,
            } => {
                if let Some(callback) = registry.known_callback(process, callback)
                    && call_began_ns.is_some_and(|ns| self.is_in_window(ns))
                {
                    let sum = self.callback_cpu.entry(callback).or_default();
                    sum.add(cpu_ns, iterations, &mut self.cpu_budget);
                }
            }
            Body::SampleLost {
                rmw_subscription,
                total,
            } => {
                if let Some(id) = registry.rmw_subscription(process, rmw_subscription) {
                    self.samples_lost.push((id, total, time_ns));
                }
            }
            Body::DatagramsDropped { total } => {
                self.datagrams_dropped.push((process, total, time_ns));
            }
            _ => {}
        }
    }

    /// Whether this lies in the window as far as one was armed and has ended; everything does where there is none.
    fn is_in_window(&self, time_ns: i64) -> bool {
        let early = self.armed.last().is_some_and(|armed| time_ns < armed.1);
        let late = self.disarmed.first().is_some_and(|end| time_ns > end.1);
        !early && !late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{At, Script};

    /// A call of a timer and what it used.
    fn call(script: &mut Script, at: At, callback: u64, (from, to): (i64, i64), cpu_ns: u64) {
        script.start(from, at, callback);
        script.end(to, at, callback);
        let iterations = 2 * cpu_ns;
        let body = Body::CallbackCpu {
            callback,
            cpu_ns,
            iterations,
        };
        script.add(to, at, body);
    }

    #[test]
    fn cpu_time_is_of_the_calls_that_began_in_the_window() {
        let mut script = Script::new();
        let (early, late) = (script.process(1), script.process(2));
        let node = script.node(early, "node");
        let callback = script.timer(node, 1000, "node::tick");
        script.add(5, early, Body::Armed { t_arm_ns: 1000 });
        call(&mut script, early, callback, (0, 900), 1);
        script.add(950, late, Body::Armed { t_arm_ns: 1000 });
        call(&mut script, early, callback, (990, 1010), 10);
        call(&mut script, early, callback, (1020, 1050), 100);
        call(&mut script, early, callback, (2990, 3500), 1000);
        script.add(3000, late, Body::Disarmed);
        script.add(3100, early, Body::Disarmed);
        call(&mut script, early, callback, (3600, 3700), 10_000);
        let analysis = script.analyse();
        let window = analysis.armed_window().unwrap();
        let instances = analysis.records.instances.iter();
        let began = instances.filter(|(_, call)| window.contains(call.start_ns));
        let [cpu] = &analysis.marks.callback_cpu.values().collect::<Vec<_>>()[..] else {
            panic!("{:?}", analysis.marks)
        };
        assert_eq!(cpu.calls, began.count() as u64);
        assert_eq!((cpu.calls, cpu.cpu_ns, cpu.iterations), (2, 1100, 2200));
    }

    #[test]
    fn without_a_window_all_calls_count_that_the_trace_has_the_begin_of() {
        let mut script = Script::new();
        let at = script.process(1);
        let node = script.node(at, "node");
        let callback = script.timer(node, 1000, "node::tick");
        script.end(10, at, callback);
        let cut = Body::CallbackCpu {
            callback,
            cpu_ns: 1,
            iterations: 1,
        };
        script.add(10, at, cut);
        call(&mut script, at, callback, (20, 30), 10);
        call(&mut script, at, callback, (40, 50), 100);
        let analysis = script.analyse();
        let cpu: Vec<_> = analysis.marks.callback_cpu.into_values().collect();
        assert_eq!((cpu[0].calls, cpu[0].cpu_ns), (2, 110));
    }
}
