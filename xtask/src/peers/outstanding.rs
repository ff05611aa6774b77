//! Stowplan's own share of a start: the time in which nobody else was asked for anything.

use std::collections::BTreeMap;
use std::ops::Range;

use stowplan_wire::deployment::EngineRequest;

/// Shares of a span, 0 to 1, in which no request was outstanding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alone {
    /// Before the last answer: Stowplan was at work, and nobody else.
    pub own: f64,
    /// After the last answer: containers' own processes were on their way to their program.
    pub coming_up: f64,
}

/// Those of `span`; `None` where the engine asks nobody. A tool that was started is at work until its service runs its first
/// instruction. All in ns of CLOCK_MONOTONIC.
pub fn alone(
    span: Range<u64>,
    requests: &[EngineRequest],
    first_instructions: &BTreeMap<String, u64>,
) -> Option<Alone> {
    if requests.is_empty() || span.is_empty() {
        return None;
    }
    let until = |request: &EngineRequest| {
        let runs = first_instructions.get(&request.service).copied();
        request.end_ns.or(runs).unwrap_or(span.end)
    };
    let outstanding = requests
        .iter()
        .map(|request| request.begin_ns..until(request))
        .collect();
    let (between, after) = uncovered(&span, outstanding);
    let share = |ns: u64| ns as f64 / (span.end - span.start) as f64;
    Some(Alone {
        own: share(between),
        coming_up: share(after),
    })
}

/// How much of `span` lies in none of the ranges: before the end of the last of them, and after it.
fn uncovered(span: &Range<u64>, mut ranges: Vec<Range<u64>>) -> (u64, u64) {
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut seen, mut between) = (span.start, 0);
    for range in ranges {
        between += range.start.min(span.end).saturating_sub(seen);
        seen = seen.max(range.end.min(span.end));
    }
    (between, span.end - seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(service: &str, begin_ns: u64, end_ns: Option<u64>) -> EngineRequest {
        EngineRequest {
            service: service.to_owned(),
            begin_ns,
            end_ns,
        }
    }

    #[test]
    fn what_overlaps_counts_once_and_what_is_outside_does_not() {
        let of = |ranges: &[(u64, u64)]| {
            let ranges = ranges.iter().map(|(begin, end)| *begin..*end).collect();
            uncovered(&(100..200), ranges)
        };
        assert_eq!(of(&[]), (0, 100));
        assert_eq!(of(&[(110, 150), (120, 130), (140, 160)]), (10, 40));
        assert_eq!(of(&[(150, 180), (100, 120)]), (30, 20));
        assert_eq!(of(&[(0, 300)]), (0, 0));
        assert_eq!(of(&[(0, 50), (0, 101), (199, 201), (300, 400)]), (98, 0));
    }

    #[test]
    fn a_tool_is_at_work_until_its_service_runs() {
        let first = BTreeMap::from([("a".to_owned(), 160), ("b".to_owned(), 200)]);
        let alone = |requests: &[EngineRequest]| alone(100..200, requests, &first);
        let shares = |own, coming_up| Some(Alone { own, coming_up });
        let both = [request("a", 120, None), request("b", 170, None)];
        assert_eq!(alone(&both), shares(0.3, 0.0));
        // The answer of a daemon is the end of its request, whatever the service does then.
        let answered = [request("b", 120, Some(150))];
        assert_eq!(alone(&answered), shares(0.2, 0.5));
        assert_eq!(alone(&[]), None);
    }
}
