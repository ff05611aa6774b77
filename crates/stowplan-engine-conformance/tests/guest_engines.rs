//! The suites of the engines that need more than an agent, on a machine that has control groups of version 2 alone: each engine's
//! own conformance tests, as they were built here, in an emulated guest with a root of this machine's Debian release.
//!
//! It needs `qemu-system-x86_64`, a kernel as `tests/guest.rs`, `mmdebstrap`, and root.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod machine;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Write as _, copy};
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::{Kernel, boot, kernel, output, which};
use stowplan_testkit::{Initramfs, agent_program, node_program, skip};

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// What the guest has beside a minimal Debian.
const PACKAGES: &str = "docker.io,containerd,runc,crun,podman,catatonit,lxc,systemd-container,apparmor,iproute2,kmod,procps,\
                        python3-minimal,cpio";
/// What not every release has.
const SERVER: [&str; 2] = ["lxd", "lxd-client"];

/// Engines whose tests run in the guest, in this order, and what has to pass there.
const ENGINES: [(&str, &[&str]); 5] = [
    ("nspawn", &["conforms"]),
    ("lxc", &["conforms"]),
    ("docker", &["docker", "podman"]),
    ("cri", &["containerd"]),
    ("lxd", &["lxd"]),
];

/// A daemon without bridges and address translation, for which the guest would need more modules.
const DOCKER: &[u8] = br#"{"bridge": "none", "iptables": false, "ip-forward": false}"#;

/// Memory of the guest in MiB: its root is in it, and a root in memory may have half of it.
const MIB: u32 = 4096;

#[test]
#[ignore = "boots a guest: an hour or more without KVM"]
fn every_engine_conforms_on_cgroup_v2() {
    let parts = which("qemu-system-x86_64").and_then(|qemu| Ok((qemu, kernel()?, Debian::get()?)));
    let (qemu, kernel, debian) = match parts {
        Ok(parts) => parts,
        Err(reason) => return skip!("{reason}"),
    };
    let folder = tempfile::tempdir_in(SCRATCH).unwrap();
    let initramfs = folder.path().join("initramfs");
    let mut file = File::create(&initramfs).unwrap();
    // The kernel unpacks one archive after another (kernel: driver-api/early-userspace/buffer-format.rst).
    copy(&mut File::open(&debian.archive).unwrap(), &mut file).unwrap();
    file.write_all(&ours(&kernel, &debian)).unwrap();
    let said = listen(&qemu, &kernel, &initramfs);
    for (engine, tests) in ENGINES {
        for test in tests {
            let outcome = &said[&format!("{engine} {test}")];
            let absent = engine == "lxd" && !debian.has_server && outcome.starts_with("skip: ");
            assert!(outcome == "passed" || absent, "{engine}: {outcome}");
        }
    }
    // Those of engines that the guest does not have say so.
    let failed: Vec<_> = said.iter().filter(|(_, said)| *said == "failed").collect();
    assert_eq!(failed, [], "of {said:?}");
}

/// What came of each test, until the guest turns itself off.
fn listen(qemu: &Path, kernel: &Kernel, initramfs: &Path) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let mut whole = false;
    boot(qemu, kernel, initramfs, MIB, |line| {
        if let Some(told) = line.strip_prefix("guest: test ") {
            let (test, outcome) = told.split_once(": ").unwrap();
            said.insert(test.to_owned(), outcome.to_owned());
        }
        whole |= line == "guest: end";
    });
    assert!(whole, "the guest went down early, after {said:?}");
    said
}

/// What the guest has of this repository and of the kernel.
fn ours(kernel: &Kernel, debian: &Debian) -> Vec<u8> {
    let read = |path: &Path| fs::read(path).unwrap();
    let script = root().join("script/common.sh");
    let settings = format!(
        "ROOT='{}' ENGINES='{}'\n",
        root().display(),
        debian.engines()
    );
    let mut archive = Initramfs::default()
        .program("init", include_bytes!("machine/engines.sh"))
        .program("settings", settings.as_bytes())
        .folder("etc/docker")
        .program("etc/docker/daemon.json", DOCKER)
        .folder("modules")
        .folder("programs");
    if let Some(module) = &kernel.overlay {
        archive = archive.program("modules/overlay.ko", &read(module));
    }
    for (number, (engine, program)) in test_programs().iter().enumerate() {
        archive = archive.program(&format!("programs/{number}-{engine}"), &stripped(program));
    }
    // Tests look for them where they are here.
    archive = folders(archive, Path::new(SCRATCH));
    for path in [agent_program(), node_program(), &script] {
        archive = folders(archive, path.parent().unwrap());
        archive = archive.program(&below_root(path), &read(path));
    }
    archive.finish()
}

