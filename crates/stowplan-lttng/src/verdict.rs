//! What was seen to run, held against what was recorded.

use crate::look::ObservedProcess;
use crate::produced::{Produced, TracedProcess};

/// What came of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What the user should know, each with its likely causes.
    pub warnings: Vec<String>,
    /// What can be done about it.
    pub hints: Vec<String>,
}

/// Most processes that a warning names.
const NAMED: usize = 8;

const UNREACHED: &str = "a program finds the daemon by LTTNG_HOME: something in between (sudo, a container, a launch \
     file) may have replaced the environment or hidden that folder; LTTNG_UST_REGISTER_TIMEOUT=0 also ends it";
const NOT_BUILT_IN: &str = "ask `ros2 run tracetools status`; where it says that tracing is disabled, install \
     liblttng-ust-dev and build ros2_tracing from source (binary packages have it from Iron on)";
const NO_EVENTS: &str =
    "they link LTTng but have no tracepoint of ros2_tracing, or ended before they made a node";

/// How a warning names processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// With their numbers, by which a user finds them.
    Pids,
    /// Without: equal in all runs of an experiment.
    Names,
}

/// Holds the processes of `seen` against `produced`; `of` says whose they are, as `the command`.
#[must_use]
pub fn verdict(of: &str, seen: &[ObservedProcess], produced: &Produced, naming: Naming) -> Verdict {
    let mut verdict = Verdict::default();
    let found = |seen: &ObservedProcess| produced.processes.iter().find(|process| seen.is(process));
    let traceable = || seen.iter().filter(|seen| seen.is_traceable());
    let silent: Vec<&ObservedProcess> = traceable()
        .filter(|seen| seen.tracer && found(seen).is_none())
        .collect();
    let idle: Vec<&ObservedProcess> = traceable()
        .filter(|seen| found(seen).is_some_and(|process| process.events == 0))
        .collect();
    let without: Vec<&ObservedProcess> = traceable()
        .filter(|seen| !seen.tracer && found(seen).is_none())
        .collect();
    for (seen, what, hint) in [
        (&silent, "did not reach LTTng's session daemon", UNREACHED),
        (&idle, "reached the daemon and recorded no event", NO_EVENTS),
        (&without, "use ROS 2 without its tracepoints", NOT_BUILT_IN),
    ] {
        if !seen.is_empty() {
            let names: Vec<String> = seen.iter().map(|seen| naming.of_seen(seen)).collect();
            let warning = format!(
                "processes of {of} that {what} ({}): {}",
                names.len(),
                listed(&names)
            );
            verdict.warnings.push(warning);
            verdict.hints.push(hint.to_owned());
        }
    }
    if produced.events() == 0 && verdict.warnings.is_empty() {
        let traced = produced.processes.iter();
        let idle: Vec<String> = traced.map(|traced| naming.of_traced(traced)).collect();
        let what = if idle.is_empty() {
            verdict.hints.push(NOT_BUILT_IN.to_owned());
            "no process that links LTTng or ROS 2 was seen".to_owned()
        } else {
            verdict.hints.push(NO_EVENTS.to_owned());
            format!("the daemon was reached by {}", listed(&idle))
        };
        verdict
            .warnings
            .push(format!("{of} recorded no event: {what}"));
    }
    verdict
}

impl Naming {
    fn of_seen(self, seen: &ObservedProcess) -> String {
        match self {
            Self::Pids => format!("{} (pid {})", seen.name, seen.pid),
            Self::Names => seen.name.clone(),
        }
    }

    fn of_traced(self, process: &TracedProcess) -> String {
        match self {
            Self::Pids => format!("{} (vpid {})", process.name, process.vpid),
            Self::Names => process.name.clone(),
        }
    }
}

fn listed(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, tracer: bool, ros: bool) -> ObservedProcess {
        ObservedProcess {
            pid,
            name: format!("p{pid}"),
            vpid: i64::from(pid) - 100,
            pid_ns: 7,
            tracer,
            ros,
        }
    }

    fn traced(vpid: i64, pid_ns: u64, events: u64) -> TracedProcess {
        TracedProcess {
            name: format!("v{vpid}"),
            vpid,
            pid_ns: Some(pid_ns),
            events,
        }
    }

    fn warnings(seen: &[ObservedProcess], processes: Vec<TracedProcess>) -> Vec<String> {
        let produced = Produced {
            processes,
            ..Produced::default()
        };
        verdict("the command", seen, &produced, Naming::Pids).warnings
    }

    #[test]
    fn what_recorded_is_not_spoken_of_nor_what_could_not() {
        let seen = [seen(101, true, true), seen(102, false, false)];
        assert_eq!(warnings(&seen, vec![traced(1, 7, 20)]), [""; 0]);
    }

    #[test]
    fn each_way_to_record_nothing_is_named_with_its_processes() {
        let seen = [
            seen(101, true, true),
            seen(102, true, false),
            seen(103, false, true),
            seen(104, true, true),
        ];
        // The same pid in another namespace is another process.
        let processes = vec![traced(1, 7, 0), traced(2, 8, 5), traced(4, 7, 9)];
        assert_eq!(
            warnings(&seen, processes),
            [
                "processes of the command that did not reach LTTng's session daemon (1): p102 (pid 102)",
                "processes of the command that reached the daemon and recorded no event (1): p101 (pid 101)",
                "processes of the command that use ROS 2 without its tracepoints (1): p103 (pid 103)",
            ]
        );
    }

    #[test]
    fn in_runs_of_an_experiment_warnings_are_equal() {
        let told = |pid| {
            verdict(
                "service 's'",
                &[seen(pid, true, true)],
                &Produced::default(),
                Naming::Names,
            )
            .warnings
        };
        let mut other = seen(201, true, true);
        other.name = "p101".to_owned();
        let again = verdict("service 's'", &[other], &Produced::default(), Naming::Names).warnings;
        assert_eq!(told(101), again);
        assert_eq!(
            again,
            ["processes of service 's' that did not reach LTTng's session daemon (1): p101"]
        );
    }

    #[test]
    fn what_others_recorded_is_not_a_services() {
        let own_ns = crate::look(std::process::id()).unwrap().pid_ns;
        let container = own_ns + 1;
        let all = Produced {
            processes: vec![
                traced(1, container, 5),
                traced(7, container, 3),
                traced(1, own_ns, 20),
            ],
            all_events: 30,
            discarded_events: 4,
            discarded_packets: 0,
        };
        let of = |pid_ns| {
            let seen = ObservedProcess {
                pid_ns,
                ..seen(101, true, true)
            };
            all.of(&[seen]).events()
        };
        // Process 7 of the container was not seen.
        assert_eq!(of(container), 8);
        assert_eq!(of(own_ns), 20);
        assert_eq!(of(container + 1), 0);
    }

    #[test]
    fn nothing_at_all_is_said_even_if_nothing_was_seen() {
        assert_eq!(
            warnings(&[], Vec::new()),
            ["the command recorded no event: no process that links LTTng or ROS 2 was seen"]
        );
        assert_eq!(
            warnings(&[], vec![traced(3, 7, 0)]),
            ["the command recorded no event: the daemon was reached by v3 (vpid 3)"]
        );
    }
}
