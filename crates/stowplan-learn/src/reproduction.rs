//! Whether a run of a learnt stack gives back the trace that the stack was learnt from.

use stowplan_model::Endpoints;

use crate::facts::{CallbackFacts, Facts};

/// A rate that is this near to the trace's has come back.
pub const RATE: f64 = 0.02;
/// A median duration that is this near to the trace's has come back.
pub const MEDIAN: f64 = 0.15;

/// Whether a figure came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// It is near enough.
    Back,
    /// It is not.
    Off,
    /// It cannot be said, and why.
    Unsaid(String),
}

/// A callback of the trace in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproducedCallback {
    /// In the trace.
    pub trace: CallbackFacts,
    /// In the run; `None` if it has no such callback.
    pub run: Option<CallbackFacts>,
    /// Calls a second within [`RATE`].
    pub rate: Came,
    /// Median that the run should have in nanoseconds: the trace's, of which the work is scaled.
    pub expected_ns: Option<f64>,
    /// Median duration within [`MEDIAN`].
    pub median: Came,
    /// The run's median CPU time within [`MEDIAN`] of what its duration should be: what waiting for a CPU adds is
    /// the machine's and not the stack's. `None` where the run has no CPU times.
    pub cpu: Option<Came>,
}

/// Endpoints of the nodes that trace and run have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReproducedEndpoints {
    /// In the trace.
    pub trace: Endpoints,
    /// In the run.
    pub run: Endpoints,
    /// Nodes whose numbers differ.
    pub different: Vec<String>,
    /// Nodes of the trace that the run does not have.
    pub missing: Vec<String>,
    /// Nodes of the run that the trace does not have, as those that stand for what was not traced.
    pub added: Vec<String>,
}

/// A run held against the trace that its stack was learnt from.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduction {
    /// Callbacks that the trace called at least twice.
    pub callbacks: Vec<ReproducedCallback>,
    /// Endpoints.
    pub endpoints: ReproducedEndpoints,
    /// Shares of evaluate, spawn and load in trace and run; `None` where one has no launch.
    pub launch: Option<[[f64; 3]; 2]>,
}

/// Holds a run whose callback work was multiplied by `work_scale` against its trace.
#[must_use]
pub fn hold(trace: &Facts, run: &Facts, work_scale: f64) -> Reproduction {
    let called = trace.callbacks.iter().filter(|c| c.per_s.is_some());
    let callbacks = called.map(|callback| {
        let same = |other: &&CallbackFacts| {
            (&other.node, &other.callback) == (&callback.node, &callback.callback)
        };
        one(callback, run.callbacks.iter().find(same), work_scale)
    });
    let shares = |facts: &Facts| facts.launch.and_then(|times| times.shares());
    Reproduction {
        callbacks: callbacks.collect(),
        endpoints: endpoints(trace, run),
        launch: shares(trace)
            .zip(shares(run))
            .map(|(trace, run)| [trace, run]),
    }
}

fn one(trace: &CallbackFacts, run: Option<&CallbackFacts>, work_scale: f64) -> ReproducedCallback {
    let missing = || Came::Unsaid("the run has no such callback".to_owned());
    let expected_ns = trace.median_ns.map(|median| {
        let sent = trace.sent_ns.unwrap_or(0.0).min(median);
        (median - sent) * work_scale + sent
    });
    ReproducedCallback {
        rate: run.map_or_else(missing, |run| rate(trace, run)),
        median: run.map_or_else(missing, |run| median(trace, run, expected_ns)),
        cpu: run.and_then(|run| {
            let cpu = CallbackFacts {
                median_ns: Some(run.cpu_median_ns?),
                median_range_ns: run.cpu_median_range_ns,
                ..run.clone()
            };
            Some(median(trace, &cpu, expected_ns))
        }),
        expected_ns,
        trace: trace.clone(),
        run: run.cloned(),
    }
}

fn rate(trace: &CallbackFacts, run: &CallbackFacts) -> Came {
    let mut uncertain = Vec::new();
    for (side, of) in [("trace", trace), ("run", run)] {
        let Some(error) = of.per_s_error else {
            return Came::Unsaid(format!("{} calls in the {side}", of.calls));
        };
        let calls = of.calls;
        let percent = error * 100.0;
        let message = format!("its {calls} calls in the {side} are irregular: ± {percent:.1} %");
        uncertain.push((error, message));
    }
    near(trace.per_s, run.per_s, RATE, uncertain)
}

