//! The row of a run, the checks that make it count, and its other rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use stowplan_measure::rows::{
    HostRows, Known, Modules, RunKey, StartUpFacts, callback_rows, edge_rows, latency_rows,
    loss_rows, memory_rows, output_rows, process_rows, startup_rows, usage_rows,
};
use stowplan_measure::{Measured, MeasuredHost, Preempted, RunError};
use stowplan_model::{Stack, WorkSpeed};
use stowplan_replay::Replayed;
use stowplan_results::{ColdState, RunData, RunRow, RunStatus, ScheduledRun};
use stowplan_site::Armed;
use stowplan_wire::announce::{Announcement, TagCounts};
use stowplan_wire::host::{HYPERVISOR, Preemptions, UsageSample};

use crate::analyse::Analysed;
use crate::edges;
use crate::prepare::Planned;
use crate::replay::execution_rows;

/// Share of pages that may still be resident in a cold start (docs/measuring.md §4).
const COLD_RESIDENT: f64 = 0.01;

/// What is known of a run besides its measurements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts<'a> {
    pub scheduled: &'a ScheduledRun,
    pub planned: &'a Planned,
    pub began_unix: Duration,
    pub quiet: bool,
    pub window_ns: Option<u64>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// The stack of its block.
    pub stack: &'a Stack,
    /// What the calibration of its block gives.
    pub speed: Option<&'a WorkSpeed>,
    pub program_sha256: &'a str,
    /// What was replayed.
    pub replayed: Option<&'a Replayed>,
}

/// Counters of all processes added up, with what LTTng recorded.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Totals {
    events: u64,
    discarded: u64,
    published: u64,
    taken: u64,
    lost: u64,
    tags: TagCounts,
}

fn totals(measured: &Measured) -> Totals {
    let mut totals = Totals::default();
    for announced in measured.announcements() {
        if let Announcement::Counters {
            recorded,
            discarded,
            published,
            taken,
            lost,
            tags,
            ..
        } = &announced.announcement
        {
            totals.events += recorded.values().sum::<u64>();
            totals.discarded += discarded.values().sum::<u64>();
            totals.published += published.values().sum::<u64>();
            totals.taken += taken.values().sum::<u64>();
            totals.lost += lost.values().sum::<u64>();
            for of in tags.values() {
                totals.tags.shown += of.shown;
                totals.tags.wrong += of.wrong;
            }
        }
    }
    for host in &measured.hosts {
        totals.events += host.recording.events;
        totals.discarded += host.recording.discarded;
    }
    totals
}

/// What makes a run count: one and the same program everywhere, a trace that has what was recorded, and tags that were found.
pub(crate) fn check(
    measured: &Measured,
    analysed: &Analysed,
    facts: &RunFacts<'_>,
) -> Result<(), RunError> {
    let digests = measured.hosts.iter().flat_map(|host| &host.digests);
    let foreign: BTreeSet<&str> = digests
        .map(|d| d.sha256.as_str())
        .filter(|sha| *sha != facts.program_sha256)
        .collect();
    if let Some(sha) = foreign.first() {
        return Err(RunError::new(format!(
            "a process executes another program than the image's: SHA-256 {sha}, not {}",
            facts.program_sha256
        )));
    }
    let payload = analysed.analysis.check_payload();
    if let Some(mismatch) = payload.first_mismatches.first() {
        return Err(RunError::new(format!(
            "{} of {} links found in the trace contradict the payload, the first: {}",
            payload.mismatches, payload.checked, mismatch.reason
        )));
    }
    let Totals {
        events: recorded,
        tags,
        ..
    } = totals(measured);
    if tags.wrong > 0 {
        return Err(RunError::new(format!(
            "detectors were wrong about {} of {} tags in images",
            tags.wrong, tags.shown
        )));
    }
    // Events of a distribution that nobody knows here are counted and not understood.
    let found = analysed.analysis.events + analysed.analysis.records.gaps.unreadable_events;
    if found != recorded {
        return Err(RunError::new(format!(
            "the trace has {found} events, the nodes and LTTng recorded {recorded}"
        )));
    }
    Ok(())
}

fn row(facts: &RunFacts<'_>, status: RunStatus, reason: Option<&str>) -> RunRow {
    RunRow {
        reason: reason.map(Into::into),
        start_unix_ns: i64::try_from(facts.began_unix.as_nanos()).unwrap_or(i64::MAX),
        window_ns: facts.window_ns.and_then(|ns| i64::try_from(ns).ok()),
        calibration_ns: facts.speed.map(WorkSpeed::ns),
        quiet: Some(facts.quiet),
        ..RunRow::of_scheduled(facts.scheduled, status)
    }
}

