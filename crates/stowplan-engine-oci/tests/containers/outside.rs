//! A container that cannot be made takes nobody else with it, wherever cgroup hierarchies are in sight: libcontainer
//! then kills every process of the cgroup that it finds, and without one of its own that is the caller's.
//!
//! It is tried in PID and mount namespaces of its own, where a signal reaches nothing outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use stowplan_engine::EngineError;
use stowplan_testkit::in_chroot;
use stowplan_wire::deployment::{DeploymentPlan, Program, Select};

use crate::common::{Run, docker, is_root};

/// Set in the process inside: a folder for the second mount of the hierarchies.
const INSIDE: &str = "STOWPLAN_TEST_OUTSIDE";

#[test]
fn a_container_that_cannot_be_made_kills_nobody() {
    if !is_root() || in_chroot() {
        return;
    }
    let second = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--pid", "--mount", "--fork", "--mount-proc", "--kill-child"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "outside::inside_namespaces", "--nocapture"])
        .env(INSIDE, second.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("the bystander lives"),
        "{}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Not a test by itself: what `a_container_that_cannot_be_made_kills_nobody` runs.
#[test]
fn inside_namespaces() {
    let Some(second) = std::env::var_os(INSIDE) else {
        return;
    };
    // The first process of a PID namespace. Anywhere else the fault could kill everything.
    assert_eq!(std::process::id(), 1);
    assert!(fs::read_link("/proc/self").is_ok_and(|own| own == Path::new("1")));
    rustix::mount::mount_bind_recursive("/sys", PathBuf::from(second)).unwrap();
    let mut bystander = Bystander(Command::new("sleep").arg("1000").spawn().unwrap());
    let no_program = |_: &Run, plan: &mut DeploymentPlan| {
        if let Program::Command { command, .. } = &mut plan.services[0].program {
            *command = vec!["/no/such/program".into()];
        }
    };
    let no_folder_to_mount = |run: &Run, plan: &mut DeploymentPlan| {
        // The engine has it made by now; it is one of the container's mounts.
        fs::remove_dir_all(run.dir.join(&plan.services[0].name)).unwrap();
    };
    let error = refused(no_program, |_, _| ());
    bystander.lives();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    refused(|_, _| (), no_folder_to_mount);
    bystander.lives();
    println!("the bystander lives");
}

/// Why a container cannot be made after these changes before and after its preparation.
fn refused(
    before: impl FnOnce(&Run, &mut DeploymentPlan),
    after: impl FnOnce(&Run, &mut DeploymentPlan),
) -> EngineError {
    let run = Run::new();
    let mut plan = run.plan(docker(), vec![run.service("a", &["true"])]);
    before(&run, &mut plan);
    let mut deployment = run.prepare(&plan).unwrap();
    after(&run, &mut plan);
    let error = deployment.create(&Select::All).unwrap_err();
    assert_eq!(error.service.as_deref(), Some("a"), "{error}");
    error
}

/// A process beside the containers, in the cgroups of their maker.
struct Bystander(Child);

impl Bystander {
    fn lives(&mut self) {
        let ended = self.0.try_wait().unwrap();
        assert_eq!(ended, None, "the bystander was killed");
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
