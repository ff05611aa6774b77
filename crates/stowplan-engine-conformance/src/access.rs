//! What real programs have of their host, as whom and where they run.

use stowplan_engine::{IsolationFeature, Variant};
use stowplan_wire::deployment::{Access, BindMount, IsolationPlan, Program, Select};

use crate::look::file_of;
use crate::trial::{Stop, Trial, ensure, needs, plain};
use crate::{Behaviour, Case, Checked, Setup};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "access.mounts",
        check: mounts,
    },
    Case {
        name: "access.user",
        check: user,
    },
    Case {
        name: "access.device",
        check: device,
    },
    Case {
        name: "access.own-root",
        check: own_root,
    },
    Case {
        name: "access.own-network",
        check: own_network,
    },
    Case {
        name: "access.host-ipc",
        check: host_ipc,
    },
];

/// What a program does, and what it has.
type Given = (&'static str, String, Access);

/// Starts a program in a service of this name each, in a shell, which sleeps when it has done it.
fn run<'a>(
    setup: &'a Setup<'a>,
    given: impl FnOnce(&str) -> Vec<Given>,
) -> Result<(Trial<'a>, String), Stop> {
    let mut plan = Trial::plan(setup, &[plain("a", Behaviour::Idle)])?;
    let folder = plan.run_dir.clone();
    let service = plan.services.remove(0);
    for (name, script, has) in given(&folder) {
        let mut service = service.clone();
        name.clone_into(&mut service.name);
        service.log = format!("{folder}/{name}.log");
        if let Program::Command {
            command, access, ..
        } = &mut service.program
        {
            // What a program says at its very end is another matter: a busy monitor may miss it.
            let script = format!("{script}; exec sleep 100000");
            *command = vec!["/bin/sh".to_owned(), "-c".to_owned(), script];
            *access = has;
        }
        plan.services.push(service);
    }
    let mut trial = Trial::prepare_plan(setup, &plan)?;
    trial.deployment().create(&Select::All)?;
    trial.deployment().start(&Select::All)?;
    Ok((trial, folder))
}

fn can(setup: &Setup<'_>, what: fn(&Variant) -> bool, name: &str) -> Checked {
    needs(setup.can().is_some_and(|variant| what(&variant)), name)
}

/// The run's folder is given twice: what is written through one is read, and not written, through the other.
fn mounts(setup: &Setup<'_>) -> Checked {
    can(setup, |can| can.mounts, "program.mounts")?;
    let script =
        "pwd; echo kept > '/my scratch/kept'; cat kept; echo new > /given/new || echo read-only";
    let (mut trial, folder) = run(setup, |folder| {
        let mount = |to: &str, read_only| BindMount {
            from: folder.to_owned(),
            to: to.to_owned(),
            read_only,
        };
        let access = Access {
            mounts: vec![mount("/given", true), mount("/my scratch", false)],
            working_dir: Some("/given".to_owned()),
            ..Access::default()
        };
        vec![("a", script.to_owned(), access)]
    })?;
    for line in ["/given", "kept", "read-only"] {
        trial.says("a", line)?;
    }
    let kept = trial.file(&format!("{folder}/kept"));
    ensure(kept.as_deref() == Some("kept\n"), || format!("{kept:?}"))?;
    let new = trial.file(&format!("{folder}/new"));
    ensure(new.is_none(), || "it wrote to what it may read".to_owned())
}

fn user(setup: &Setup<'_>) -> Checked {
    can(setup, |can| can.user, "program.user")?;
    let script =
        "while read -r key id rest; do [ $key = Uid: ] && echo uid=$id; done < /proc/self/status";
    let (mut trial, _) = run(setup, |_| {
        let access = Access {
            user: Some("nobody".to_owned()),
            ..Access::default()
        };
        vec![("a", script.to_owned(), access)]
    })?;
    trial.says("a", "uid=65534")
}

/// Devices that no container has by itself, as the kernel calls them (`/proc/misc`) and as their files are called.
const DEVICES: [&str; 2] = ["cpu_dma_latency", "loop-control"];

/// One program opens a device that it was given; another that was not given it cannot.
fn device(setup: &Setup<'_>) -> Checked {
    can(setup, |can| can.mounts, "program.mounts")?;
    can(setup, |can| can.devices, "program.devices")?;
    let known = file_of(setup, "/proc/misc").unwrap_or_default();
    let is_known = |name: &&str| {
        let mut names = known
            .lines()
            .map(|line| line.split_whitespace().next_back());
        names.any(|known| known == Some(*name))
    };
    let Some(name) = DEVICES.into_iter().find(is_known) else {
        return Err(Stop::Unsupported("a device to give".to_owned()));
    };
    let path = format!("/dev/{name}");
    let script = format!("( : < {path} ) && echo opened || echo refused");
    let (mut trial, _) = run(setup, |_| {
        let access = Access {
            devices: vec![path],
            ..Access::default()
        };
        vec![
            ("a", script.clone(), access),
            ("b", script, Access::default()),
        ]
    })?;
    trial.says("a", "opened")?;
    trial.says("b", "refused")
}

