//! The suite of faults on the engines of the agent. Needs root; an engine in `$STOWPLAN_REQUIRE_ENGINES` has to be there.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::yield_now;

use stowplan_engine_conformance::{Alone, UsersOwn, faults_alone};
use stowplan_testkit::{ShellRoot, shell_root};
use stowplan_wire::deployment::DeploymentPlan;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// What it says where the first process of the user's container can be seen to run, and how that ends when it is asked to.
const PROGRAM: [&str; 3] = [
    "/bin/sh",
    "-c",
    "trap exit TERM; echo runs > /state; sleep 1000 & wait",
];

/// A root file system that stays until the next test.
fn user_root(engine: &str) -> String {
    let root = Path::new(SCRATCH).join(format!("users-{engine}"));
    let _ = fs::remove_dir_all(&root);
    shell_root(&root);
    root.display().to_string()
}

fn until_it_runs(mut command: Command, root: &str) -> Child {
    let mut own = command.stdin(Stdio::null()).spawn().unwrap();
    while !Path::new(root).join("state").exists() {
        assert_eq!(own.try_wait().unwrap(), None, "the user's container ends");
        yield_now();
    }
    own
}

const OWN_NSPAWN: UsersOwn = UsersOwn {
    make: own_nspawn,
    // Where /run is no tmpfs, systemd-nspawn leaves its folder there.
    remove: |plan| {
        let folder = format!("/run/systemd/nspawn/propagate/{}", machine(plan));
        let _ = fs::remove_dir(folder);
    },
};

const OWN_LXC: UsersOwn = UsersOwn {
    make: own_lxc,
    remove: |_| (),
};

fn machine(plan: &DeploymentPlan) -> String {
    format!("stowplan-{}-s0", plan.run)
}

fn own_nspawn(plan: &DeploymentPlan) -> Child {
    let root = user_root("nspawn");
    let mut command = Command::new("systemd-nspawn");
    command
        .args(["--quiet", "--register=no", "--keep-unit", "--settings=no"])
        .args(["--link-journal=no", "--console=pipe"])
        .arg(format!("--directory={root}"))
        .arg(format!("--machine={}", machine(plan)))
        .args(PROGRAM);
    until_it_runs(command, &root)
}

fn own_lxc(_: &DeploymentPlan) -> Child {
    let root = user_root("lxc");
    let folder = Path::new(SCRATCH).join("users-lxcpath");
    fs::create_dir_all(folder.join("s0")).unwrap();
    let config = folder.join("s0/config");
    let text = format!(
        "lxc.rootfs.path = dir:{root}\nlxc.net.0.type = none\nlxc.console.path = none\n\
         lxc.apparmor.profile = unconfined\nlxc.mount.auto = proc:mixed\n"
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new("lxc-start");
    command
        .args(["--foreground", "--name", "s0", "--lxcpath"])
        .arg(&folder)
        .arg("--rcfile")
        .arg(&config)
        .arg("--")
        .args(PROGRAM);
    until_it_runs(command, &root)
}

/// Engine, variant and who else can have a name of a service.
const ENGINES: [(&str, Option<&str>, Option<UsersOwn>); 4] = [
    ("bare", Some("grouped"), None),
    ("oci", None, None),
    ("nspawn", None, Some(OWN_NSPAWN)),
    ("lxc", None, Some(OWN_LXC)),
];

#[test]
#[ignore = "long: script/test --full, and .ci/run where the engine was touched"]
fn nothing_is_left_and_nothing_of_the_users_is_touched() {
    for (engine, variant, users_own) in ENGINES {
        let root = ShellRoot::below(SCRATCH);
        let Some(report) = faults_alone(&Alone {
            engine,
            variant,
            root: &root,
            users_own,
        }) else {
            continue;
        };
        assert_eq!(report.failures(), [], "{engine}");
        let matrix = match engine {
            "bare" => include_str!("matrix/faults-bare.txt"),
            "oci" => include_str!("matrix/faults-oci.txt"),
            _ => include_str!("matrix/faults.txt"),
        };
        assert_eq!(report.matrix(), matrix, "{engine}");
    }
}
