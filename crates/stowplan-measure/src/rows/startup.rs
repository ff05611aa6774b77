//! One row per run and subject: when it started up.

use std::collections::BTreeMap;

use stowplan_results::{Label, StartKind, StartupRow, SubjectKind};

use super::{RunKey, since};
use crate::RealProgress;
use crate::progress::{Progress, ServiceProgress};

/// The instants of one start, CLOCK_MONOTONIC ns.
pub struct StartUpFacts<'a> {
    /// State of the page cache.
    pub start: StartKind,
    /// Read before `create`.
    pub t0_ns: u64,
    /// When `create` returned; `None` where the engine cannot separate it from `start`.
    pub created_ns: Option<u64>,
    /// What services and nodes announced.
    pub progress: &'a Progress,
    /// When real programs started and were ready, by service.
    pub real: &'a BTreeMap<String, RealProgress>,
    /// Module of every node.
    pub modules: &'a BTreeMap<String, String>,
    /// First complete output of each chain; `None` where there was none, with the reason.
    pub first_outputs: &'a [(String, Result<u64, String>)],
}

/// Why a real program's row has only its begin and end.
const REAL: &str = "a real program: it announces no nodes, and its latency needs a trace";

/// Rows of the total, every service, real ones too, module, node and chain.
#[must_use]
pub fn startup_rows(key: &RunKey, facts: &StartUpFacts<'_>) -> Vec<StartupRow> {
    let mut rows = vec![total(key, facts)];
    for (name, service) in facts.progress.services() {
        rows.push(service_row(key, facts, name, service));
    }
    for (name, real) in facts.real {
        let (begin, end) = (real.started_ns, real.ready_ns);
        let mut row = span(key, facts, SubjectKind::Service, name, begin, end);
        row.reason = Some(REAL.into());
        rows.push(row);
    }
    rows.extend(modules(key, facts));
    for (node, (begin, end)) in facts.progress.services().values().flat_map(|s| &s.nodes) {
        rows.push(span(key, facts, SubjectKind::Node, node, *begin, *end));
    }
    for (chain, output) in facts.first_outputs {
        let mut row = empty(key, facts, SubjectKind::Chain, chain);
        row.begin_ns = Some(0);
        row.first_output_ns = output.as_ref().ok().map(|t| since(facts.t0_ns, *t));
        row.end_ns = row.first_output_ns;
        row.reason = output.as_ref().err().map(|reason| reason.as_str().into());
        rows.push(row);
    }
    rows
}

fn empty(key: &RunKey, facts: &StartUpFacts<'_>, kind: SubjectKind, subject: &str) -> StartupRow {
    StartupRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        start: facts.start,
        subject_kind: kind,
        subject: Label::from(subject),
        begin_ns: None,
        end_ns: None,
        create_done_ns: None,
        first_instruction_ns: None,
        launch_ready_ns: None,
        first_node_loaded_ns: None,
        last_node_loaded_ns: None,
        matched_ns: None,
        first_output_ns: None,
        reason: None,
    }
}

fn span(
    key: &RunKey,
    facts: &StartUpFacts<'_>,
    kind: SubjectKind,
    subject: &str,
    begin: Option<u64>,
    end: Option<u64>,
) -> StartupRow {
    let relative = |t: u64| since(facts.t0_ns, t);
    StartupRow {
        begin_ns: begin.map(relative),
        end_ns: end.map(relative),
        ..empty(key, facts, kind, subject)
    }
}

fn total(key: &RunKey, facts: &StartUpFacts<'_>) -> StartupRow {
    let relative = |t: u64| since(facts.t0_ns, t);
    let services = || facts.progress.services().values();
    let loaded = || {
        services()
            .flat_map(|s| s.nodes.values())
            .filter_map(|(_, end)| *end)
    };
    // The total is there only when every part is: a maximum over some would be too early.
    let last = |of: fn(&ServiceProgress) -> Option<u64>| {
        services()
            .map(of)
            .collect::<Option<Vec<_>>>()
            .and_then(|all| all.into_iter().max())
    };
    let outputs: Option<Vec<u64>> = facts
        .first_outputs
        .iter()
        .map(|(_, t)| t.as_ref().ok().copied())
        .collect();
    let first_output = outputs.and_then(|all| all.into_iter().max());
    let mut row = empty(key, facts, SubjectKind::Total, "total");
    row.begin_ns = Some(0);
    row.create_done_ns = facts.created_ns.map(relative);
    row.first_instruction_ns = services()
        .filter_map(|s| s.first_instruction_ns)
        .min()
        .map(relative);
    row.launch_ready_ns = last(|s| s.launch_ready_ns).map(relative);
    row.first_node_loaded_ns = loaded().min().map(relative);
    row.last_node_loaded_ns = loaded().max().map(relative);
    row.end_ns = row.last_node_loaded_ns;
    row.matched_ns = last(|s| s.matched_ns).map(relative);
    row.first_output_ns = first_output.map(relative);
    row.reason = facts
        .first_outputs
        .iter()
        .find_map(|(_, t)| t.as_ref().err())
        .map(|reason| reason.as_str().into());
    row
}