/// What a program writes goes with its service.
fn own_root(setup: &Setup<'_>) -> Checked {
    can(setup, |can| can.mounts, "program.mounts")?;
    let script = "echo written > /tmp/stowplan-conformance && echo done";
    let (mut trial, _) = run(setup, |_| vec![("a", script.to_owned(), Access::default())])?;
    trial.says("a", "done")?;
    trial.deployment().destroy()?;
    let root = setup.rootfs.as_deref().unwrap_or_default();
    let left = file_of(setup, &format!("{root}/tmp/stowplan-conformance"));
    ensure(left.is_none(), || "what it wrote is still there".to_owned())
}

/// The setup with other isolation.
fn isolated<'a>(setup: &'a Setup<'a>, isolation: IsolationPlan) -> Setup<'a> {
    Setup {
        isolation,
        variant: setup.variant.clone(),
        rootfs: setup.rootfs.clone(),
        ..*setup
    }
}

/// What two services say that run the same script, which ends with the line `end`.
fn both_say(setup: &Setup<'_>, script: &str, end: &str) -> Result<[String; 2], Stop> {
    let names = ["a", "b"];
    let (mut trial, _) = run(setup, |_| {
        names
            .map(|name| (name, script.to_owned(), Access::default()))
            .to_vec()
    })?;
    let mut said = [String::new(), String::new()];
    for (name, said) in names.into_iter().zip(&mut said) {
        trial.says(name, end)?;
        *said = trial.deployment().log(name, 1 << 12)?;
    }
    Ok(said)
}

/// The line that begins so: what holds a container may say something first.
fn line_of(said: &str, begin: &str) -> Option<String> {
    let line = said.lines().find(|line| line.starts_with(begin));
    line.map(str::to_owned)
}

/// Services that are asked into networks of their own are in different ones, whose loopback is up.
fn own_network(setup: &Setup<'_>) -> Checked {
    let has_switch = |can: &Variant| can.isolation.contains(&IsolationFeature::Net);
    can(setup, has_switch, "isolation.net")?;
    let script = "readlink /proc/self/ns/net; while read -r line; do case $line in *127.0.0.1*) echo loopback; break; esac; \
                  done < /proc/net/fib_trie";
    let apart = IsolationPlan {
        net: true,
        ..setup.isolation
    };
    let [one, other] = both_say(&isolated(setup, apart), script, "loopback")?;
    let network = |said: &str| line_of(said, "net:[");
    ensure(network(&one).is_some(), || one.clone())?;
    ensure(network(&one) != network(&other), || {
        format!("both are in {one}")
    })
}

/// Services are in IPC namespaces of their own, or in that of the machine with its `/dev/shm`, as they are asked.
fn host_ipc(setup: &Setup<'_>) -> Checked {
    let has_switch = |can: &Variant| can.isolation.contains(&IsolationFeature::Ipc);
    can(setup, has_switch, "isolation.ipc")?;
    let script = "readlink /proc/self/ns/ipc; while read -r id parent device root point rest; do \
                  [ \"$point\" = /dev/shm ] && echo \"shm $device\"; done < /proc/self/mountinfo; echo told";
    let said = |ipc| {
        let isolation = IsolationPlan {
            ipc,
            ..setup.isolation
        };
        both_say(&isolated(setup, isolation), script, "told")
    };
    let [one, other] = said(true)?;
    ensure(line_of(&one, "ipc:[").is_some(), || one.clone())?;
    // Of two mounts on one place the last is seen.
    let has = |said: &str| {
        let namespace = line_of(said, "ipc:[");
        let mount = said.lines().rfind(|line| line.starts_with("shm "));
        (namespace, mount.map(str::to_owned))
    };
    ensure(has(&one).0 != has(&other).0, || {
        format!("both are in {one}")
    })?;
    let [one, other] = said(false)?;
    ensure(has(&one) == has(&other), || format!("{one} is not {other}"))?;
    let mounts = file_of(setup, "/proc/self/mountinfo").unwrap_or_default();
    let of_machine = mounts.lines().rev().find_map(|line| {
        let mut fields = line.split(' ').skip(2);
        let device = fields.next()?;
        (fields.nth(1)? == "/dev/shm").then(|| format!("shm {device}"))
    });
    // In a machine without such a mount it is a plain folder.
    let seen = has(&one).1;
    ensure(of_machine.is_none() || of_machine == seen, || {
        format!("{seen:?} where the machine has {of_machine:?}")
    })
}
