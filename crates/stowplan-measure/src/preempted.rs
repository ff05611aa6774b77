//! How long callbacks were off the CPU without having given it up: the scheduler's switches laid over the trace.

use std::collections::BTreeMap;

use stowplan_trace::{Analysis, InstanceId, Step, ThreadId};
use stowplan_wire::agent::Announced;
use stowplan_wire::announce::Announcement;
use stowplan_wire::host::{Preemptions, RecordedThread};

/// When the threads of a trace lost their CPU to others.
#[derive(Debug)]
pub struct Preempted<'a> {
    analysis: &'a Analysis,
    /// Of each thread whose switches were recorded: from losing the CPU to having one again, CLOCK_MONOTONIC ns, in order.
    spans: BTreeMap<ThreadId, Vec<(i64, i64)>>,
    /// What came later is not known.
    until_ns: i64,
}

impl<'a> Preempted<'a> {
    /// Finds the threads of `recorded` in the trace, by what node programs `said` of themselves.
    #[must_use]
    pub fn of(recorded: &Preemptions, said: &[Announced], analysis: &'a Analysis) -> Self {
        let traces: BTreeMap<String, u32> = said.iter().filter_map(trace).collect();
        let of_thread = |thread: &RecordedThread| {
            let spans = thread.spans.iter();
            let spans = spans.map(|(from, to)| (signed(*from), signed(*to)));
            ((thread.pid, i64::from(thread.vtid)), spans.collect())
        };
        let recorded_spans: BTreeMap<(u32, i64), Vec<(i64, i64)>> =
            recorded.threads.iter().map(of_thread).collect();
        let threads = analysis.graph.threads.iter();
        let spans = threads.filter_map(|(id, thread)| {
            let process = &analysis.graph.processes[thread.process];
            let pid = *traces.get(&process.key.trace)?;
            Some((id, recorded_spans.get(&(pid, thread.vtid))?.clone()))
        });
        Self {
            analysis,
            spans: spans.collect(),
            until_ns: signed(recorded.until_ns),
        }
    }

    /// Of the computation of these callbacks of a chain, ns; `None` where that of one of them is not known.
    #[must_use]
    pub fn in_steps(&self, steps: &[Step]) -> Option<i64> {
        let parts = steps
            .iter()
            .map(|step| self.in_call(step.instance, step.start_ns + step.computation_ns));
        parts.sum()
    }

    /// Of a call of a callback from its start to `until_ns`; `None` where the switches of its thread were not recorded, or not so
    /// long.
    #[must_use]
    pub fn in_call(&self, call: InstanceId, until_ns: i64) -> Option<i64> {
        let call = &self.analysis.records.instances[call];
        let spans = self.spans.get(&call.thread)?;
        (until_ns <= self.until_ns).then(|| overlap(spans, call.start_ns, until_ns))
    }
}

/// The trace of a process of the node program, as `collect` names it, and its pid on the host.
fn trace(said: &Announced) -> Option<(String, u32)> {
    match &said.announcement {
        Announcement::Up { process, .. } => {
            let process = process.as_deref()?;
            Some((format!("{}/{process}", said.service), said.pid))
        }
        _ => None,
    }
}

/// How much of `from..to` lies in these spans, which are in order and apart.
fn overlap(spans: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let first = spans.partition_point(|(_, end)| *end <= from);
    let within = spans[first..].iter().take_while(|(begin, _)| *begin < to);
    within
        .map(|(begin, end)| (*end).min(to) - (*begin).max(from))
        .sum()
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_counted_once() {
        let spans = [(10, 20), (30, 40), (50, 60)];
        assert_eq!(overlap(&spans, 0, 10), 0);
        assert_eq!(overlap(&spans, 0, 100), 30);
        assert_eq!(overlap(&spans, 15, 35), 10);
        assert_eq!(overlap(&spans, 32, 34), 2);
        assert_eq!(overlap(&spans, 60, 99), 0);
        assert_eq!(overlap(&[], 0, 99), 0);
    }
}