/// The row of a run that broke.
pub(crate) fn failed(facts: &RunFacts<'_>, reason: &str) -> RunRow {
    row(facts, RunStatus::Failed, Some(reason))
}

/// All rows of a run that counts.
pub(crate) fn finished(
    facts: &RunFacts<'_>,
    measured: &Measured,
    changed: Option<String>,
    analysed: &Analysed,
    modules: &BTreeMap<String, String>,
) -> RunData {
    let key = RunKey {
        run: facts.scheduled.run,
        block: facts.scheduled.block,
        deployment: facts.scheduled.deployment.as_str().into(),
    };
    let totals = totals(measured);
    let mut run = row(facts, RunStatus::Finished, None);
    let hosts = || measured.hosts.iter();
    let prepared = hosts().map(|host| host.prepare_ns).max();
    run.prepare_ns = prepared.and_then(|ns| i64::try_from(ns).ok());
    add_cold(&mut run, &measured.hosts);
    run.events = Some(totals.events);
    run.discarded = Some(totals.discarded);
    run.published = Some(totals.published);
    run.taken = Some(totals.taken);
    run.lost = Some(totals.lost);
    run.tags = (totals.tags.shown > 0).then_some(totals.tags.shown);
    let lead = measured.lead();
    run.steal = stolen(&lead.samples, within(lead), facts.cpus);
    run.changed = changed.map(|text| text.as_str().into());
    let windows = || hosts().filter_map(|host| host.window.as_ref());
    let armed = windows().next().is_some();
    run.own_switches = armed.then(|| windows().map(|w| w.own_switches).sum());
    run.own_cpu_ns = armed.then(|| windows().map(|w| w.own_cpu_ns).sum());
    let offsets = hosts().filter_map(|host| host.offset.as_ref());
    run.clock_uncertainty_ns = offsets.map(|offset| offset.uncertainty_ns).max();
    run.program_sha256 = Some(facts.program_sha256.into());
    run.warnings = hosts().flat_map(|host| host.warnings.clone()).collect();
    if totals.discarded > 0 {
        run.warnings.push(format!(
            "{} events were discarded: the trace buffers were too small",
            totals.discarded
        ));
    }
    let mut data = RunData::of(run);
    data.startup = startup_rows(
        &key,
        &StartUpFacts {
            start: facts.scheduled.start,
            hosts: &measured.hosts,
            modules,
            first_outputs: &analysed.first_outputs,
            first_publications: &analysed.first_publications,
        },
    );
    add_trace(&mut data, &key, facts, measured, analysed);
    if let Some((replayed, window_ns)) = facts.replayed.zip(facts.window_ns) {
        let latency = &data.latency;
        data.measurements =
            execution_rows(facts.scheduled, facts.stack, replayed, window_ns, latency);
    }
    let modules = Modules::of(facts.stack, &facts.planned.deployment.partition);
    for of in &measured.hosts {
        let host = HostRows { key: &key, of };
        data.usage.extend(usage_rows(host));
        data.memory.extend(memory_rows(host));
        data.processes.extend(process_rows(host, &modules));
    }
    data
}

/// Whether the start was cold, on every host.
fn add_cold(run: &mut RunRow, hosts: &[MeasuredHost]) {
    let cold = hosts.iter().filter_map(|host| {
        let proof = host.cold.as_ref()?;
        let resident = proof.resident as f64 / proof.pages.max(1) as f64;
        Some((resident, host.cold_unshown.as_deref()))
    });
    // The least cold one speaks for all.
    let Some((resident, unshown)) = cold.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return;
    };
    let reason = not_cold(resident, unshown);
    run.cold_resident = Some(resident);
    run.cold_read_bytes = hosts.iter().map(|host| host.cold_read_bytes).sum();
    run.cold = Some(match reason {
        None => ColdState::Proven,
        Some(_) => ColdState::Failed,
    });
    run.cold_reason = reason.map(|text| text.as_str().into());
}

