//! Scheduling classes, and the real-time budgets of control groups.
//!
//! Where the kernel schedules real-time tasks by group (cgroup v1 with `CONFIG_RT_GROUP_SCHED`), a new group has no
//! budget and refuses such tasks (kernel: scheduler/sched-rt-group.rst).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stowplan_wire::deployment::{DeploymentPlan, SchedulingPlan};

use crate::HostError;
use crate::cgroup::{Group, Tree, scheduling_of};

/// Budgets are in µs of this many.
const SECOND_US: u64 = 1_000_000;
const FIFO: &str = "fifo";
const ROUND_ROBIN: &str = "rr";

/// Gives a process its scheduling class, which passes on to the threads and children that it makes from then on.
///
/// # Errors
/// When the kernel refuses it.
pub fn set_class(pid: u32, class: SchedulingPlan) -> Result<(), HostError> {
    let (policy, priority) = match class {
        SchedulingPlan::Other => (libc::SCHED_OTHER, 0),
        SchedulingPlan::Fifo(priority) => (libc::SCHED_FIFO, priority),
        SchedulingPlan::RoundRobin(priority) => (libc::SCHED_RR, priority),
    };
    let parameter = libc::sched_param {
        sched_priority: i32::from(priority),
    };
    // SAFETY: `parameter` lives until the call returns, and the kernel only reads it.
    let done = unsafe { libc::sched_setscheduler(pid.cast_signed(), policy, &raw const parameter) };
    if done == 0 {
        return Ok(());
    }
    Err(
        HostError::new(format!("cannot give it the scheduling class {class:?}"))
            .because(io::Error::last_os_error())
            .hint(
                "real-time classes need CAP_SYS_NICE, and with real-time scheduling by group a budget in \
                 cpu.rt_runtime_us of every control group above the service",
            ),
    )
}

