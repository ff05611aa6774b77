//! Several runs of one stack as one: what differs from run to run is their uncertainty.

use stowplan_stats::t_interval;

use crate::facts::{CallbackFacts, Facts};
use crate::launch::LaunchTimes;

/// To the scale on which a mean is taken, and back.
type Map = fn(f64) -> f64;

/// Level of the intervals.
const LEVEL: f64 = 0.95;

impl Facts {
    /// The same where calls and the launch take `factor` times as long.
    pub(crate) fn slower(&self, factor: f64) -> Self {
        let mut facts = self.clone();
        let times = |ns: &mut Option<f64>| *ns = ns.map(|ns| ns * factor);
        let ranges = |of: &mut Option<(f64, f64)>| {
            *of = of.map(|(low, high)| (low * factor, high * factor));
        };
        for callback in &mut facts.callbacks {
            times(&mut callback.median_ns);
            ranges(&mut callback.median_range_ns);
            times(&mut callback.cpu_median_ns);
            ranges(&mut callback.cpu_median_range_ns);
            times(&mut callback.sent_ns);
            times(&mut callback.work_ns);
        }
        facts.launch = facts.launch.map(|launch| launch.slower(factor));
        facts
    }

    /// What several runs of one stack say together: of each callback the mean over runs of its rates and the geometric
    /// mean of its medians, with t intervals over runs; of the launch the mean of its parts; all else, as endpoints, is
    /// that of the first run. One run stays as it is; `None` without a run.
    #[must_use]
    pub fn over(runs: Vec<Self>) -> Option<Self> {
        let mut rest = runs.into_iter();
        let mut first = rest.next()?;
        let others: Vec<Self> = rest.collect();
        if others.is_empty() {
            return Some(first);
        }
        let callbacks = first.callbacks.iter().filter_map(|callback| {
            let same = |run: &Self| {
                let name = |of: &&CallbackFacts| {
                    (&of.node, &of.callback) == (&callback.node, &callback.callback)
                };
                run.callbacks.iter().find(name).cloned()
            };
            let found: Option<Vec<CallbackFacts>> = others.iter().map(same).collect();
            let mut of_runs = vec![callback.clone()];
            of_runs.extend(found?);
            Some(together(&of_runs))
        });
        first.callbacks = callbacks.collect();
        let launches = std::iter::once(&first).chain(&others).map(|run| run.launch);
        first.launch = launches.collect::<Option<Vec<_>>>().map(|all| mean(&all));
        Some(first)
    }
}

/// A callback over its runs.
fn together(runs: &[CallbackFacts]) -> CallbackFacts {
    let (per_s, per_s_range) = center(runs, |run| run.per_s, false);
    let (median_ns, median_range_ns) = center(runs, |run| run.median_ns, true);
    let (cpu_median_ns, cpu_median_range_ns) = center(runs, |run| run.cpu_median_ns, true);
    let half_width = per_s_range.map(|(low, high)| (high - low) / 2.0);
    CallbackFacts {
        calls: runs.iter().map(|run| run.calls).sum(),
        per_s,
        per_s_error: half_width.zip(per_s).map(|(half, rate)| half / rate),
        interval_ns: center(runs, |run| run.interval_ns, false).0,
        median_ns,
        median_range_ns,
        cpu_median_ns,
        cpu_median_range_ns,
        sent_ns: center(runs, |run| run.sent_ns, false).0,
        ..runs[0].clone()
    }
}

/// A mean over runs with its interval, of logarithms where `geometric`; nothing where a run lacks the figure.
fn center(
    runs: &[CallbackFacts],
    figure: impl Fn(&CallbackFacts) -> Option<f64>,
    geometric: bool,
) -> (Option<f64>, Option<(f64, f64)>) {
    let Some(values) = runs.iter().map(figure).collect::<Option<Vec<f64>>>() else {
        return (None, None);
    };
    let geometric = geometric && values.iter().all(|&value| value > 0.0);
    let (to, from): (Map, Map) = if geometric {
        (f64::ln, f64::exp)
    } else {
        (|x| x, |x| x)
    };
    let values: Vec<f64> = values.into_iter().map(to).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let interval = t_interval(&values, LEVEL).ok();
    let range = interval.map(|range| (from(range.low), from(range.high)));
    (Some(from(mean)), range)
}

/// A launch whose parts take the mean of those of `all`, which is not empty.
fn mean(all: &[LaunchTimes]) -> LaunchTimes {
    let part = |part: usize| {
        let sum: i64 = all.iter().map(|times| times.parts_ns()[part]).sum();
        sum / i64::try_from(all.len()).unwrap_or(i64::MAX)
    };
    all[0].with_parts_ns([0, 1, 2].map(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(callback: &str, per_s: f64, median_ns: f64, parts: [i64; 3]) -> Facts {
        Facts {
            callbacks: vec![CallbackFacts {
                node: "n".into(),
                callback: callback.into(),
                calls: 100,
                per_s: Some(per_s),
                interval_ns: None,
                per_s_error: Some(0.001),
                median_ns: Some(median_ns),
                median_range_ns: Some((median_ns, median_ns)),
                cpu_median_ns: None,
                cpu_median_range_ns: None,
                sent_ns: Some(10.0),
                work_ns: None,
            }],
            launch: Some(LaunchTimes {
                begin_ns: 5,
                first_node_ns: 5 + parts[0],
                last_process_ns: 5 + parts[0] + parts[1],
                last_node_ns: 5 + parts.iter().sum::<i64>(),
                processes: 2,
                components: 1,
            }),
            ..Facts::default()
        }
    }

    /// The logarithms of 50, 100 and 200 have the mean ln 100 and the standard deviation ln 2; t(0.975, 2) = 4.30265:
    /// ln 100 ± 4.30265 × 0.693147 / √3.
    #[test]
    fn runs_give_their_mean_and_how_much_they_differ() {
        let runs = [(9.0, 50.0, 10), (10.0, 100.0, 20), (11.0, 200.0, 30)];
        let runs = runs.map(|(rate, median, part)| run("c", rate, median, [part, 40, 2 * part]));
        let over = Facts::over(runs.to_vec()).unwrap();
        let of = &over.callbacks[0];
        assert_eq!((of.calls, of.per_s), (300, Some(10.0)));
        assert!((of.median_ns.unwrap() - 100.0).abs() < 1e-9);
        let (low, high) = of.median_range_ns.unwrap();
        assert!((low - 17.870).abs() < 0.01, "{low}");
        assert!((high - 559.59).abs() < 0.1, "{high}");
        // 4.30265 × 1 / √3 of 10 calls a second.
        assert!((of.per_s_error.unwrap() - 0.248_414).abs() < 1e-5);
        let launch = over.launch.unwrap();
        let parts = [
            launch.evaluate_ns(),
            launch.spawn_ns(),
            launch.load_ns(),
            launch.begin_ns,
        ];
        assert_eq!(parts, [20, 40, 40, 5]);
    }

    #[test]
    fn one_run_stays_as_it_is_and_callbacks_of_some_runs_only_are_left_out() {
        let alone = run("c", 10.0, 100.0, [1, 2, 3]);
        assert_eq!(Facts::over(vec![alone.clone()]), Some(alone.clone()));
        assert_eq!(Facts::over(Vec::new()), None);
        let over = Facts::over(vec![alone, run("d", 10.0, 100.0, [1, 2, 3])]).unwrap();
        assert_eq!(over.callbacks, []);
    }
}
