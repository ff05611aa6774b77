//! One row per run and subject: when it started up.

use std::collections::BTreeMap;

use stowplan_results::{Label, StartKind, StartupRow, SubjectKind};

use super::{RunKey, since};
use crate::progress::ServiceProgress;
use crate::session::MeasuredHost;

/// The instants of one start.
pub struct StartUpFacts<'a> {
    /// State of the page cache.
    pub start: StartKind,
    /// What each host gave.
    pub hosts: &'a [MeasuredHost],
    /// Module of every node.
    pub modules: &'a BTreeMap<String, String>,
    /// First complete output of each chain, of the first host's clock; `None` where there was none, with the reason.
    pub first_outputs: &'a [(String, Result<u64, String>)],
    /// First publication of every node that had one, of the first host's clock.
    pub first_publications: &'a BTreeMap<String, u64>,
}

/// An instant of a host since t0, ns.
type SinceT0 = i64;

/// When a node began to load and was loaded, on which host.
struct Loading<'a> {
    host: &'a MeasuredHost,
    node: &'a str,
    begin: Option<SinceT0>,
    end: Option<SinceT0>,
}

impl<'a> StartUpFacts<'a> {
    /// Every service of the node program, with its host.
    fn services(
        &self,
    ) -> impl Iterator<Item = (&'a MeasuredHost, &'a String, &'a ServiceProgress)> {
        let hosts = self.hosts.iter();
        hosts.flat_map(|host| {
            let services = host.progress.services().iter();
            services.map(move |(name, service)| (host, name, service))
        })
    }

    /// First publication of any of these nodes.
    fn first_publication<'n>(&self, nodes: impl Iterator<Item = &'n str>) -> Option<SinceT0> {
        let first = nodes.filter_map(|node| self.first_publications.get(node));
        Some(since(self.lead_t0(), *first.min()?))
    }

    /// t0 on the clock of the first host, which the trace has.
    fn lead_t0(&self) -> u64 {
        self.hosts.first().map_or(0, |host| host.t0_ns)
    }

    fn loading(&self) -> impl Iterator<Item = Loading<'a>> {
        self.services().flat_map(|(host, _, service)| {
            let nodes = service.nodes.iter();
            nodes.map(move |(node, (begin, end))| Loading {
                host,
                node,
                begin: begin.map(|t| since(host.t0_ns, t)),
                end: end.map(|t| since(host.t0_ns, t)),
            })
        })
    }
}

/// Why a real program's row has only its begin and end.
const REAL: &str = "a real program: it announces no nodes, and its latency needs a trace";

/// Rows of the total, every service, real ones too, module, node and chain.
#[must_use]
pub fn startup_rows(key: &RunKey, facts: &StartUpFacts<'_>) -> Vec<StartupRow> {
    let rows = Rows { key, facts };
    let mut all = vec![rows.total()];
    all.extend(
        facts
            .services()
            .map(|(host, name, of)| rows.service(host, name, of)),
    );
    for host in facts.hosts {
        for (name, real) in &host.real {
            let relative = |t: u64| since(host.t0_ns, t);
            let (begin, end) = (real.started_ns.map(relative), real.ready_ns.map(relative));
            let mut row = rows.span(SubjectKind::Service, name, begin, end);
            row.host = Some(host.host.0.as_str().into());
            row.reason = Some(REAL.into());
            all.push(row);
        }
    }
    all.extend(rows.modules());
    all.extend(facts.loading().map(|node| StartupRow {
        host: Some(node.host.host.0.as_str().into()),
        first_output_ns: facts.first_publication(std::iter::once(node.node)),
        ..rows.span(SubjectKind::Node, node.node, node.begin, node.end)
    }));
    let lead = facts.lead_t0();
    for (chain, output) in facts.first_outputs {
        let mut row = rows.empty(SubjectKind::Chain, chain);
        row.begin_ns = Some(0);
        row.first_output_ns = output.as_ref().ok().map(|t| since(lead, *t));
        row.end_ns = row.first_output_ns;
        row.reason = output.as_ref().err().map(|reason| reason.as_str().into());
        all.push(row);
    }
    all
}

/// Makes the rows of one start.
struct Rows<'a> {
    key: &'a RunKey,
    facts: &'a StartUpFacts<'a>,
}

