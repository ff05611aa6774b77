//! The suite on a machine that has control groups of version 2 alone: a guest, with the static agent, booted from a
//! kernel and an initial root made here. Without KVM the guest is emulated and takes minutes.
//!
//! It needs `qemu-system-x86_64`, a static `busybox` and a kernel: `$STOWPLAN_GUEST_KERNEL` and
//! `$STOWPLAN_GUEST_MODULES` (a folder with `overlay.ko`, where the kernel has it as a module), else the newest Debian
//! cloud kernel that `apt-get download` gives, kept below the target folder.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::{Kernel, boot, kernel, which};
use stowplan_testkit::{Initramfs, agent_program, skip, static_example};

/// What the suite in the guest said: lines of each place.
type ReportedFeatures = BTreeMap<String, Vec<String>>;

#[test]
#[ignore = "boots a guest: minutes without KVM"]
fn engines_conform_on_cgroup_v2() {
    let parts =
        which("qemu-system-x86_64").and_then(|qemu| Ok((qemu, static_busybox()?, kernel()?)));
    let (qemu, busybox, kernel) = match parts {
        Ok(parts) => parts,
        Err(reason) => return skip!("{reason}"),
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let initramfs = folder.path().join("initramfs");
    fs::write(&initramfs, archive(&busybox, &kernel)).unwrap();
    let said = listen(&qemu, &kernel, &initramfs);
    for (place, matrix) in [
        ("bare:flat", include_str!("matrix/bare-flat.txt")),
        ("bare:session", include_str!("matrix/bare-session.txt")),
        ("bare:grouped", include_str!("matrix/bare-grouped.txt")),
        ("oci:", include_str!("matrix/bare-grouped.txt")),
        (
            "bare:grouped in a session",
            include_str!("matrix/bare-grouped.txt"),
        ),
        ("oci: in a session", include_str!("matrix/bare-grouped.txt")),
    ] {
        let lines = &said[place];
        let (left, cases) = lines.split_last().unwrap();
        assert_eq!(cases, matrix.lines().collect::<Vec<_>>(), "{place}");
        assert_eq!(left, "left []", "{place}");
    }
}

fn archive(busybox: &Path, kernel: &Kernel) -> Vec<u8> {
    let read = |path: &Path| fs::read(path).unwrap();
    let guest = static_example("stowplan-engine-conformance", "guest");
    let archive = Initramfs::default()
        .folder("bin")
        .folder("dev")
        .folder("modules")
        .program("bin/busybox", &read(busybox))
        .program("agent", &read(agent_program()))
        .program("init", &read(&guest));
    match &kernel.overlay {
        Some(module) => archive.program("modules/overlay.ko", &read(module)),
        None => archive,
    }
    .finish()
}

/// What the guest says until it turns itself off.
fn listen(qemu: &Path, kernel: &Kernel, initramfs: &Path) -> ReportedFeatures {
    let mut said = ReportedFeatures::new();
    let mut place = "before".to_owned();
    let mut whole = false;
    boot(qemu, kernel, initramfs, 1536, |line| {
        let Some((_, text)) = line.split_once("guest: ") else {
            return;
        };
        if let Some(name) = text.strip_prefix("place ") {
            name.clone_into(&mut place);
        } else if text == "end" {
            whole = true;
        } else {
            said.entry(place.clone()).or_default().push(text.to_owned());
        }
    });
    assert!(whole, "the guest went down early");
    assert_eq!(said.remove("before").unwrap(), ["layout v2"]);
    said
}

fn static_busybox() -> Result<PathBuf, String> {
    let path = which("busybox")?;
    let said = Command::new("ldd").arg(&path).output();
    let is_static = said.is_ok_and(|said| !said.status.success());
    is_static
        .then_some(path)
        .ok_or_else(|| "busybox is not static (package busybox-static)".to_owned())
}