fn root() -> &'static Path {
    // This crate is in `crates/stowplan-engine-conformance` of the repository.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
}

fn below_root(path: &Path) -> String {
    path.strip_prefix("/").unwrap().display().to_string()
}

/// A folder with those above it.
fn folders(archive: Initramfs, path: &Path) -> Initramfs {
    let mut all: Vec<&Path> = path
        .ancestors()
        .filter(|path| path.parent().is_some())
        .collect();
    all.reverse();
    all.into_iter()
        .fold(archive, |archive, path| archive.folder(&below_root(path)))
}

/// The conformance tests of the engines, which a test run of the workspace has built.
fn test_programs() -> Vec<(&'static str, PathBuf)> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let cargo = cargo
        .current_dir(root())
        .env_remove("RUSTC_BOOTSTRAP")
        .args(["test", "--workspace", "--no-run", "--quiet"]);
    let said = output(cargo.args(["--test", "conformance", "--message-format=json"])).unwrap();
    let built: Vec<serde_json::Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let program = |engine: &str| {
        let folder = root().join(format!("crates/stowplan-engine-{engine}"));
        let manifest = folder.join("Cargo.toml").display().to_string();
        let mut of_engine = built
            .iter()
            .filter(|built| built["manifest_path"] == *manifest);
        let path = of_engine.find_map(|built| built["executable"].as_str());
        path.unwrap_or_else(|| panic!("no tests of {engine}"))
            .into()
    };
    ENGINES.map(|(engine, _)| (engine, program(engine))).into()
}

/// A program without what only a debugger reads, which the guest would have in memory.
fn stripped(program: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir_in(SCRATCH).unwrap();
    let copy = folder.path().join("program");
    output(Command::new("strip").arg("-o").arg(&copy).arg(program)).unwrap();
    fs::read(copy).unwrap()
}

/// A root with the engines, as an archive that the kernel unpacks.
struct Debian {
    archive: PathBuf,
    has_server: bool,
}

impl Debian {
    /// Of the release that this machine has, so that the programs that were built here run in it; made once, about 600 MB below
    /// the target folder.
    fn get() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can make a Debian root whose files are root's".to_owned());
        }
        let release = fs::read_to_string("/etc/os-release").map_err(|e| e.to_string())?;
        let mut lines = release.lines();
        let suite = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let suite = suite.ok_or("/etc/os-release names no release")?;
        let known = output(Command::new("apt-cache").arg("policy").args(SERVER))?;
        let candidates =
            known.matches("Candidate: ").count() - known.matches("Candidate: (none)").count();
        let debian = Self {
            archive: Path::new(SCRATCH).join(format!("guest-engines-{suite}.cpio")),
            has_server: candidates >= SERVER.len(),
        };
        if !debian.archive.exists() {
            debian.make(suite)?;
        }
        Ok(debian)
    }

    fn make(&self, suite: &str) -> Result<(), String> {
        // Renamed when it is complete, so that an interrupted one is never used.
        let partial = self
            .archive
            .with_extension(format!("partial-{}", std::process::id()));
        let server = if self.has_server {
            SERVER.join(",")
        } else {
            String::new()
        };
        let pack = format!(
            "cd \"$1\" && rm -rf var/lib/apt/lists/* var/cache/apt/* usr/share/doc usr/share/man usr/share/locale && \
             chroot . sh -c 'find . -xdev -print0 | cpio -0 --quiet -o -H newc' > '{}'",
            partial.display()
        );
        let made = output(
            Command::new("mmdebstrap")
                .args(["--quiet", "--variant=minbase", "--format=null"])
                .arg(format!("--include={PACKAGES},{server}"))
                .arg(format!("--customize-hook={pack}"))
                .args([suite, "-"]),
        );
        if let Err(error) = made {
            // What is left of it is of no use; that there may be nothing is no error.
            let _ = fs::remove_file(&partial);
            return Err(error);
        }
        fs::rename(&partial, &self.archive).map_err(|e| e.to_string())
    }

    /// Engines that have to be there, for `STOWPLAN_REQUIRE_ENGINES`.
    fn engines(&self) -> &'static str {
        if self.has_server {
            "docker,podman,cri,lxd"
        } else {
            "docker,podman,cri"
        }
    }
}
