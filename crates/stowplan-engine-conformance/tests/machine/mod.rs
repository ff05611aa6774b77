//! A guest without KVM: what boots it, and what it boots.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kernel and its overlay module, if that is one.
pub struct Kernel {
    pub image: PathBuf,
    pub overlay: Option<PathBuf>,
}

/// Boots a guest and hears every line of its console until it turns itself off; the test runner's time limit is the deadline.
/// Without KVM: whether a machine that has it can boot a stock kernel with it only shows by trying.
pub fn boot(qemu: &Path, kernel: &Kernel, initramfs: &Path, mib: u32, mut hear: impl FnMut(&str)) {
    let mut guest = Command::new(qemu)
        .args(["-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "2"])
        .args(["-m", &mib.to_string(), "-nodefaults", "-no-reboot"])
        .args(["-display", "none", "-serial", "stdio"])
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(initramfs)
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut console = BufReader::new(guest.stdout.take().unwrap());
    let mut line = Vec::new();
    // What programs say need not be text.
    while console.read_until(b'\n', &mut line).unwrap() > 0 {
        let text = String::from_utf8_lossy(&line);
        eprintln!("{}", text.trim_end());
        hear(text.trim_end());
        line.clear();
    }
    assert!(guest.wait().unwrap().success(), "the guest went down early");
}

/// The file of a program.
pub fn which(program: &str) -> Result<PathBuf, String> {
    std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("there is no {program}"))
}

/// `$STOWPLAN_GUEST_KERNEL` and `overlay.ko` in the folder `$STOWPLAN_GUEST_MODULES`, else the newest Debian cloud kernel that
/// `apt-get download` gives, kept below the target folder.
pub fn kernel() -> Result<Kernel, String> {
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

/// What a command says, or why it failed.
pub fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!("{command:?}: {}", said.trim()))
    }
}