impl Rows<'_> {
    fn empty(&self, kind: SubjectKind, subject: &str) -> StartupRow {
        StartupRow {
            run: self.key.run,
            block: self.key.block,
            deployment: self.key.deployment.clone(),
            host: None,
            start: self.facts.start,
            subject_kind: kind,
            subject: Label::from(subject),
            begin_ns: None,
            end_ns: None,
            create_done_ns: None,
            scheduled_ns: None,
            sandbox_ns: None,
            container_created_ns: None,
            container_started_ns: None,
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
        &self,
        kind: SubjectKind,
        subject: &str,
        begin: Option<SinceT0>,
        end: Option<SinceT0>,
    ) -> StartupRow {
        StartupRow {
            begin_ns: begin,
            end_ns: end,
            ..self.empty(kind, subject)
        }
    }

    fn total(&self) -> StartupRow {
        let facts = self.facts;
        let loaded = || facts.loading().filter_map(|node| node.end);
        // The total is there only when every part is: a maximum over some would be too early.
        let last = |of: fn(&ServiceProgress) -> Option<u64>| {
            let all = facts.services();
            let all = all.map(|(host, _, service)| Some(since(host.t0_ns, of(service)?)));
            let all = all.collect::<Option<Vec<SinceT0>>>();
            all.and_then(|all| all.into_iter().max())
        };
        let created = facts.hosts.iter();
        let created = created.map(|host| Some(since(host.t0_ns, host.created_ns?)));
        let created = created.collect::<Option<Vec<SinceT0>>>();
        let first = facts.services();
        let first = first.filter_map(|(host, _, service)| {
            Some(since(host.t0_ns, service.first_instruction_ns?))
        });
        let lead = facts.lead_t0();
        let outputs = facts.first_outputs.iter();
        let outputs: Option<Vec<u64>> = outputs.map(|(_, t)| t.as_ref().ok().copied()).collect();
        let first_output = outputs.and_then(|all| all.into_iter().max());
        let mut missing = facts.first_outputs.iter();
        let missing = missing.find_map(|(_, t)| t.as_ref().err());
        StartupRow {
            begin_ns: Some(0),
            end_ns: loaded().max(),
            create_done_ns: created.and_then(|all| all.into_iter().max()),
            scheduled_ns: last(|s| s.engine.scheduled_ns),
            sandbox_ns: last(|s| s.engine.sandbox_ns),
            container_created_ns: last(|s| s.engine.created_ns),
            container_started_ns: last(|s| s.engine.started_ns),
            first_instruction_ns: first.min(),
            launch_ready_ns: last(|s| s.launch_ready_ns),
            first_node_loaded_ns: loaded().min(),
            last_node_loaded_ns: loaded().max(),
            matched_ns: last(|s| s.matched_ns),
            first_output_ns: first_output.map(|t| since(lead, t)),
            reason: missing.map(|reason| reason.as_str().into()),
            ..self.empty(SubjectKind::Total, "total")
        }
    }

    fn service(&self, host: &MeasuredHost, name: &str, service: &ServiceProgress) -> StartupRow {
        let relative = |t: u64| since(host.t0_ns, t);
        let loaded = || service.nodes.values().filter_map(|(_, end)| *end);
        let up = service.first_instruction_ns.map(relative);
        let last = loaded().max().map(relative);
        StartupRow {
            host: Some(host.host.0.as_str().into()),
            begin_ns: up,
            end_ns: last,
            scheduled_ns: service.engine.scheduled_ns.map(relative),
            sandbox_ns: service.engine.sandbox_ns.map(relative),
            container_created_ns: service.engine.created_ns.map(relative),
            container_started_ns: service.engine.started_ns.map(relative),
            first_instruction_ns: up,
            launch_ready_ns: service.launch_ready_ns.map(relative),
            first_node_loaded_ns: loaded().min().map(relative),
            last_node_loaded_ns: last,
            matched_ns: service.matched_ns.map(relative),
            first_output_ns: self
                .facts
                .first_publication(service.nodes.keys().map(String::as_str)),
            ..self.empty(SubjectKind::Service, name)
        }
    }

    /// Module time: its first node begins to load → its last node loaded (docs/measuring.md §4).
    fn modules(&self) -> Vec<StartupRow> {
        let mut spans: BTreeMap<&str, (Option<SinceT0>, Option<SinceT0>)> = BTreeMap::new();
        for node in self.facts.loading() {
            let Some(module) = self.facts.modules.get(node.node) else {
                continue;
            };
            let span = spans.entry(module).or_default();
            span.0 = [span.0, node.begin].into_iter().flatten().min();
            span.1 = span.1.max(node.end);
        }
        let rows = spans.into_iter();
        let rows =
            rows.map(|(module, (begin, end))| self.span(SubjectKind::Module, module, begin, end));
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use stowplan_site::HostId;
    use stowplan_wire::agent::Announced;
    use stowplan_wire::announce::Announcement;

    use super::*;
    use crate::RealProgress;
    use crate::progress::Progress;

    fn progress() -> Progress {
        let mut progress = Progress::of_services(&["a", "b"]);
        let mut say = |service: &str, announcement| {
            progress
                .announced(&Announced {
                    host: "here".to_owned(),
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
        let pong = RealProgress {
            started_ns: Some(12),
            ready_ns: Some(90),
        };
        let host = MeasuredHost {
            real: [("pong".to_owned(), pong)].into(),
            t0_ns: 10,
            created_ns: Some(11),
            progress: progress(),
            ..MeasuredHost::new(HostId("here".to_owned()), None)
        };
        let facts = StartUpFacts {
            start: StartKind::Warm,
            hosts: &[host],
            modules: &modules,
            first_outputs: &[("c".to_owned(), Ok(60)), ("d".to_owned(), Ok(50))],
            first_publications: &[("x", 55), ("y", 48)]
                .map(|(n, t)| (n.to_owned(), t))
                .into(),
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
        let (a, b) = (of(SubjectKind::Service, "a"), of(SubjectKind::Service, "b"));
        assert_eq!(b.end_ns, Some(18));
        assert_eq!((a.first_output_ns, b.first_output_ns), (Some(38), None));
        assert_eq!(of(SubjectKind::Node, "x").first_output_ns, Some(45));
        let real = of(SubjectKind::Service, "pong");
        assert_eq!((real.begin_ns, real.end_ns), (Some(2), Some(80)));
        assert_eq!(real.last_node_loaded_ns, None);
        assert!(real.reason.is_some());
    }
}
