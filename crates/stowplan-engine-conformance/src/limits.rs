//! Limits: refused where the engine cannot, else read back from the kernel and shown to act (docs/measuring.md §3).

use std::collections::BTreeSet;

use stowplan_wire::deployment::{EngineEventKind, LimitsPlan, SchedulingPlan, Select};
use stowplan_wire::host::LimitsReadBack;

use crate::look::Used;
use crate::trial::{Stop, Trial, ensure, needs, plain};
use crate::{Behaviour, Case, Checked, Setup};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "limits.cpuset",
        check: cpuset,
    },
    Case {
        name: "limits.cpu-weight",
        check: cpu_weight,
    },
    Case {
        name: "limits.cpu-quota",
        check: cpu_quota,
    },
    Case {
        name: "limits.memory",
        check: memory,
    },
    Case {
        name: "limits.scheduling",
        check: scheduling,
    },
    Case {
        name: "limits.none-by-default",
        check: none_by_default,
    },
];

/// Starts one service with limits; where the engine says that it cannot, sees that it refuses.
fn limited<'a>(
    setup: &'a Setup<'a>,
    capability: &str,
    can: impl Fn(&stowplan_engine::LimitSupport) -> bool,
    services: &[(&str, Behaviour, LimitsPlan)],
) -> Result<Trial<'a>, Stop> {
    if setup.can().is_some_and(|variant| can(&variant.limits)) {
        return Trial::start(setup, services);
    }
    let refused = Trial::prepare(setup, services).is_err();
    // Where `prepare` fails, no trial ends the run.
    let _ = setup.stage.close_run();
    ensure(refused, || {
        format!("it cannot do {capability}, but takes a plan that asks for it")
    })?;
    Err(Stop::Unsupported(capability.to_owned()))
}

fn read_back(trial: &mut Trial<'_>, service: &str) -> Result<LimitsReadBack, Stop> {
    let locator = trial.locator(service)?;
    Ok(trial.setup.stage.host().limits(&locator)?)
}

fn cpuset(setup: &Setup<'_>) -> Checked {
    let limits = LimitsPlan {
        cpuset: Some(vec![0]),
        ..LimitsPlan::default()
    };
    let mut trial = limited(
        setup,
        "limits.cpuset",
        |can| can.cpuset,
        &[("a", Behaviour::TellCpu, limits)],
    )?;
    trial.says("a", "ready")?;
    let back = read_back(&mut trial, "a")?;
    ensure(back.cpuset == Some(vec![0]), || format!("{back:?}"))?;
    let log = trial.deployment().log("a", 1 << 20)?;
    let cpus: BTreeSet<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("cpu="))
        .collect();
    ensure(cpus == BTreeSet::from(["0"]), || {
        format!("it ran on {cpus:?}")
    })
}

fn cpu_weight(setup: &Setup<'_>) -> Checked {
    let hog = |weight| LimitsPlan {
        cpuset: Some(vec![0]),
        cpu_weight: Some(weight),
        ..LimitsPlan::default()
    };
    let mut trial = limited(
        setup,
        "limits.cpu-weight",
        |can| can.cpu_weight && can.cpuset,
        &[
            ("light", Behaviour::Hog, hog(100)),
            ("heavy", Behaviour::Hog, hog(300)),
        ],
    )?;
    for (service, weight) in [("light", 100), ("heavy", 300)] {
        trial.says(service, "ready")?;
        let back = read_back(&mut trial, service)?;
        ensure(back.cpu_weight == Some(weight), || {
            format!("{service}: {back:?}")
        })?;
    }
    // Of less than this, whole turns of one of them are too much.
    let enough_ns = 300_000_000.0;
    let shared = |used: &[Used]| {
        let (light, heavy) = (used[0].cpu_ns as f64, used[1].cpu_ns as f64);
        (light + heavy, heavy / (light + heavy))
    };
    let is_so = |used: &[Used]| {
        let (both, share) = shared(used);
        both > enough_ns && (share - 0.75).abs() < 0.05
    };
    let (used, _) = trial.used_until(&["light", "heavy"], |used, _| is_so(used))?;
    ensure(is_so(&used), || {
        let (both, share) = shared(&used);
        format!("the heavier of 100 and 300 got {share:.3} of {both} ns, not 0.75")
    })
}

