//! What a reader has to know before believing a figure.

use std::collections::BTreeMap;

use stowplan_results::{
    ColdState, DeploymentRecord, Effect, Experiment, InjectionRecord, RunStatus,
};

use crate::controls::{effect, missing_controls};
use crate::figures::{Figures, RESIDENT};
use crate::latency::Part;
use crate::marked::STEAL;
use crate::usage::{ENGINE, MACHINE};
use crate::{equality, instrument, isolation, phases, work};

/// Programs that are named in a warning.
const NAMED: usize = 3;

/// Share of the machine's CPU time that may stay unexplained.
const RESIDUAL: f64 = 0.05;

impl Figures {
    /// Whether the instrument is calibrated on this machine, how well it did, and whether work took its time, in one line.
    #[must_use]
    pub fn instrument(&self) -> String {
        let line = instrument::line(self.selftest.as_ref(), &self.experiment.machine);
        match &self.work {
            Some(work) => format!("{line}; {work}"),
            None => line,
        }
    }

    /// What a reader has to know before believing a figure, most important first.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.experiment.warnings.clone();
        if self.experiment.scale_factor.is_some_and(|f| f != 1.0) {
            warnings.push(scaled(&self.experiment));
        }
        if let Some(varied) = &self.experiment.sensitivity {
            warnings.push(format!(
                "{} assumed parameters have other values in every block: figures are over their ranges, not those of the stack as \
                 its file has it",
                varied.varied.len()
            ));
        }
        for d in &self.experiment.deployments {
            if let Some(reason) = &d.refused {
                warnings.push(format!("{} did not run: {reason}", d.label));
            }
            if d.emulated {
                warnings.push(format!(
                    "{} runs in emulation: its times say nothing about hardware",
                    d.label
                ));
            }
            if let Some(injected) = &d.injected {
                warnings.push(format!("{}: {}", d.label, of_injection(injected)));
            }
            warnings.extend(
                d.deviations
                    .iter()
                    .map(|text| format!("{}: {text}", d.label)),
            );
        }
        warnings.extend(work::unsteady(&self.experiment.calibration));
        warnings.extend(self.unasked());
        warnings.extend(self.without_controls());
        warnings.extend(self.other_groups());
        warnings.extend(self.phase_warnings());
        warnings.extend(self.ablation_warnings());
        warnings.extend(self.unanswered());
        let throttled = self.throttled.iter();
        warnings.extend(throttled.map(|t| t.sentence(self.label(&t.deployment))));
        warnings.extend(self.residuals());
        warnings.extend(self.run_warnings());
        warnings
    }

    /// Timers whose phases were not equal though they had to be.
    fn phase_warnings(&self) -> Vec<String> {
        if self.has_natural_phases() {
            return Vec::new();
        }
        phases::warnings(&self.phases, |id| {
            let deployment = self.experiment.deployment(id);
            deployment.is_some_and(|d| d.injected.is_none())
        })
    }

    /// In what deployments differ from the reference though nobody asked for it.
    fn unasked(&self) -> Vec<String> {
        let reference = self.experiment.reference_id();
        let Some(reference) = reference.and_then(|id| self.experiment.deployment(id)) else {
            return Vec::new();
        };
        let all = self.experiment.deployments.iter();
        all.filter_map(|own| equality::unasked(reference, own))
            .collect()
    }

    /// Containers of which nothing can be said against the reference, for want of plain processes like them.
    fn without_controls(&self) -> Vec<String> {
        let reference = self.experiment.reference_id();
        let Some(reference) = reference.and_then(|id| self.experiment.deployment(id)) else {
            return Vec::new();
        };
        self.alternatives()
            .iter()
            .filter_map(|own| {
                let reason = missing_controls(self, (reference, own))?;
                Some(format!("{}: {reason}", own.label))
            })
            .collect()
    }

    /// Containers whose control has groups that lie otherwise.
    fn other_groups(&self) -> Vec<String> {
        let ran = self.deployments();
        let pairs = ran.iter().flat_map(|a| ran.iter().map(move |b| (*a, *b)));
        let isolated = pairs.filter(|(a, b)| effect(a, b) == Effect::Isolation);
        isolated
            .filter_map(|(control, own)| equality::other_groups(control, own))
            .collect()
    }

    /// Isolation that the steps of an ablation had or lacked against their plan.
    fn ablation_warnings(&self) -> Vec<String> {
        let steps = self.experiment.ablation.iter();
        let ran = steps.filter_map(|s| self.experiment.deployment(&s.deployment));
        let ran: Vec<&DeploymentRecord> = ran.filter(|d| !d.fingerprint.is_empty()).collect();
        let Some((plain, others)) = ran.split_first() else {
            return Vec::new();
        };
        let told = others.iter().flat_map(|d| {
            let texts = isolation::deviations(plain, d).into_iter();
            texts.map(move |text| format!("{}: {text}", d.label))
        });
        told.collect()
    }

    /// Chains with inputs after which no output came any more.
    fn unanswered(&self) -> impl Iterator<Item = String> {
        let all = self.latency.iter();
        let told = all.filter(|c| c.unanswered > 0 && c.part(Part::Reaction).is_some());
        told.map(|c| {
            format!(
                "{}: no output of chain {} came after {} of {} inputs while events were recorded: the longest reaction is \
                 longer than any that is shown",
                self.label(&c.deployment),
                c.chain,
                c.unanswered,
                c.inputs
            )
        })
    }

    /// CPU time of the machine that nothing known used, and who did.
    fn residuals(&self) -> impl Iterator<Item = String> {
        self.usage.iter().filter_map(|view| {
            let machine = view.cpus(MACHINE)?;
            let share = view.rest_cpus()? / machine;
            (machine > 0.0 && share.abs() > RESIDUAL).then(|| {
                format!(
                    "{}: {:.1} % of the machine's CPU time is neither the services'{} nor Stowplan's{}",
                    self.label(&view.deployment),
                    share * 100.0,
                    view.cpus(ENGINE).map_or("", |_| " nor the engine's"),
                    most_of(&view.others(), machine)
                )
            })
        })
    }

    fn run_warnings(&self) -> Vec<String> {
        // Equal texts of many runs become one line.
        let mut texts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let stolen = self.runs.iter().filter_map(|run| run.steal);
        let most_stolen = stolen.fold(0.0, f64::max);
        for run in &self.runs {
            let mut add = |text: String| texts.entry(text).or_default().push(run.run);
            match run.status {
                RunStatus::Finished => {}
                status => add(format!(
                    "{} {status}: {}",
                    self.label(&run.deployment),
                    run.reason.as_deref().unwrap_or("no reason given")
                )),
            }
            if let Some(discarded @ 1..) = run.discarded {
                add(format!(
                    "{discarded} trace events found no room and are missing"
                ));
            }
            if run.cold == Some(ColdState::Failed) {
                let why = run.cold_reason.as_deref();
                add(format!(
                    "{} was not cold, left out of cold start-up: {}",
                    self.label(&run.deployment),
                    why.unwrap_or(RESIDENT)
                ));
            }
            if run.quiet == Some(false) {
                add("the machine did not become quiet before the run".to_owned());
            }
            if run.steal.is_some_and(|steal| steal > STEAL) {
                add(format!(
                    "the hypervisor took more than 0.5 % of the CPU time, {:.1} % at most",
                    100.0 * most_stolen
                ));
            }
            if let Some(changed) = &run.changed {
                add(format!(
                    "not the environment of its deployment's first run: {changed}"
                ));
            }
            run.warnings.iter().cloned().for_each(&mut add);
        }
        let lines = texts.into_iter().map(|(text, runs)| match &runs[..] {
            [one] => format!("run {one}: {text}"),
            many => format!("{} runs ({}): {text}", many.len(), ranges(many)),
        });
        lines.collect()
    }
}

