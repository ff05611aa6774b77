//! Engine and measure: each place of a partition as a percentage of plain processes in one group there, and of plain processes in groups like
//! its own (docs/measuring.md §2).

use serde::Serialize;
use stowplan_results::{Comparison, DeploymentRecord};

use crate::judgement::Judgement;
use crate::names::difference_name;

/// Measures beside what was declared primary, in the order in which they stand.
const MEASURES: [&str; 4] = [
    "startup_first_output",
    "e2e_paper_mean",
    "cpu",
    "memory_peak",
];

/// The places at which one partition ran.
#[derive(Debug, Serialize)]
pub struct AtPartition<'a> {
    /// The partition.
    pub partition: &'a str,
    /// What its deployments are given of the machine, by name.
    pub resources: Option<&'a str>,
    /// The variant of its deployments.
    pub variant: Option<&'a str>,
    /// Id of its plain processes in one group; null where they did not run.
    pub flat: Option<&'a str>,
    /// Plain processes first.
    pub places: Vec<Place<'a>>,
    /// What was compared there.
    pub measures: Vec<Measure<'a>>,
}

/// A place there.
#[derive(Debug, Serialize)]
pub struct Place<'a> {
    /// Id of its deployment.
    pub deployment: &'a str,
    /// Its name.
    pub place: &'a str,
    /// Id of the plain processes in groups that it is held against.
    pub control: Option<&'a str>,
}

/// A metric by which they are compared.
#[derive(Debug, Serialize)]
pub struct Measure<'a> {
    /// Its key.
    pub metric: &'a str,
    /// What it is of: a chain, or a kind of start.
    pub subject: Option<&'a str>,
    /// Both, for people.
    pub name: String,
    /// Its unit.
    pub unit: &'a str,
    /// Mean of the plain processes in one group.
    pub flat_value: Option<f64>,
}

/// Every partition at which places can be held against plain processes.
#[must_use]
pub fn all(judgement: &Judgement) -> Vec<AtPartition<'_>> {
    let mut groups: Vec<Vec<&DeploymentRecord>> = Vec::new();
    for d in judgement.figures.alternatives() {
        let same = |g: &&mut Vec<&DeploymentRecord>| {
            (&g[0].partition, g[0].factors()) == (&d.partition, d.factors())
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(d),
            None => groups.push(vec![d]),
        }
    }
    let all = groups
        .into_iter()
        .map(|group| at_partition(judgement, group));
    all.filter(|at| !at.measures.is_empty()).collect()
}

impl AtPartition<'_> {
    /// The place of plain processes in one group, for people.
    #[must_use]
    pub fn flat_name(&self) -> &str {
        let flat = self.places.iter().find(|p| Some(p.deployment) == self.flat);
        flat.map_or("plain processes in one group", |p| p.place)
    }
}

fn at_partition<'a>(
    judgement: &'a Judgement,
    mut group: Vec<&'a DeploymentRecord>,
) -> AtPartition<'a> {
    group.sort_by_key(|d| (!d.is_flat(), !d.is_plain()));
    let at = |place: &str| group.iter().find(|d| d.place == place).map(|d| &*d.id);
    let flat = group.iter().find(|d| d.is_flat()).map(|d| &*d.id);
    let places: Vec<Place<'_>> = group
        .iter()
        .map(|d| Place {
            deployment: &d.id,
            place: &d.place,
            control: d.controls().iter().find_map(|place| at(place)),
        })
        .collect();
    AtPartition {
        partition: &group[0].partition,
        resources: group[0].resources.as_deref(),
        variant: group[0].variant.as_deref(),
        measures: measures(judgement, flat, &places),
        flat,
        places,
    }
}

/// What was compared at this partition.
fn measures<'a>(
    judgement: &'a Judgement,
    flat: Option<&str>,
    places: &[Place<'a>],
) -> Vec<Measure<'a>> {
    let is_shown = |c: &&Comparison| {
        let mut here = places.iter().filter(|p| c.candidate == p.deployment);
        let held = here.any(|p| [flat, p.control].contains(&Some(&*c.reference)));
        held && (c.primary || MEASURES.contains(&&*c.metric))
    };
    let mut measures: Vec<Measure<'_>> = Vec::new();
    for c in judgement.comparisons.iter().filter(is_shown) {
        let of_flat = (flat == Some(&*c.reference)).then_some(c.reference_value);
        let same =
            |m: &&mut Measure<'_>| (m.metric, m.subject) == (&*c.metric, c.subject.as_deref());
        match measures.iter_mut().find(same) {
            Some(known) => known.flat_value = known.flat_value.or(of_flat.flatten()),
            None => measures.push(Measure {
                metric: &c.metric,
                subject: c.subject.as_deref(),
                name: difference_name(c),
                unit: &c.unit,
                flat_value: of_flat.flatten(),
            }),
        }
    }
    let position = |m: &Measure<'_>| MEASURES.iter().position(|metric| *metric == m.metric);
    measures.sort_by_key(|m| position(m).unwrap_or(MEASURES.len()));
    measures
}