/// The rows that the trace gives.
fn add_trace(
    data: &mut RunData,
    key: &RunKey,
    facts: &RunFacts<'_>,
    measured: &Measured,
    analysed: &Analysed,
) {
    let lead = measured.lead();
    let arm_ns = i64::try_from(lead.zero_ns()).unwrap_or(i64::MAX);
    let switches = lead.window.as_ref().zip(lead.preemptions.as_ref());
    data.run.warnings.extend(switches.and_then(unrecorded));
    let preempted =
        switches.map(|(_, of)| Preempted::of(of, &lead.announcements, &analysed.analysis));
    let preempted = preempted.as_ref();
    for chain in &analysed.chains {
        let rows = latency_rows(key, chain, arm_ns, preempted);
        data.latency.extend(rows);
        data.outputs.extend(output_rows(key, chain, arm_ns));
    }
    let (analysis, window) = (&analysed.analysis, analysed.window);
    let apart = edges::apart(&facts.planned.deployment);
    data.losses = loss_rows(key, analysis, window, &apart);
    data.edges = edge_rows(key, analysis, window);
    let unlike = edges::unlike(&facts.planned.plan, &data.losses);
    data.run.warnings.extend(unlike);
    let known = Known {
        stack: facts.stack,
        speed: facts.speed,
    };
    data.callbacks = callback_rows(key, analysis, window, known, preempted);
}

/// What of the window the recording of context switches leaves out.
fn unrecorded((armed, of): (&Armed, &Preemptions)) -> Option<String> {
    let missing_ns = armed.t_disarm_ns.checked_sub(of.until_ns)?;
    (missing_ns > 0).then(|| {
        let window_ns = armed.t_disarm_ns - armed.t_arm_ns;
        format!(
            "context switches filled the kernel's buffers: how long callbacks were preempted is not known for the last {:.1} s of {:.1} s",
            missing_ns.min(window_ns) as f64 / 1e9,
            window_ns as f64 / 1e9
        )
    })
}

/// Why a start was not cold, by the share of its files that was resident and what could not be shown of them.
fn not_cold(resident: f64, unshown: Option<&str>) -> Option<String> {
    if resident > COLD_RESIDENT {
        let percent = resident * 100.0;
        return Some(format!(
            "{percent:.1} % of the pages of its files were in the page cache"
        ));
    }
    unshown.map(str::to_owned)
}

/// The measured window, or all that was sampled where none was armed: the first sample is taken just before the
/// request. CLOCK_MONOTONIC ns.
fn within(host: &MeasuredHost) -> RangeInclusive<u64> {
    let window = host.window.as_ref();
    window.map_or(0..=u64::MAX, |window| window.t_arm_ns..=window.t_disarm_ns)
}

/// Share of the time of all CPUs that the hypervisor took, from the first to the last sample `within`.
fn stolen(samples: &[UsageSample], within: RangeInclusive<u64>, cpus: u32) -> Option<f64> {
    let of_it = samples.iter().filter(|s| s.subject == HYPERVISOR);
    let inside = of_it.filter(|s| within.contains(&s.t_ns));
    let mut inside = inside.filter_map(|s| Some((s.t_ns, s.cpu_ns?)));
    let (begin, before) = inside.next()?;
    let (end, after) = inside.next_back()?;
    let passed = (end - begin) as f64 * f64::from(cpus);
    Some(after.saturating_sub(before) as f64 / passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_cold_if_its_files_were_shown_not_to_be_resident() {
        assert_eq!(not_cold(0.01, None), None);
        assert_eq!(
            not_cold(0.125, Some("hidden")).unwrap(),
            "12.5 % of the pages of its files were in the page cache"
        );
        assert_eq!(not_cold(0.0, Some("hidden")).unwrap(), "hidden");
    }

    #[test]
    fn steal_is_the_share_of_all_cpus_in_the_window() {
        let sample = |subject: &str, t_ns, cpu_ns| UsageSample::of_cpu(subject, t_ns, cpu_ns);
        let samples = [
            sample(HYPERVISOR, 50, Some(0)),
            sample(HYPERVISOR, 100, Some(40)),
            sample("machine", 100, Some(5)),
            sample(HYPERVISOR, 200, None),
            sample(HYPERVISOR, 300, Some(90)),
            sample(HYPERVISOR, 350, Some(190)),
        ];
        assert_eq!(stolen(&samples, 100..=300, 2), Some(0.125));
        assert_eq!(stolen(&samples, 0..=u64::MAX, 2), Some(190.0 / 600.0));
        assert_eq!(
            stolen(&samples, 0..=60, 2),
            None,
            "one sample has no length"
        );
    }
}
