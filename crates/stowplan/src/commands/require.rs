//! `--require METRIC=MOST`: limits that every deployment has to keep, for CI.

use stowplan_judge::{Judgement, Mean, format};
use stowplan_model::{METRICS, MetricUnit, units};
use stowplan_plan::nearest;

use crate::failure::{CommandError, ExitCode, OrExit};

/// The most that the mean of a metric may be, in its unit.
#[derive(Debug, PartialEq)]
struct Requirement {
    metric: String,
    unit: MetricUnit,
    most: f64,
}

/// Everything that is required of a result.
#[derive(Debug, Default, PartialEq)]
pub struct Requirements(Vec<Requirement>);

impl Requirements {
    /// What the command line says.
    pub fn read(given: &[String]) -> Result<Self, CommandError> {
        let all = given.iter().map(|text| Requirement::read(text));
        Ok(Self(all.collect::<Result<_, _>>()?))
    }

    /// Whether every deployment keeps every limit.
    pub fn check(&self, judgement: &Judgement) -> Result<(), CommandError> {
        let mut broken = Vec::new();
        for requirement in &self.0 {
            broken.extend(requirement.broken(&judgement.means(&requirement.metric)));
        }
        if broken.is_empty() {
            return Ok(());
        }
        let message = format!("required and not so: {}", broken.join("; "));
        Err(CommandError::new(ExitCode::Regression, message))
    }
}

impl Requirement {
    fn read(text: &str) -> Result<Self, CommandError> {
        let wrong = |what: String| CommandError::new(ExitCode::Usage, what);
        let (metric, most) = text.split_once('=').ok_or_else(|| {
            wrong(format!("'{text}' is not METRIC=MOST"))
                .hint("write for example deadline_misses=1% or e2e_paper_p99=80ms")
        })?;
        let unit = MetricUnit::of(metric).ok_or_else(|| {
            wrong(format!("'{metric}' is no metric")).hint(nearest::hint_or_all(metric, &METRICS))
        })?;
        let most = match unit {
            MetricUnit::Time => units::parse_duration_ns(most)
                .map(|ns| ns as f64)
                .or_exit(ExitCode::Usage)?,
            MetricUnit::Bytes => units::parse_bytes(most)
                .map(|bytes| bytes as f64)
                .or_exit(ExitCode::Usage)?,
            MetricUnit::Share => units::parse_share(most).or_exit(ExitCode::Usage)?,
            MetricUnit::Cpus => {
                let cpus: Option<f64> = most.parse().ok();
                let cpus = cpus.filter(|cpus| cpus.is_finite() && *cpus >= 0.0);
                cpus.ok_or_else(|| wrong(format!("'{most}' is no number of CPUs, such as 1.5")))?
            }
        };
        Ok(Self {
            metric: metric.to_owned(),
            unit,
            most,
        })
    }

    /// Every deployment that is above it, in words.
    fn broken(&self, means: &[Mean]) -> Vec<String> {
        if means.is_empty() {
            return vec![format!("{} has no value", self.metric)];
        }
        let shown = |value| format::value(self.unit.name(), Some(value));
        let above = means.iter().filter(|mean| mean.value > self.most);
        let words = above.map(|mean| {
            let of = mean.subject.as_ref();
            let of = of.map_or_else(String::new, |subject| format!(" of {subject}"));
            format!(
                "{}{of} is {} on {} and may be {}",
                self.metric,
                shown(mean.value),
                mean.label,
                shown(self.most)
            )
        });
        words.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(value: f64) -> Mean {
        Mean {
            label: "oci · single".to_owned(),
            subject: Some("lidar_to_brake".to_owned()),
            value,
        }
    }

    #[test]
    fn a_limit_is_in_the_unit_of_its_metric() {
        for (text, unit, most) in [
            ("deadline_misses=1%", MetricUnit::Share, 0.01),
            ("e2e_paper_p99=80ms", MetricUnit::Time, 80e6),
            ("memory_pss=1MiB", MetricUnit::Bytes, 1_048_576.0),
            ("cpu=1.5", MetricUnit::Cpus, 1.5),
        ] {
            let read = Requirement::read(text).unwrap();
            assert_eq!((read.unit, read.most), (unit, most), "{text}");
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_may_be_meant() {
        for (text, said) in [
            ("deadline_misses", "is not METRIC=MOST"),
            ("deadline_mises=1%", "did you mean 'deadline_misses'?"),
            ("e2e_paper_p99=80", "is not a duration"),
            ("cpu=many", "is no number of CPUs"),
        ] {
            let error = Requirement::read(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage);
            let hint = error.hint.clone().unwrap_or_default();
            assert!(format!("{error} {hint}").contains(said), "{error} {hint}");
        }
    }

    #[test]
    fn what_is_above_its_limit_is_named_and_what_is_not_there_too() {
        let limit = Requirement::read("deadline_misses=1%").unwrap();
        assert_eq!(limit.broken(&[mean(0.01)]), Vec::<String>::new());
        assert_eq!(
            limit.broken(&[mean(0.01), mean(0.44)]),
            ["deadline_misses of lidar_to_brake is 44.00 % on oci · single and may be 1.00 %"]
        );
        assert_eq!(limit.broken(&[]), ["deadline_misses has no value"]);
    }
}
