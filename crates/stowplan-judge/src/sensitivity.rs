//! Whether the ranking of partitions survives where assumed parameters have other values.

use std::collections::BTreeMap;

use stowplan_results::{DeploymentRecord, RankedPair, Ranking};

use crate::ablation::typical;
use crate::compare::{comparable, plan};
use crate::figures::Figures;
use crate::metrics::{Metric, metrics};

/// Share of the blocks in which a ranking has to come out the same to be called one.
const DECIDED: f64 = 0.9;

/// Fewer blocks cannot tell 90 % from less: three come out the same by chance in one of four equal pairs.
const LEAST: usize = 10;

/// Rankings of the partitions at each place by the primary metrics; none where nothing was varied.
pub(crate) fn rankings(figures: &Figures) -> Vec<Ranking> {
    if figures.experiment.sensitivity.is_none() {
        return Vec::new();
    }
    let mut rankings = Vec::new();
    for metric in metrics(figures) {
        if !plan(&figures.experiment, &metric).is_some_and(|m| m.primary) {
            continue;
        }
        for at_place in by_place(figures) {
            rankings.extend(ranking(&metric, &at_place));
        }
    }
    rankings
}

/// Place, and the resources where they have a name.
fn place_of(deployment: &DeploymentRecord) -> String {
    let (place, resources) = (&deployment.place, &deployment.resources);
    resources
        .as_ref()
        .map_or_else(|| place.clone(), |name| format!("{place} · {name}"))
}

/// Deployments of several partitions at one place with the same resources.
fn by_place(figures: &Figures) -> Vec<Vec<&DeploymentRecord>> {
    let mut places: BTreeMap<(&str, Option<&str>), Vec<&DeploymentRecord>> = BTreeMap::new();
    for deployment in figures.deployments() {
        if deployment.variant.is_none() {
            places
                .entry((&deployment.place, deployment.resources.as_deref()))
                .or_default()
                .push(deployment);
        }
    }
    places.into_values().filter(|all| all.len() > 1).collect()
}

fn ranking(metric: &Metric, deployments: &[&DeploymentRecord]) -> Option<Ranking> {
    let values = |d: &DeploymentRecord| metric.values.get(&d.id);
    let all: Vec<_> = deployments
        .iter()
        .map(|d| values(d))
        .collect::<Option<_>>()?;
    let common = |block: &&u32| all.iter().all(|values| values.contains_key(*block));
    let blocks: Vec<u32> = all.first()?.keys().filter(common).copied().collect();
    let of_block = |d: &DeploymentRecord| -> Vec<f64> {
        let values = values(d).into_iter();
        values
            .flat_map(|v| blocks.iter().filter_map(move |b| v.get(b).copied()))
            .collect()
    };
    let mut ranked: Vec<(&DeploymentRecord, Vec<f64>)> =
        deployments.iter().map(|d| (*d, of_block(d))).collect();
    let usable = |v: &[f64]| comparable(metric.scale, v, v);
    if blocks.is_empty() || !ranked.iter().all(|(_, values)| usable(values)) {
        return None;
    }
    ranked.sort_by(|a, b| typical(metric.scale, &a.1).total_cmp(&typical(metric.scale, &b.1)));
    let survives = |block: usize| ranked.windows(2).all(|w| w[0].1[block] <= w[1].1[block]);
    let survived = (0..blocks.len()).filter(|block| survives(*block)).count();
    let pairs = ranked.windows(2).map(|w| RankedPair {
        first: w[0].0.id.clone(),
        second: w[1].0.id.clone(),
        survived: w[0].1.iter().zip(&w[1].1).filter(|(a, b)| a <= b).count(),
        decided: false,
    });
    let share = DECIDED * blocks.len() as f64;
    let decided = |survived: usize| blocks.len() >= LEAST && survived as f64 >= share;
    Some(Ranking {
        metric: metric.key.clone(),
        label: metric.label.clone(),
        subject: metric.subject.clone(),
        place: place_of(ranked[0].0),
        order: ranked.iter().map(|(d, _)| d.id.clone()).collect(),
        blocks: blocks.len(),
        survived,
        decided: decided(survived),
        pairs: pairs
            .map(|pair| RankedPair {
                decided: decided(pair.survived),
                ..pair
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_stats::{Direction, Scale};

    fn deployment(partition: &str) -> DeploymentRecord {
        DeploymentRecord {
            id: format!("oci.{partition}"),
            place: "oci".to_owned(),
            partition: partition.to_owned(),
            ..DeploymentRecord::default()
        }
    }

    fn metric(values: &[(&str, &[f64])]) -> Metric {
        let by_block = |v: &[f64]| (1..).zip(v.iter().copied()).collect();
        Metric {
            key: "e2e_paper_mean".to_owned(),
            label: "e2e mean".to_owned(),
            unit: "ns".to_owned(),
            direction: Direction::LowerIsBetter,
            subject: None,
            scale: Scale::LogRatio,
            of_phase: true,
            of_loss: true,
            values: values
                .iter()
                .map(|(partition, v)| (format!("oci.{partition}"), by_block(v)))
                .collect(),
        }
    }

    fn ranked(values: &[(&str, &[f64])]) -> Option<Ranking> {
        let deployments: Vec<_> = values.iter().map(|(p, _)| deployment(p)).collect();
        let deployments: Vec<_> = deployments.iter().collect();
        ranking(&metric(values), &deployments)
    }

    #[test]
    fn a_ranking_that_nine_of_ten_blocks_have_is_decided() {
        let single = [10.0; 10];
        let mut modules = [12.0; 10];
        modules[3] = 9.0;
        let ranking = ranked(&[("modules", &modules), ("single", &single)]).unwrap();
        assert_eq!(ranking.order, ["oci.single", "oci.modules"]);
        assert_eq!((ranking.survived, ranking.blocks), (9, 10));
        assert!(ranking.decided);
        modules[4] = 9.0;
        let ranking = ranked(&[("modules", &modules), ("single", &single)]).unwrap();
        assert_eq!((ranking.survived, ranking.decided), (8, false));
    }

    #[test]
    fn of_three_one_pair_can_be_decided_and_the_whole_not() {
        let (a, b, c) = ([1.0; 12], [5.0; 12], [6.0, 4.9].repeat(6));
        let ranking = ranked(&[("c", &c), ("a", &a), ("b", &b)]).unwrap();
        assert_eq!(ranking.order, ["oci.a", "oci.b", "oci.c"]);
        assert_eq!((ranking.survived, ranking.decided), (6, false));
        let pairs: Vec<(usize, bool)> = ranking
            .pairs
            .iter()
            .map(|p| (p.survived, p.decided))
            .collect();
        assert_eq!(pairs, [(12, true), (6, false)]);
    }

    #[test]
    fn few_blocks_decide_nothing() {
        let ranking = ranked(&[("a", &[1.0; 9]), ("b", &[2.0; 9])]).unwrap();
        assert_eq!((ranking.survived, ranking.decided), (9, false));
    }

    #[test]
    fn only_blocks_that_all_have_are_counted() {
        let ranking = ranked(&[("a", &[1.0, 2.0, 3.0]), ("b", &[2.0, 3.0])]).unwrap();
        assert_eq!(ranking.blocks, 2);
        assert_eq!(ranked(&[("a", &[]), ("b", &[2.0])]), None);
    }
}