/// What was put into a deployment on purpose, so that nobody takes it for a measurement.
fn of_injection(injected: &InjectionRecord) -> String {
    let what = match (injected.work_factor, injected.later_ns) {
        (Some(factor), _) => format!("does {factor:.4} times its work"),
        (None, Some(later_ns)) => format!("is released {} ms later", later_ns as f64 / 1e6),
        (None, None) => "is changed".to_owned(),
    };
    format!(
        "{} {what}, to test the instrument: not a measurement of the stack",
        injected.callback
    )
}

fn scaled(experiment: &Experiment) -> String {
    let factor = experiment.scale_factor.unwrap_or(1.0);
    let mut text =
        format!("callback work is scaled by {factor:.4}: not a prediction for the vehicle");
    if !experiment.not_scaled.is_empty() {
        text += &format!("; not scaled: {}", experiment.not_scaled.join(", "));
    }
    text
}

/// Ascending numbers as `1-3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let length = (1..rest.len())
            .find(|i| rest[*i] != rest[i - 1] + 1)
            .unwrap_or(rest.len());
        if !text.is_empty() {
            text += ", ";
        }
        text += &match length {
            1 => first.to_string(),
            _ => format!("{first}-{}", rest[length - 1]),
        };
        rest = &rest[length..];
    }
    text
}

/// The programs that used most of the rest, as shares of what the machine used.
fn most_of(others: &[(&str, f64)], machine: f64) -> String {
    let told = others.iter().take(NAMED).map(|(program, cpus)| {
        let percent = cpus / machine * 100.0;
        format!("{program} {percent:.1} %")
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return String::new();
    }
    format!("; of other programs {} used most", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10");
        assert_eq!(ranges(&[]), "");
    }
}