/// Waits until this process has the class that somebody else gives it.
pub fn wait_for_class(class: SchedulingPlan) {
    // The kernel tells nobody when it changes: ask again.
    while scheduling_of(std::process::id()) != Some(class) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A class as two words of a command line, as chrt(1) calls them; none for that which every process has.
#[must_use]
pub fn class_words(class: SchedulingPlan) -> Option<[String; 2]> {
    let (name, priority) = match class {
        SchedulingPlan::Other => return None,
        SchedulingPlan::Fifo(priority) => (FIFO, priority),
        SchedulingPlan::RoundRobin(priority) => (ROUND_ROBIN, priority),
    };
    Some([name.to_owned(), priority.to_string()])
}

/// The class that [`class_words`] made these words of; `None` where it made none such.
#[must_use]
pub fn class_of_words(name: &str, priority: &str) -> Option<SchedulingPlan> {
    let priority = priority.parse().ok()?;
    match name {
        FIFO => Some(SchedulingPlan::Fifo(priority)),
        ROUND_ROBIN => Some(SchedulingPlan::RoundRobin(priority)),
        _ => None,
    }
}

/// Whether services of `plan` need budgets here: it wants real-time classes, and the kernel schedules them by group.
///
/// # Errors
/// When the control groups of this machine cannot be read.
pub fn needs_budgets(plan: &DeploymentPlan) -> Result<bool, HostError> {
    Ok(wanting(plan) > 0 && top()?.is_some_and(|top| budget_of(&top).is_some()))
}

/// The budget, in µs of each second, of a run that wants real-time classes, where somebody else makes the groups of its services
/// right below the root. `None` when there is none to give.
///
/// # Errors
/// When nothing is left.
pub fn budget_at_top(plan: &DeploymentPlan) -> Result<Option<u64>, HostError> {
    let Some(top) = top()?.filter(|_| wanting(plan) > 0) else {
        return Ok(None);
    };
    half_of_left(&top)
}

/// What each service that wants a real-time class gets of the budget of its run.
#[must_use]
pub fn share(budget_us: u64, plan: &DeploymentPlan) -> u64 {
    budget_us / wanting(plan).max(1)
}

/// Gives a run that wants real-time classes half of the budget that the group above it has left, so that other runs
/// and the machine's own tasks keep something; one that has a budget keeps that. The budget in µs of each second; `None`
/// when there is none to give.
///
/// # Errors
/// When nothing is left or the kernel refuses it.
pub fn give_run_budget(run: &Group, plan: &DeploymentPlan) -> Result<Option<u64>, HostError> {
    let Some(folder) = run.paths().get("cpu").filter(|_| wanting(plan) > 0) else {
        return Ok(None);
    };
    let has = budget_of(folder).filter(|budget| *budget > 0);
    if has.is_some() {
        return Ok(has);
    }
    let Some(above) = folder.parent() else {
        return Ok(None);
    };
    let budget = half_of_left(above)?;
    if let Some(budget) = budget {
        give(folder, budget)?;
    }
    Ok(budget)
}

/// Where the groups that share out CPU time begin; `None` on cgroup v2, which has no real-time budgets.
fn top() -> Result<Option<PathBuf>, HostError> {
    Ok(Tree::detect()?.mounts.remove("cpu"))
}

/// Half of what the groups below `above` leave of its budget.
fn half_of_left(above: &Path) -> Result<Option<u64>, HostError> {
    let Some(whole) = budget_of(above) else {
        return Ok(None);
    };
    let given: u64 = fs::read_dir(above)
        .map_err(|e| HostError::io("read", above, e))?
        .filter_map(|entry| budget_of(&entry.ok()?.path()))
        .sum();
    let left = whole.saturating_sub(given);
    if left < 2 {
        return Err(HostError::new(format!(
            "{} has no real-time budget left: {given} of {whole} µs of each second are given away",
            above.display()
        ))
        .hint(HINT));
    }
    Ok(Some(left / 2))
}

/// Gives the group of a service that wants a real-time class its equal share of the budget of its run.
///
/// # Errors
/// When the kernel refuses it.
pub fn give_service_budget(
    service: &Group,
    plan: &DeploymentPlan,
    name: &str,
) -> Result<(), HostError> {
    let wants = plan
        .services
        .iter()
        .any(|start| start.name == name && start.limits.real_time().is_some());
    let folder = service.paths().get("cpu").filter(|_| wants);
    let budget = folder.and_then(|folder| budget_of(folder.parent()?));
    match folder.zip(budget) {
        Some((folder, budget)) => give(folder, share(budget, plan)),
        None => Ok(()),
    }
}

/// What to tell of a run with a budget: a deviation from a real-time class as sched(7) has it.
#[must_use]
pub fn budget_note(budget_us: u64) -> String {
    format!(
        "this machine schedules real-time tasks by group: those of this run get at most {budget_us} µs of each second"
    )
}

const HINT: &str = "raise cpu.rt_runtime_us of the control group that Stowplan was started in, end what holds its \
                    budget, or leave the scheduling class out";

/// How many services want a real-time class.
#[must_use]
pub fn wanting(plan: &DeploymentPlan) -> u64 {
    plan.services
        .iter()
        .filter(|service| service.limits.real_time().is_some())
        .count() as u64
}

/// What a group has, in µs of each second; `None` where the kernel does not schedule real-time tasks by group.
fn budget_of(folder: &Path) -> Option<u64> {
    let read = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse::<i64>().ok()
    };
    let (runtime, period) = (read("cpu.rt_runtime_us")?, read("cpu.rt_period_us")?);
    // A negative one has no limit.
    let Ok(runtime) = u64::try_from(runtime) else {
        return Some(SECOND_US);
    };
    Some(runtime * SECOND_US / period.unsigned_abs().max(1))
}

