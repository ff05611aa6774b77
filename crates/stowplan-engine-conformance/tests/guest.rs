//! The suite on a machine that has control groups of version 2 alone: a guest, with the static agent, booted from a
//! kernel and an initial root made here. Without KVM the guest is emulated and takes minutes.
//!
//! It needs `qemu-system-x86_64`, a static `busybox` and a kernel: `$STOWPLAN_GUEST_KERNEL` and
//! `$STOWPLAN_GUEST_MODULES` (a folder with `overlay.ko`, where the kernel has it as a module), else the newest Debian
//! cloud kernel that `apt-get download` gives, kept below the target folder.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stowplan_testkit::{Initramfs, agent_program, static_example};

/// A kernel and its overlay module, if that is one.
struct Kernel {
    image: PathBuf,
    overlay: Option<PathBuf>,
}

/// What the suite in the guest said: lines of each place.
type Said = BTreeMap<String, Vec<String>>;

#[test]
#[ignore = "boots a guest: minutes without KVM"]
fn engines_conform_on_cgroup_v2() {
    let parts =
        which("qemu-system-x86_64").and_then(|qemu| Ok((qemu, static_busybox()?, kernel()?)));
    let (qemu, busybox, kernel) = match parts {
        Ok(parts) => parts,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let initramfs = folder.path().join("initramfs");
    fs::write(&initramfs, archive(&busybox, &kernel)).unwrap();
    let said = boot(&qemu, &kernel.image, &initramfs);
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

/// Boots and listens until the guest turns itself off; the test runner's time limit is the deadline.
fn boot(qemu: &Path, kernel: &Path, initramfs: &Path) -> Said {
    let mut guest = Command::new(qemu)
        .args(["-machine", "q35,accel=tcg", "-cpu", "max"])
        .args(["-smp", "2", "-m", "1536", "-nodefaults", "-no-reboot"])
        .args(["-display", "none", "-serial", "stdio"])
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(initramfs)
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(guest.stdout.take().unwrap()).lines();
    let mut said = Said::new();
    let mut place = "before".to_owned();
    let mut whole = false;
    for line in lines.map_while(Result::ok) {
        eprintln!("{line}");
        let Some((_, text)) = line.trim_end().split_once("guest: ") else {
            continue;
        };
        if let Some(name) = text.strip_prefix("place ") {
            name.clone_into(&mut place);
        } else {
            said.entry(place.clone()).or_default().push(text.to_owned());
        }
        if text == "end" {
            whole = true;
            said.get_mut(&place).unwrap().pop();
        }
    }
    assert!(
        guest.wait().unwrap().success() && whole,
        "it went down early"
    );
    assert_eq!(said.remove("before").unwrap(), ["layout v2"]);
    said
}

fn which(program: &str) -> Result<PathBuf, String> {
    std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("there is no {program}"))
}

fn static_busybox() -> Result<PathBuf, String> {
    let path = which("busybox")?;
    let said = Command::new("ldd").arg(&path).output();
    let is_static = said.is_ok_and(|said| !said.status.success());
    is_static
        .then_some(path)
        .ok_or_else(|| "busybox is not static (package busybox-static)".to_owned())
}

fn kernel() -> Result<Kernel, String> {
    if let Some(image) = std::env::var_os("STOWPLAN_GUEST_KERNEL") {
        let modules = std::env::var_os("STOWPLAN_GUEST_MODULES");
        return Ok(Kernel {
            image: image.into(),
            overlay: modules.map(|folder| Path::new(&folder).join("overlay.ko")),
        });
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest-kernel");
    if !folder.join("boot").is_dir() {
        unpack_debian_kernel(&folder)?;
    }
    let image = find(&folder.join("boot"), "vmlinuz-").ok_or("the package has no kernel")?;
    let overlay = find(&folder, "overlay.ko");
    Ok(Kernel { image, overlay })
}

/// The first file below `folder` whose name begins so.
fn find(folder: &Path, begin: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries
        .filter_map(|entry| match entry.file_type().ok()? {
            kind if kind.is_dir() => find(&entry.path(), begin),
            _ => entry
                .file_name()
                .to_string_lossy()
                .starts_with(begin)
                .then(|| entry.path()),
        })
        .next()
}

/// Gets the package of the newest Debian cloud kernel and unpacks it; nothing is installed.
fn unpack_debian_kernel(folder: &Path) -> Result<(), String> {
    let partial = folder.with_extension(format!("partial-{}", std::process::id()));
    fs::create_dir_all(&partial).map_err(|e| e.to_string())?;
    let depends = output(Command::new("apt-cache").args(["depends", "linux-image-cloud-amd64"]))?;
    // The package of this name only depends on that of a version.
    let package = depends
        .split_whitespace()
        .find(|word| word.starts_with("linux-image-") && *word != "linux-image-cloud-amd64")
        .ok_or("there is no Debian package linux-image-cloud-amd64 here")?;
    output(
        Command::new("apt-get")
            .args(["download", "-qq", package])
            .current_dir(&partial),
    )?;
    let file = find(&partial, "linux-image-").ok_or("apt-get download gave no package")?;
    output(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&partial))?;
    fs::rename(&partial, folder).map_err(|e| e.to_string())
}

fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!("{command:?}: {}", said.trim()))
    }
}
