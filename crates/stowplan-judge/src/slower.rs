//! What got slower where a chain did: the parts of its latency and its callbacks, each as a difference in ns.
//!
//! Differences in ns and not ratios, because those of the parts add up to that of the whole: what grew most in ns is
//! what the chain lost most by, however short it was before.

use std::collections::BTreeMap;

use stowplan_results::{CallbackGrowth, Comparison, DeploymentRecord, Growth, PartGrowth, Slower};
use stowplan_stats::{ALPHA, Estimate, StatsError, Verdict};

use crate::averages::by_block;
use crate::blocks::Blocks;
use crate::callbacks::{CallTimes, CallbackTimes};
use crate::error::JudgeError;
use crate::figures::Figures;
use crate::latency::Part;
use crate::metrics::{LOST_INPUTS, Values};
use crate::names::after;
use crate::usage::mean;

/// Metrics of a chain that say that it is worse as a whole.
const WHOLE: [&str; 2] = ["e2e_paper_mean", LOST_INPUTS];

/// The three parts of communication, where they are known apart.
const APART: [Part; 3] = [Part::Send, Part::Transport, Part::Wait];

/// What a deployment is held against.
pub(crate) enum Before<'a> {
    /// A reference, by its id, in the same blocks of the same result.
    Reference(&'a str),
    /// Itself in an earlier result, by the reference that both have.
    Earlier(&'a Figures, &'a str),
    /// Itself as it was before, in the same blocks.
    Again(&'a Figures),
}

/// A deployment and what it is held against.
pub(crate) struct Compared<'a> {
    pub(crate) before: Before<'a>,
    /// The result, or the later one.
    pub(crate) new: &'a Figures,
    /// The candidate; of the later result where there are two.
    pub(crate) candidate: &'a DeploymentRecord,
}

/// What got slower in each of these deployments, which comparisons across results call by their later name.
pub(crate) fn slower_of<'a>(
    candidates: impl IntoIterator<Item = &'a DeploymentRecord>,
    rows: &[Comparison],
    held: impl Fn(&'a DeploymentRecord) -> Compared<'a>,
) -> Result<Vec<Slower>, JudgeError> {
    let mut slower = Vec::new();
    for candidate in candidates {
        let name = after(&candidate.id);
        let own: Vec<&Comparison> = rows.iter().filter(|c| c.candidate == name).collect();
        slower.extend(held(candidate).slower(&own)?);
    }
    Ok(most_first(slower))
}

/// The chain that lost most first: of many that are worse, most by chance or a little, it is the one to look at. One of which no
/// latency is left to compare stands before all.
pub(crate) fn most_first(mut slower: Vec<Slower>) -> Vec<Slower> {
    let grown = |one: &Slower| {
        let parts = one.parts.iter().map(|part| part.growth.difference_ns);
        parts
            .reduce(|sum, part| sum + part)
            .unwrap_or(f64::INFINITY)
    };
    slower.sort_by(|a, b| grown(b).total_cmp(&grown(a)));
    slower
}