fn cpu_quota(setup: &Setup<'_>) -> Checked {
    let limits = LimitsPlan {
        cpu_quota: Some(0.2),
        ..LimitsPlan::default()
    };
    let mut trial = limited(
        setup,
        "limits.cpu-quota",
        |can| can.cpu_quota,
        &[("a", Behaviour::Hog, limits)],
    )?;
    trial.says("a", "ready")?;
    let back = read_back(&mut trial, "a")?;
    ensure(back.cpu_quota == Some(0.2), || format!("{back:?}"))?;
    let level = back
        .cpu_levels
        .iter()
        .find(|level| level.quota == Some(0.2));
    ensure(level.is_some(), || format!("no level has it: {back:?}"))?;
    // Where a hypervisor stops the CPU that takes the samples and not the service's, a window looks shorter than it is; and a
    // window may begin within a period.
    let share = |used: &[Used], time| used[0].cpu_ns as f64 / time as f64;
    let is_held = |used: &[Used], time| used[0].throttled >= 3 && share(used, time) < 0.25;
    let (used, time) = trial.used_until(&["a"], is_held)?;
    ensure(is_held(&used, time), || {
        let (share, periods) = (share(&used, time), used[0].throttled);
        format!("it used {share:.3} CPUs of 0.2, throttled in {periods} periods")
    })
}

fn memory(setup: &Setup<'_>) -> Checked {
    const LIMIT: u64 = 64 << 20;
    let limits = LimitsPlan {
        memory_bytes: Some(LIMIT),
        ..LimitsPlan::default()
    };
    let mut trial = limited(
        setup,
        "limits.memory",
        |can| can.memory,
        &[("a", Behaviour::Eat, limits)],
    )?;
    let back = read_back(&mut trial, "a")?;
    ensure(back.memory_bytes == Some(LIMIT), || format!("{back:?}"))?;
    let swap = trial.setup.stage.host().facts()?.swap_accounting;
    // An engine that cannot say so of swap has to say that.
    let told = trial.deployment().deviations();
    let leaves_swap = told
        .iter()
        .any(|told| told.contains("no swap beside memory"));
    ensure(leaves_swap || back.swap_bytes == swap.then_some(0), || {
        format!("{back:?}")
    })?;
    needs(trial.can.oom_event, "oom-event")?;
    trial.hears("a", EngineEventKind::OutOfMemory)?;
    needs(!leaves_swap, "limits.swap")
}

fn scheduling(setup: &Setup<'_>) -> Checked {
    let class = SchedulingPlan::RoundRobin(7);
    let limits = LimitsPlan {
        scheduling: Some(class),
        ..LimitsPlan::default()
    };
    let mut trial = limited(
        setup,
        "limits.scheduling",
        |can| can.scheduling,
        &[("a", Behaviour::Idle, limits)],
    )?;
    trial.says("a", "ready")?;
    let back = read_back(&mut trial, "a")?;
    ensure(back.scheduling == Some(class), || format!("{back:?}"))
}

fn none_by_default(setup: &Setup<'_>) -> Checked {
    let mut trial = Trial::prepare(setup, &[plain("a", Behaviour::Idle)])?;
    trial.deployment().create(&Select::All)?;
    trial.deployment().start(&Select::All)?;
    trial.says("a", "ready")?;
    let back = read_back(&mut trial, "a")?;
    ensure(
        back.cpu_quota.is_none()
            && back.memory_bytes.is_none()
            && (!trial.can.default_weight || back.cpu_weight.is_none_or(|weight| weight == 100))
            && back.scheduling == Some(SchedulingPlan::Other),
        || format!("{back:?}"),
    )?;
    needs(trial.can.default_weight, "default-weight")
}