fn service_row(
    key: &RunKey,
    facts: &StartUpFacts<'_>,
    name: &str,
    service: &ServiceProgress,
) -> StartupRow {
    let relative = |t: u64| since(facts.t0_ns, t);
    let loaded = || service.nodes.values().filter_map(|(_, end)| *end);
    let mut row = empty(key, facts, SubjectKind::Service, name);
    row.begin_ns = service.first_instruction_ns.map(relative);
    row.end_ns = loaded().max().map(relative);
    row.first_instruction_ns = row.begin_ns;
    row.launch_ready_ns = service.launch_ready_ns.map(relative);
    row.first_node_loaded_ns = loaded().min().map(relative);
    row.last_node_loaded_ns = row.end_ns;
    row.matched_ns = service.matched_ns.map(relative);
    row
}

/// Module time: its first node begins to load → its last node loaded (docs/measuring.md §4).
fn modules(key: &RunKey, facts: &StartUpFacts<'_>) -> Vec<StartupRow> {
    let mut spans: BTreeMap<&str, (Option<u64>, Option<u64>)> = BTreeMap::new();
    for (node, (begin, end)) in facts.progress.services().values().flat_map(|s| &s.nodes) {
        let Some(module) = facts.modules.get(node) else {
            continue;
        };
        let span = spans.entry(module).or_default();
        span.0 = [span.0, *begin].into_iter().flatten().min();
        span.1 = span.1.max(*end);
    }
    spans
        .into_iter()
        .map(|(module, (begin, end))| span(key, facts, SubjectKind::Module, module, begin, end))
        .collect()
}

#[cfg(test)]
mod tests {
    use stowplan_wire::agent::Announced;
    use stowplan_wire::announce::Announcement;

    use super::*;

    fn progress() -> Progress {
        let mut progress = Progress::of_services(&["a", "b"]);
        let mut say = |service: &str, announcement| {
            progress
                .announced(&Announced {
                    service: service.to_owned(),
                    pid: 1,
                    announcement,
                })
                .unwrap();
        };
        for (service, node, begin, end) in
            [("a", "x", 20, 30), ("a", "y", 30, 45), ("b", "z", 25, 28)]
        {
            say(
                service,
                Announcement::NodeLoading {
                    node: node.to_owned(),
                    t_ns: begin,
                },
            );
            say(
                service,
                Announcement::NodeLoaded {
                    node: node.to_owned(),
                    t_ns: end,
                },
            );
        }
        for (service, up, ready, launched) in [("a", 12, 16, 46), ("b", 11, 19, 29)] {
            say(
                service,
                Announcement::Up {
                    process: None,
                    first_instruction_ns: up,
                    build_id: String::new(),
                },
            );
            say(service, Announcement::LaunchReady { t_ns: ready });
            say(service, Announcement::Launched { t_ns: launched });
        }
        progress
    }

    #[test]
    fn instants_are_those_of_the_last_part() {
        let modules = [("x", "m"), ("y", "n"), ("z", "m")]
            .map(|(n, m)| (n.to_owned(), m.to_owned()))
            .into();
        let progress = progress();
        let pong = RealProgress {
            started_ns: Some(12),
            ready_ns: Some(90),
        };
        let facts = StartUpFacts {
            real: &[("pong".to_owned(), pong)].into(),
            start: StartKind::Warm,
            t0_ns: 10,
            created_ns: Some(11),
            progress: &progress,
            modules: &modules,
            first_outputs: &[("c".to_owned(), Ok(60)), ("d".to_owned(), Ok(50))],
        };
        let key = RunKey {
            run: 1,
            block: 1,
            deployment: "d".into(),
        };
        let rows = startup_rows(&key, &facts);
        let of = |kind, subject: &str| {
            rows.iter()
                .find(|r| r.subject_kind == kind && &*r.subject == subject)
                .unwrap()
        };
        let total = of(SubjectKind::Total, "total");
        assert_eq!(
            (total.first_instruction_ns, total.launch_ready_ns),
            (Some(1), Some(9)),
            "before the first node is loaded"
        );
        assert_eq!(
            (total.first_node_loaded_ns, total.last_node_loaded_ns),
            (Some(18), Some(35))
        );
        assert_eq!(
            total.first_output_ns,
            Some(50),
            "the last chain's first output"
        );
        let m = of(SubjectKind::Module, "m");
        assert_eq!((m.begin_ns, m.end_ns), (Some(10), Some(20)));
        assert_eq!(of(SubjectKind::Chain, "d").first_output_ns, Some(40));
        assert_eq!(of(SubjectKind::Service, "b").end_ns, Some(18));
        let real = of(SubjectKind::Service, "pong");
        assert_eq!((real.begin_ns, real.end_ns), (Some(2), Some(80)));
        assert_eq!(real.last_node_loaded_ns, None);
        assert!(real.reason.is_some());
    }
}