impl Compared<'_> {
    /// Where every chain got slower that is worse in `rows`, the comparisons of this pair.
    pub(crate) fn slower(&self, rows: &[&Comparison]) -> Result<Vec<Slower>, JudgeError> {
        let mut worse: BTreeMap<&str, Vec<&Comparison>> = BTreeMap::new();
        for row in rows {
            if let Some(chain) = &row.subject
                && row.verdict == Verdict::Worse
                && WHOLE.contains(&&*row.metric)
            {
                worse.entry(chain).or_default().push(row);
            }
        }
        let slower = worse.into_iter().map(|(chain, rows)| {
            Ok(Slower {
                chain: chain.to_owned(),
                metrics: rows.iter().map(|row| row.metric.clone()).collect(),
                reference: rows[0].reference.clone(),
                candidate: rows[0].candidate.clone(),
                parts: self.parts(chain)?,
                callbacks: self.callbacks(chain)?,
            })
        });
        slower.collect()
    }

    fn parts(&self, chain: &str) -> Result<Vec<PartGrowth>, JudgeError> {
        let mut parts = self.grown(&[Part::Computation, Part::Idle], chain)?;
        let apart = self.grown(&APART, chain)?;
        if apart.len() == APART.len() {
            parts.extend(apart);
        } else {
            parts.extend(self.grown(&[Part::Communication], chain)?);
        }
        parts.sort_by(|a, b| largest_first(&a.growth, &b.growth));
        Ok(parts)
    }

    /// Those of `parts` of which both sides have samples.
    fn grown(&self, parts: &[Part], chain: &str) -> Result<Vec<PartGrowth>, JudgeError> {
        let mut grown = Vec::new();
        for part in parts {
            let what = format!("growth of {} of {chain}", part.key());
            let values = |figures: &Figures| part_values(figures, chain, *part);
            if let Some(growth) = self.growth(&what, &values)? {
                let part = part.key().to_owned();
                grown.push(PartGrowth { part, growth });
            }
        }
        Ok(grown)
    }

    fn callbacks(&self, chain: &str) -> Result<Vec<CallbackGrowth>, JudgeError> {
        let of_chain = self.new.experiment.stack.chain_callbacks.get(chain);
        let counts = |name: &String| of_chain.is_none_or(|known| known.contains(name));
        let mut grown = Vec::new();
        for called in self.new.callbacks.iter().filter(|c| counts(&c.callback)) {
            let what = format!("growth of {}", called.callback);
            let wall = |figures: &Figures| {
                call_values(figures, &called.callback, |t| Some(t.wall_mean_ns()))
            };
            let Some(wall) = self.growth(&what, &wall)? else {
                continue;
            };
            let cpu =
                |figures: &Figures| call_values(figures, &called.callback, CallTimes::cpu_mean_ns);
            let cpu = self.growth(&what, &cpu)?;
            grown.push(CallbackGrowth {
                callback: called.callback.clone(),
                service: self.service(called),
                wall,
                cpu_reason: cpu
                    .is_none()
                    .then(|| "CPU time of calls was not recorded; --callback-cpu does".to_owned()),
                cpu,
            });
        }
        grown.sort_by(|a, b| largest_first(&a.wall, &b.wall));
        Ok(grown)
    }

    fn service(&self, called: &CallbackTimes) -> Option<String> {
        let mut partitions = self.new.experiment.partitions.iter();
        let partition = partitions.find(|p| p.name == self.candidate.partition)?;
        partition.nodes.get(called.node.as_ref()?).cloned()
    }

    /// How a duration changed; nothing where the sides have no blocks that can be paired.
    fn growth(
        &self,
        what: &str,
        values: &dyn Fn(&Figures) -> Values,
    ) -> Result<Option<Growth>, JudgeError> {
        let own = &*self.candidate.id;
        let beside = |figures, reference| Blocks::of_values(&values(figures), reference, own);
        let pilot = |figures: &Figures| figures.experiment.pilot_blocks();
        let new = pilot(self.new);
        let grown = match self.before {
            Before::Reference(reference) => within(&beside(self.new, reference), new),
            Before::Earlier(old, reference) => between(
                (&beside(old, reference), pilot(old)),
                (&beside(self.new, reference), new),
            ),
            Before::Again(old) => {
                let (old, after) = (values(old), values(self.new));
                within(&Blocks::paired(old.get(own), after.get(own), |_| true), new)
            }
        };
        grown.map_err(JudgeError::stats(what))
    }
}

fn within(blocks: &Blocks, pilot: Option<usize>) -> Result<Option<Growth>, StatsError> {
    let differences = blocks.differences();
    let (Some(before), Some(after)) = (average(&blocks.a), average(&blocks.b)) else {
        return Ok(None);
    };
    if differences.len() == 1 {
        return Ok(Some(Growth {
            before_ns: before,
            after_ns: after,
            difference_ns: after - before,
            low_ns: None,
            high_ns: None,
            blocks: 1,
        }));
    }
    let estimate = Estimate::mean_of_blocks(&differences, pilot)?;
    growth((before, after), &estimate, differences.len()).map(Some)
}

