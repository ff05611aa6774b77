//! Where events of a process may be missing, ready to be asked often.

use crate::event::{Discard, DiscardScope};
use crate::graph::Graph;
use crate::ids::{Id, ProcessId};

/// Per process, the spans in which events were discarded: sorted, not overlapping.
#[derive(Debug)]
pub(crate) struct Holes(Vec<Vec<(i64, i64)>>);

impl Holes {
    pub fn new(graph: &Graph, discards: &[Discard]) -> Self {
        let processes = &graph.processes;
        let mut spans = vec![Vec::new(); processes.len()];
        for discard in discards {
            let span = (discard.from_ns, discard.to_ns);
            match &discard.scope {
                DiscardScope::Process(id) => spans[id.index()].push(span),
                DiscardScope::Trace(trace) => {
                    for (id, process) in processes.iter() {
                        if process.traces.contains(trace) {
                            spans[id.index()].push(span);
                        }
                    }
                }
            }
        }
        for list in &mut spans {
            list.sort_unstable();
            list.dedup_by(|later, earlier| {
                let overlap = later.0 <= earlier.1;
                if overlap {
                    earlier.1 = earlier.1.max(later.1);
                }
                overlap
            });
        }
        Self(spans)
    }

    /// Whether events of a process may be missing between two times.
    pub fn touch(&self, process: ProcessId, from_ns: i64, to_ns: i64) -> bool {
        // A process that is newer than these holes has none.
        let Some(spans) = self.0.get(process.index()) else {
            return false;
        };
        let begun = spans.partition_point(|span| span.0 <= to_ns);
        begun > 0 && spans[begun - 1].1 >= from_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Discard;
    use crate::scripted::Script;

    #[test]
    fn spans_are_joined_and_found() {
        let mut script = Script::new();
        let a = script.process(1).process;
        let b = script.process(2).process;
        for (from_ns, to_ns, scope) in [
            (30, 40, DiscardScope::Process(a)),
            (10, 20, DiscardScope::Trace("trace".into())),
            (15, 35, DiscardScope::Process(a)),
        ] {
            script.builder.discard(Discard {
                scope,
                from_ns,
                to_ns,
                count: 1,
            });
        }
        let analysis = script.analyse();
        let holes = Holes::new(&analysis.graph, &analysis.discards);
        assert_eq!(holes.0, [vec![(10, 40)], vec![(10, 20)]]);
        assert!(holes.touch(a, 38, 50) && holes.touch(a, 0, 10));
        assert!(!holes.touch(b, 21, 100) && !holes.touch(b, 0, 9));
        assert_eq!(analysis.discarded_events(), 3);
    }
}
