//! How CPU and memory varied within the window of a run: over the samples of a subject.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use stowplan_stats::Moments;

use crate::track::{Track, Tracks};

/// Mean, standard deviation and maximum over the samples of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsageSpread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; `None` of fewer than two values.
    pub std: Option<f64>,
    /// Maximum.
    pub max: f64,
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    UsageSpread::of(values).map(|of| of.mean)
}

/// By subject.
pub type Spreads = BTreeMap<String, UsageSpread>;

impl UsageSpread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut moments = Moments::default();
        values.for_each(|value| moments.push(value));
        Some(Self {
            mean: moments.mean().ok()?,
            std: moments.std().ok(),
            max: moments.max().ok()?,
        })
    }

    /// The mean of each figure over several runs, of the deviation over those that have one; `None` of no run.
    pub(crate) fn mean_of<'a>(runs: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        Some(Self {
            mean: mean(runs.clone().map(|run| run.mean))?,
            std: mean(runs.clone().filter_map(|run| run.std)),
            max: mean(runs.map(|run| run.max))?,
        })
    }
}

/// CPUs from sample to sample, and memory at each sample, of every subject within these instants.
pub(crate) fn spreads(tracks: &Tracks, within: &RangeInclusive<i64>) -> (Spreads, Spreads) {
    let of = |figure: fn(&Track, &RangeInclusive<i64>) -> Option<UsageSpread>| {
        let known = tracks
            .iter()
            .filter_map(|(subject, track)| Some((subject.clone(), figure(track, within)?)));
        known.collect()
    };
    (of(cpus), of(memory))
}

fn cpus(track: &Track, within: &RangeInclusive<i64>) -> Option<UsageSpread> {
    let inside = track.iter().filter(|(t, ..)| within.contains(t));
    let known: Vec<(i64, u64)> = inside
        .filter_map(|(t, cpu, _)| Some((*t, (*cpu)?)))
        .collect();
    let between = known.windows(2).filter(|two| two[1].0 > two[0].0);
    let shares = between.map(|two| {
        let used = two[1].1.saturating_sub(two[0].1);
        used as f64 / (two[1].0 - two[0].0) as f64
    });
    UsageSpread::of(shares)
}

fn memory(track: &Track, within: &RangeInclusive<i64>) -> Option<UsageSpread> {
    let inside = track.iter().filter(|(t, ..)| within.contains(t));
    UsageSpread::of(inside.filter_map(|(.., memory)| memory.map(|bytes| bytes as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_window_varies_as_it_was_sampled() {
        // Half a CPU, then one; before and after the window it was idle.
        let track = vec![
            (-10, Some(0), Some(1)),
            (0, Some(0), Some(4)),
            (10, Some(5), Some(8)),
            (20, Some(15), Some(6)),
            (30, Some(15), Some(90)),
        ];
        let tracks = Tracks::from([("a".to_owned(), track)]);
        let (cpus, memory) = spreads(&tracks, &(0..=20));
        let cpus = cpus["a"];
        assert!((cpus.mean - 0.75).abs() < 1e-12 && (cpus.max - 1.0).abs() < 1e-12);
        assert!((cpus.std.unwrap() - 0.125_f64.sqrt()).abs() < 1e-12);
        let memory = memory["a"];
        assert_eq!((memory.mean, memory.std, memory.max), (6.0, Some(2.0), 8.0));
        // One sample has no interval, and no deviation.
        let (cpus, memory) = spreads(&tracks, &(20..=25));
        assert!(cpus.is_empty() && memory["a"].std.is_none());
        let both = [
            UsageSpread {
                std: None,
                ..memory["a"]
            },
            UsageSpread {
                mean: 0.0,
                std: Some(1.0),
                max: 2.0,
            },
        ];
        let mean = UsageSpread::mean_of(both.iter()).unwrap();
        assert_eq!((mean.mean, mean.std, mean.max), (3.0, Some(1.0), 4.0));
        assert_eq!(UsageSpread::mean_of([].iter()), None);
    }
}