/// Blocks, and how many of them were a pilot that fixed their number.
type Piloted<'a> = (&'a Blocks, Option<usize>);

fn between(
    (old, old_pilot): Piloted<'_>,
    (new, new_pilot): Piloted<'_>,
) -> Result<Option<Growth>, StatsError> {
    let (before, after) = (old.differences(), new.differences());
    let fewer = before.len().min(after.len());
    match (average(&old.b), average(&new.b)) {
        // One block has no spread to hold the other result against.
        (Some(old), Some(new)) if fewer > 1 => {
            let estimate = Estimate::mean_of_blocks(&after, new_pilot)?
                .less(Estimate::mean_of_blocks(&before, old_pilot)?);
            growth((old, new), &estimate, fewer).map(Some)
        }
        _ => Ok(None),
    }
}

fn growth(
    (before_ns, after_ns): (f64, f64),
    estimate: &Estimate,
    blocks: usize,
) -> Result<Growth, StatsError> {
    let interval = estimate.interval(1.0 - ALPHA)?;
    Ok(Growth {
        before_ns,
        after_ns,
        difference_ns: estimate.value,
        low_ns: Some(interval.low),
        high_ns: Some(interval.high),
        blocks,
    })
}

fn average(values: &[f64]) -> Option<f64> {
    mean(values.iter().copied())
}

fn part_values(figures: &Figures, chain: &str, part: Part) -> Values {
    let of_chain = figures.latency.iter().filter(|c| c.chain == chain);
    let by = of_chain.map(|view| {
        let runs = view.runs.iter();
        let means = runs.filter_map(|r| Some((r.block, r.parts.get(&part)?.mean?)));
        (view.deployment.clone(), by_block(means))
    });
    by.collect()
}

fn call_values(
    figures: &Figures,
    callback: &str,
    of: impl Fn(&CallTimes) -> Option<f64>,
) -> Values {
    let called = figures.callbacks.iter().find(|c| c.callback == callback);
    let by = called.into_iter().flat_map(|called| {
        called.by_block.iter().map(|(deployment, blocks)| {
            let values = blocks.iter();
            let values = values.filter_map(|(block, times)| Some((*block, of(times)?)));
            (deployment.clone(), values.collect())
        })
    });
    by.collect()
}

fn largest_first(a: &Growth, b: &Growth) -> std::cmp::Ordering {
    b.difference_ns.total_cmp(&a.difference_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain that is worse, by how much its parts grew, ns.
    fn worse(chain: &str, parts: &[f64]) -> Slower {
        let growth = |difference_ns: f64| Growth {
            before_ns: 1.0,
            after_ns: 1.0 + difference_ns,
            difference_ns,
            low_ns: None,
            high_ns: None,
            blocks: 1,
        };
        let parts = parts.iter().map(|grown| PartGrowth {
            part: "wait".to_owned(),
            growth: growth(*grown),
        });
        Slower {
            chain: chain.to_owned(),
            metrics: Vec::new(),
            reference: "before".to_owned(),
            candidate: "after".to_owned(),
            parts: parts.collect(),
            callbacks: Vec::new(),
        }
    }

    #[test]
    fn the_chain_that_lost_most_is_named_first() {
        let all = vec![
            worse("a little", &[3.0, -1.0]),
            worse("much", &[20.0, -5.0]),
            worse("nothing left", &[]),
            worse("more of one part", &[16.0, -10.0]),
        ];
        let named: Vec<String> = most_first(all).into_iter().map(|one| one.chain).collect();
        assert_eq!(
            named,
            ["nothing left", "much", "more of one part", "a little"]
        );
    }
}
