//! What each place was configured to do: what was asked for and what was read back, a row where one place did the same at
//! several partitions.

use std::collections::BTreeMap;

use stowplan_judge::{Judgement, engine_of};
use stowplan_results::{DeploymentRecord, LimitsRecord};

use crate::format::{bytes, dash};
use crate::text_table::TextTable;

pub(crate) fn table(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "What each place was configured to do",
        format!(
            "Engine, root and groups as they were read back; isolation and limits as they were asked for; – is the engine's own \
             or not known.{}",
            asked_at_once(report)
        ),
        &["Place"],
        &[
            "Engine",
            "Root",
            "CPU groups",
            "Isolation on",
            "Isolation off",
            "Limits",
            "Not as asked",
        ],
    );
    let ran = report.figures.alternatives();
    let mut rows: Vec<(Vec<&DeploymentRecord>, [String; 7])> = Vec::new();
    for d in &ran {
        let facts = facts(report, d);
        let same = rows.iter_mut().find(|(of, known)| {
            (&of[0].place, of[0].factors()) == (&d.place, d.factors()) && *known == facts
        });
        match same {
            Some((of, _)) => of.push(*d),
            None => rows.push((vec![*d], facts)),
        }
    }
    for (of, facts) in rows {
        let place =
            |d: &&&DeploymentRecord| (&d.place, d.factors()) == (&of[0].place, of[0].factors());
        let everywhere = ran.iter().filter(place).count() == of.len();
        let mut name = vec![&*of[0].place];
        let partitions: Vec<&str> = of.iter().map(|d| &*d.partition).collect();
        let partitions = partitions.join(", ");
        if !everywhere {
            name.push(&partitions);
        }
        let (resources, variant) = of[0].factors();
        name.extend(resources.into_iter().chain(variant));
        let row = [name.join(" · ")].into_iter().chain(facts);
        table.rows.push(row.collect());
    }
    table
}

/// Results of before this was a parameter do not say it.
pub(crate) fn asked_at_once(report: &Judgement) -> String {
    let told = report.figures.experiment.parameters.get("parallelism");
    let told = told.and_then(|value| value.as_str());
    told.map_or_else(String::new, |text| {
        format!(" Engines are asked for {text}.")
    })
}

fn facts(report: &Judgement, d: &DeploymentRecord) -> [String; 7] {
    let read_back = |name: &str| d.fingerprint.get(name).cloned().unwrap_or_else(dash);
    let features = |on: bool| {
        let all = d.isolation.iter().filter(|(_, is)| **is == on);
        listed(all.map(|(feature, _)| feature.replace('_', " ")), ", ")
    };
    [
        engine(report, d),
        read_back("root.mount"),
        read_back("cpu.levels"),
        features(true),
        features(false),
        limits(&d.limits),
        listed(d.deviations.iter().cloned(), "; "),
    ]
}

/// Version of the engine of a place, and what its label says.
fn engine(report: &Judgement, d: &DeploymentRecord) -> String {
    let version = report
        .figures
        .experiment
        .versions
        .get(engine_of(&d.place))
        .cloned();
    let label = d.fingerprint.iter().filter_map(|(key, value)| {
        let fact = key.strip_prefix("engine.")?.replace('_', " ");
        Some(format!("{fact} {value}"))
    });
    listed(version.into_iter().chain(label), ", ")
}

fn limits(all: &BTreeMap<String, LimitsRecord>) -> String {
    let texts = all.iter().filter_map(|(service, of)| {
        let text = limit(of);
        (text != dash()).then(|| format!("{service}: {text}"))
    });
    listed(texts, "; ")
}

fn limit(of: &LimitsRecord) -> String {
    let cpus = of.cpuset.as_ref().map(|cpus| {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        format!("CPUs {}", cpus.join(" "))
    });
    let texts = [
        cpus,
        of.cpu_weight.map(|weight| format!("weight {weight}")),
        of.cpu_quota.map(|quota| format!("at most {quota} CPUs")),
        of.memory_bytes.map(|limit| bytes(limit as f64)),
        of.scheduling.clone(),
    ];
    listed(texts.into_iter().flatten(), ", ")
}

fn listed(texts: impl Iterator<Item = String>, between: &str) -> String {
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        dash()
    } else {
        texts.join(between)
    }
}
