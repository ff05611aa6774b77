//! One start of one deployment, on one host or several: open, prepare, create, start, wait, arm, disarm, stop, collect, close.

mod clocks;
mod measured;
mod part;
mod plan;

use std::time::{Duration, Instant};

use stowplan_results::MemoryAt;

use crate::error::RunError;
use crate::real::LOOK_PERIOD;

use part::Part;

pub use measured::{Measured, MeasuredHost};
pub use plan::{HostPlan, SessionPlan};

/// How often engines are asked what happened that the agent does not hear of by itself.
const EVENT_PERIOD: Duration = Duration::from_millis(200);

/// Runs one session. Whatever happens, deployments are destroyed and run folders removed.
///
/// # Errors
/// When a service does not come up, ends early, or an agent fails; the error names the service and has
/// the end of its log.
pub fn measure(plan: &SessionPlan<'_>) -> Result<Measured, RunError> {
    let mut run_dirs = Vec::new();
    let result = open_all(plan, &mut run_dirs).and_then(|()| run(plan, &run_dirs));
    let mut closed = Ok(());
    for (host, _) in plan.hosts.iter().zip(&run_dirs) {
        let one = host.site.close_run();
        closed = closed.and(one);
    }
    let measured = result?;
    closed?;
    Ok(measured)
}

/// Makes the run folders; those that were made are given also where one cannot be.
fn open_all(plan: &SessionPlan<'_>, run_dirs: &mut Vec<String>) -> Result<(), RunError> {
    for host in &plan.hosts {
        run_dirs.push(host.site.open_run(
            &host.deployment.run,
            host.services.to_vec(),
            plan.cyclonedds_xml.to_owned(),
            plan.ring_bytes,
        )?);
    }
    Ok(())
}

fn run(plan: &SessionPlan<'_>, run_dirs: &[String]) -> Result<Measured, RunError> {
    let mut parts = Vec::new();
    let driven = begin_all(plan, run_dirs, &mut parts).and_then(|()| drive(plan, &mut parts));
    let mut log = None;
    if let Err(error) = &driven {
        for part in &parts {
            // It may not have begun, or have ended already; nobody wants what was sampled.
            let _ = part.site().stop_sampling();
        }
        log = parts.iter().find_map(|part| part.log_of(error));
    }
    let mut destroyed = Ok(());
    for part in &mut parts {
        let one = part.deployment.destroy();
        destroyed = destroyed.and(one);
    }
    driven.map_err(|error| error.with_log(log))?;
    destroyed?;
    Ok(Measured {
        hosts: parts.into_iter().map(Part::measured).collect(),
    })
}

fn begin_all<'a>(
    plan: &'a SessionPlan<'a>,
    run_dirs: &[String],
    parts: &mut Vec<Part<'a>>,
) -> Result<(), RunError> {
    for (host, run_dir) in plan.hosts.iter().zip(run_dirs) {
        let lead = parts.first();
        let offset = lead.map(|lead: &Part<'_>| clocks::offset(lead.site(), host.site.as_ref()));
        let begun = Part::begin(plan, host, run_dir, offset.transpose()?)?;
        parts.push(begun);
    }
    Ok(())
}

/// Everything from the start to the end, on all hosts in step.
fn drive(plan: &SessionPlan<'_>, parts: &mut [Part<'_>]) -> Result<(), RunError> {
    each(parts, Part::before_start)?;
    let Some(lead) = parts.first() else {
        return Err(RunError::new("no host was given"));
    };
    let t0_ns = lead.site().clock()?;
    for part in &mut *parts {
        part.begins_at(t0_ns);
    }
    each(parts, Part::create)?;
    each(parts, Part::start)?;
    each(parts, Part::find)?;
    wait_ready(plan, parts)?;
    each(parts, Part::when_ready)?;
    warm_up(plan, parts)?;
    each(parts, |part| part.memory(MemoryAt::Arm))?;
    window(plan, parts)?;
    each(parts, Part::stop_sampling)?;
    each(parts, Part::after_window)?;
    each(parts, Part::stop_nodes)?;
    each(parts, Part::end)
}

fn each<'a>(
    parts: &mut [Part<'a>],
    does: impl FnMut(&mut Part<'a>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    parts.iter_mut().try_for_each(does)
}

fn wait_ready(plan: &SessionPlan<'_>, parts: &mut [Part<'_>]) -> Result<(), RunError> {
    let heard = |parts: &[Part<'_>]| -> usize {
        let all = parts.iter().map(|part| part.measured.announcements.len());
        all.sum()
    };
    let (mut last_news, mut last_heard) = (Instant::now(), heard(parts));
    while !parts.iter().all(Part::is_ready) {
        if heard(parts) > last_heard {
            last_heard = heard(parts);
            last_news = Instant::now();
        }
        let left = plan.stall_timeout.saturating_sub(last_news.elapsed());
        if left.is_zero() {
            let missing = parts.iter().find_map(Part::missing);
            return Err(RunError::stalled(missing, plan.stall_timeout));
        }
        let must_look = parts.iter().any(|part| part.real.must_be_looked_at());
        let period = if must_look { LOOK_PERIOD } else { EVENT_PERIOD };
        take_in(parts, left.min(period))?;
        each(parts, Part::look_at_real)?;
    }
    Ok(())
}

/// Waits for news of each host in turn, in all at most so long.
fn take_in(parts: &mut [Part<'_>], longest: Duration) -> Result<(), RunError> {
    let hosts = u32::try_from(parts.len()).unwrap_or(u32::MAX).max(1);
    each(parts, |part| part.take_in(longest / hosts))
}

/// Lets the services run before the window. A start that has none is over when every chain has had an output.
fn warm_up(plan: &SessionPlan<'_>, parts: &mut [Part<'_>]) -> Result<(), RunError> {
    let begun = Instant::now();
    let has_real = plan.hosts.iter().any(|host| !host.real.is_empty());
    let is_start_alone = plan.window.is_none() && !has_real;
    let have_output = |parts: &[Part<'_>]| {
        let mut all = parts.iter();
        all.all(|part| part.progress.have_chains_output())
    };
    while !(is_start_alone && have_output(parts)) {
        let left = plan.warm_up.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        take_in(parts, left.min(EVENT_PERIOD))?;
    }
    Ok(())
}

/// Arms all hosts at one instant, and waits until the window is over.
fn window(plan: &SessionPlan<'_>, parts: &mut [Part<'_>]) -> Result<(), RunError> {
    let (Some(window), Some(lead)) = (plan.window, parts.first()) else {
        return Ok(());
    };
    // Every process has to answer before the arming instant: with hundreds of them on two
    // cores that takes time.
    let before = nanos(Duration::from_millis(500 + 10 * plan.processes() as u64));
    let window = nanos(window);
    let hosts = parts.len() as u64;
    let longest = (before * hosts).saturating_add(window);
    let mut ready_ns = lead.site().before_window(longest, plan.preemption)?;
    for part in parts.iter().skip(1) {
        part.site().before_window(longest, plan.preemption)?;
        ready_ns = lead.site().clock()?;
    }
    let t_arm_ns = ready_ns + before * hosts;
    for part in &*parts {
        let offset = part.measured.offset.as_ref();
        let own_ns = offset.map_or(t_arm_ns, |offset| offset.read_at(t_arm_ns));
        part.site().arm(own_ns, window)?;
    }
    each(parts, |part| part.wait_window(longest))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