fn give(folder: &Path, budget_us: u64) -> Result<(), HostError> {
    let file = folder.join("cpu.rt_runtime_us");
    fs::write(&file, budget_us.to_string()).map_err(|error| {
        HostError::io(
            &format!("write a real-time budget of {budget_us} µs to"),
            &file,
            error,
        )
        .hint(HINT)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use stowplan_wire::deployment::{IsolationPlan, LimitsPlan, Program, ServiceStart};

    use super::*;

    /// Plain files that look like a tree of real-time groups: one above, another run's and ours.
    struct Groups(tempfile::TempDir);

    impl Groups {
        fn new(above_us: i64, other_us: i64) -> Self {
            let groups = Self(tempfile::tempdir().unwrap());
            groups.make("", above_us);
            groups.make("other", other_us);
            groups.make("run", 0);
            groups.make("run/a", 0);
            groups
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn make(&self, name: &str, budget_us: i64) {
            let folder = self.path(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpu.rt_runtime_us"), budget_us.to_string()).unwrap();
            fs::write(folder.join("cpu.rt_period_us"), "1000000\n").unwrap();
        }

        fn group(&self, name: &str) -> Group {
            let path = self.path(name).display().to_string();
            Group::from_paths(&BTreeMap::from([("cpu".to_owned(), path)]))
        }
    }

    fn plan(classes: &[(&str, Option<SchedulingPlan>)]) -> DeploymentPlan {
        DeploymentPlan {
            run: "r".to_owned(),
            run_dir: String::new(),
            variant: None,
            image_dir: String::new(),
            services: classes
                .iter()
                .map(|(name, scheduling)| ServiceStart {
                    limits: LimitsPlan {
                        scheduling: *scheduling,
                        ..LimitsPlan::default()
                    },
                    ..ServiceStart::new(*name, Program::Node)
                })
                .collect(),
            isolation: IsolationPlan::default(),
            parallelism: 0,
        }
    }

    fn two_of_three() -> DeploymentPlan {
        plan(&[
            ("a", Some(SchedulingPlan::Fifo(3))),
            ("b", Some(SchedulingPlan::RoundRobin(2))),
            ("c", Some(SchedulingPlan::Other)),
        ])
    }

    #[test]
    fn a_run_gets_half_of_what_is_left_and_its_services_equal_shares() {
        let groups = Groups::new(950_000, 475_000);
        let (run, plan) = (groups.group("run"), two_of_three());
        assert_eq!(give_run_budget(&run, &plan).unwrap(), Some(237_500));
        assert_eq!(budget_of(&groups.path("run")), Some(237_500));
        give_service_budget(&groups.group("run/a"), &plan, "a").unwrap();
        assert_eq!(budget_of(&groups.path("run/a")), Some(118_750));
        let unlimited = Groups::new(-1, 0);
        let run = unlimited.group("run");
        assert_eq!(give_run_budget(&run, &plan).unwrap(), Some(500_000));
    }

    #[test]
    fn a_run_with_a_budget_keeps_it() {
        let groups = Groups::new(950_000, 0);
        let (run, plan) = (groups.group("run"), two_of_three());
        for _ in 0..2 {
            assert_eq!(give_run_budget(&run, &plan).unwrap(), Some(475_000));
        }
    }

    #[test]
    fn a_class_is_two_words_and_comes_back_from_them() {
        for class in [SchedulingPlan::Fifo(7), SchedulingPlan::RoundRobin(99)] {
            let [name, priority] = class_words(class).unwrap();
            assert_eq!(class_of_words(&name, &priority), Some(class));
        }
        assert_eq!(class_words(SchedulingPlan::Other), None);
        for (name, priority) in [("other", "0"), ("fifo", "x"), ("fifo", "256")] {
            assert_eq!(class_of_words(name, priority), None);
        }
    }

    #[test]
    fn what_wants_no_budget_gets_none() {
        let groups = Groups::new(950_000, 0);
        let (run, none) = (groups.group("run"), plan(&[("a", None)]));
        assert_eq!(give_run_budget(&run, &none).unwrap(), None);
        let service = groups.group("run/a");
        give_service_budget(&service, &two_of_three(), "c").unwrap();
        assert_eq!(budget_of(&groups.path("run/a")), Some(0));
        // Neither cgroup v2 nor a kernel without real-time groups has the file.
        fs::remove_file(groups.path("cpu.rt_runtime_us")).unwrap();
        assert_eq!(give_run_budget(&run, &two_of_three()).unwrap(), None);
    }

    #[test]
    fn without_a_budget_it_is_refused_with_cause_and_hint() {
        let groups = Groups::new(950_000, 950_000);
        let error = give_run_budget(&groups.group("run"), &two_of_three()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("has no real-time budget left"), "{text}");
        assert!(text.contains("950000 of 950000 µs"), "{text}");
        assert!(error.hint.unwrap().contains("cpu.rt_runtime_us"));
        // A folder in place of the file refuses the write as the kernel refuses a budget that it does not have.
        let groups = Groups::new(950_000, 0);
        let file = groups.path("run/cpu.rt_runtime_us");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let error = give_run_budget(&groups.group("run"), &two_of_three()).unwrap_err();
        assert!(error.to_string().contains("475000 µs"), "{error}");
        assert!(error.source.is_some() && error.hint.is_some());
    }

    #[test]
    fn a_class_that_the_kernel_does_not_have_is_refused_with_cause_and_hint() {
        let error = set_class(std::process::id(), SchedulingPlan::Fifo(100)).unwrap_err();
        assert!(error.to_string().contains("Fifo(100)"), "{error}");
        assert!(error.source.is_some() && error.hint.is_some());
    }
}
