//! Containers of a user who is not root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use stowplan_engine::{Engine, Probe};
use stowplan_testkit::{VARIABLE, skip};
use stowplan_wire::deployment::IsolationPlan;

use crate::common::{Run, docker, engine, is_root, run_once};

/// Set in the process that is not root.
const INSIDE: &str = "STOWPLAN_TEST_ROOTLESS";
const NOBODY: u32 = 65_534;

#[test]
fn a_user_can_start_containers() {
    if !is_root() {
        return inside();
    }
    // Copies, since this user may not look into the target folder.
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(2).unwrap();
    let copy = |from: &Path, to: &str| {
        let to = folder.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, &to).unwrap();
        to
    };
    let program = copy(&own, "deps/containers");
    copy(&target.join("examples/oci-helper"), "examples/oci-helper");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    chown(&temporary, Some(NOBODY), Some(NOBODY)).unwrap();
    let output = Command::new(program)
        .args(["--exact", "rootless::inside_as_a_user", "--nocapture"])
        .env(INSIDE, "1")
        // It may not write there.
        .env_remove(VARIABLE)
        .env("TMPDIR", temporary)
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    if let Some((_, reason)) = said.split_once("skip: ") {
        skip!("{}", reason.lines().next().unwrap_or_default());
    }
}

/// Not a test by itself: what `a_user_can_start_containers` runs as another user.
#[test]
fn inside_as_a_user() {
    if std::env::var_os(INSIDE).is_some() {
        inside();
    }
}

fn inside() {
    let run = Run::new();
    if let Probe::Absent { reason, .. } = engine().probe(&*run.host) {
        return skip!("{reason}");
    }
    let mut isolation = docker();
    (isolation.user, isolation.cgroup, isolation.overlay) = (true, false, false);
    let script = "id -u; echo $$; touch /etc/written 2>/dev/null || echo refused";
    for net in [false, true] {
        isolation.net = net;
        let (status, log) = run_once(&run, isolation, &["sh", "-c", script]);
        assert_eq!((status, log.as_str()), (0, "0\n1\nrefused\n"));
    }
    let mut least = crate::common::bare();
    (least.user, least.mount) = (true, true);
    assert_eq!(run_once(&run, least, &["true"]).0, 0);
    let refused = |change: fn(&mut IsolationPlan)| {
        let mut plan = isolation;
        change(&mut plan);
        let plan = run.plan(plan, vec![run.service("one", &["true"])]);
        run.prepare(&plan).err().unwrap().to_string()
    };
    // A user gets what a user can have, and is told of it.
    let (mut asked, id) = (isolation, "id -u");
    (asked.user, asked.cgroup) = (false, true);
    assert_eq!(
        run_once(&run, asked, &["sh", "-c", id]),
        (0, "0\n".to_owned())
    );
    let plan = run.plan(asked, vec![run.service("one", &["true"])]);
    let deviations = run.prepare(&plan).unwrap().deviations().join("; ");
    for told in ["user namespace has one id", "no cgroup of its own"] {
        assert!(deviations.contains(told), "{deviations}");
    }
    assert!(refused(|plan| plan.overlay = true).contains("'overlay'"));
}