fn median(trace: &CallbackFacts, run: &CallbackFacts, expected_ns: Option<f64>) -> Came {
    let mut uncertain = Vec::new();
    for (side, of) in [("trace", trace), ("run", run)] {
        let (Some(median), Some((low, high))) = (of.median_ns, of.median_range_ns) else {
            return Came::Unsaid(format!("{} calls in the {side}", of.calls));
        };
        let message = format!(
            "the median of {} calls in the {side} lies between {:.0} and {:.0} % of itself",
            of.calls,
            low / median * 100.0,
            high / median * 100.0
        );
        uncertain.push(((median - low).max(high - median) / median, message));
    }
    near(expected_ns, run.median_ns, MEDIAN, uncertain)
}

/// Whether a figure came back, whose two sides are uncertain by these shares of themselves. What is off by more
/// than uncertainty explains is off.
fn near(wanted: Option<f64>, got: Option<f64>, share: f64, uncertain: Vec<(f64, String)>) -> Came {
    let (Some(wanted), Some(got)) = (wanted, got) else {
        return Came::Off;
    };
    let off = (got - wanted).abs() / wanted;
    let all: f64 = uncertain.iter().map(|(error, _)| error).sum();
    if off > share + all {
        return Came::Off;
    }
    match uncertain.into_iter().find(|(error, _)| *error > share) {
        Some((_, message)) => Came::Unsaid(message),
        None if off <= share => Came::Back,
        None => Came::Off,
    }
}

fn endpoints(trace: &Facts, run: &Facts) -> ReproducedEndpoints {
    let mut held = ReproducedEndpoints {
        trace: Endpoints::default(),
        run: Endpoints::default(),
        different: Vec::new(),
        missing: Vec::new(),
        added: Vec::new(),
    };
    for (node, in_trace) in &trace.by_node {
        let Some(in_run) = run.by_node.get(node) else {
            held.missing.push(node.clone());
            continue;
        };
        held.trace += *in_trace;
        held.run += *in_run;
        if in_trace != in_run {
            held.different.push(node.clone());
        }
    }
    let new = run
        .by_node
        .keys()
        .filter(|n| !trace.by_node.contains_key(*n));
    held.added = new.cloned().collect();
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callback(calls: u64, per_s: f64, median: f64, spread: f64) -> CallbackFacts {
        CallbackFacts {
            node: "n".into(),
            callback: "c".into(),
            calls,
            per_s: Some(per_s),
            interval_ns: None,
            per_s_error: Some(0.001),
            median_ns: Some(median),
            median_range_ns: Some((median - spread, median + spread)),
            cpu_median_ns: None,
            cpu_median_range_ns: None,
            sent_ns: Some(100.0),
            work_ns: None,
        }
    }

    #[test]
    fn work_is_scaled_and_sending_is_not() {
        let held = one(
            &callback(100, 10.0, 1100.0, 10.0),
            Some(&callback(100, 10.1, 610.0, 10.0)),
            0.5,
        );
        assert_eq!(held.expected_ns, Some(600.0));
        assert_eq!((held.rate, held.median), (Came::Back, Came::Back));
    }

    #[test]
    fn what_is_too_far_is_off() {
        let held = one(
            &callback(100, 10.0, 1000.0, 10.0),
            Some(&callback(100, 10.3, 1200.0, 10.0)),
            1.0,
        );
        assert_eq!((held.rate, held.median), (Came::Off, Came::Off));
    }

    #[test]
    fn waiting_for_a_cpu_is_not_cpu_time() {
        let run = CallbackFacts {
            cpu_median_ns: Some(1050.0),
            cpu_median_range_ns: Some((1040.0, 1060.0)),
            ..callback(100, 10.0, 1500.0, 10.0)
        };
        let held = one(&callback(100, 10.0, 1000.0, 10.0), Some(&run), 1.0);
        assert_eq!((held.median, held.cpu), (Came::Off, Some(Came::Back)));
    }

    #[test]
    fn what_is_not_known_well_enough_is_not_said() {
        let vague = callback(7, 10.0, 1000.0, 200.0);
        let held = one(&vague, Some(&callback(100, 10.0, 1000.0, 10.0)), 1.0);
        assert_eq!(held.rate, Came::Back);
        assert_eq!(
            held.median,
            Came::Unsaid(
                "the median of 7 calls in the trace lies between 80 and 120 % of itself".into()
            )
        );
        assert!(matches!(one(&vague, None, 1.0).rate, Came::Unsaid(_)));
        // Twice as long is too long all the same.
        let long = one(&vague, Some(&callback(100, 10.0, 2000.0, 10.0)), 1.0);
        assert_eq!(long.median, Came::Off);
    }
}
