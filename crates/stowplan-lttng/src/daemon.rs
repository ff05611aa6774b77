//! A session daemon of our own, away from the user's.

use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use stowplan_host::ledger::Object;
use stowplan_host::{HostError, process};

use crate::tool::{self, ends_within, unblock_signals};
use crate::tools::Tools;
use crate::view::{View, lay_over};

/// Where a session daemon of root has its sockets: `CONFIG_LTTNG_SYSTEM_RUNDIR` of LTTng-tools, also known to every
/// traced program. It has no option and no environment variable.
const SYSTEM_FOLDER: &str = "/var/run/lttng";

/// Socket of `lttng`.
const CLIENT_SOCKET: &str = "client-lttng-sessiond";

/// Longest wait until the daemon listens or has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where the daemon has its sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In our own folder: that of a user, or of root in a mount namespace in which it lies over [`SYSTEM_FOLDER`].
    Own,
    /// In [`SYSTEM_FOLDER`] itself: root without CAP_SYS_ADMIN, as in most containers.
    System,
}

/// A running session daemon. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Daemon {
    tools: Tools,
    child: Child,
    home: PathBuf,
    place: Place,
    /// What it sees of the file system, where its mounts are its own.
    view: Option<View>,
}

impl Daemon {
    /// Starts one with its files in the folder `home`, which is made. `apps_socket` is where programs find it if not
    /// in `home`. What is made is told to `enter` first.
    pub(crate) fn start(
        tools: &Tools,
        home: &Path,
        apps_socket: Option<&Path>,
        enter: &mut dyn FnMut(&Object) -> Result<(), HostError>,
    ) -> Result<Self, HostError> {
        enter(&Object::Folder {
            path: home.display().to_string(),
        })?;
        make_home(home)?;
        let (place, child) = Self::spawn(tools, home, apps_socket)?;
        // From here on dropping it ends the process.
        let mut daemon = Self {
            tools: tools.clone(),
            child,
            home: home.to_owned(),
            place,
            view: None,
        };
        let pid = daemon.child.id();
        // The kernel ends it when this thread dies before or after this line.
        enter(&Object::Process {
            pid,
            start_ticks: process::start_ticks(pid).unwrap_or(0),
        })?;
        if place == Place::Own && is_root() {
            daemon.view = Some(View::of(pid)?);
        }
        daemon.wait_until_it_listens(apps_socket)?;
        Ok(daemon)
    }

    fn spawn(
        tools: &Tools,
        home: &Path,
        apps_socket: Option<&Path>,
    ) -> Result<(Place, Child), HostError> {
        let failed = |e| HostError::io("run", &tools.sessiond, e);
        let command = |place| {
            let mut command = Command::new(&tools.sessiond);
            command.arg("--no-kernel");
            if let Some(path) = apps_socket {
                command.arg("--apps-sock").arg(path);
            }
            daemon_command(command, home, place)
        };
        match command(Place::Own)?.spawn() {
            Ok(child) => Ok((Place::Own, child)),
            Err(e) if is_root() && e.raw_os_error() == Some(libc::EPERM) => {
                if UnixStream::connect(Path::new(SYSTEM_FOLDER).join(CLIENT_SOCKET)).is_ok() {
                    return Err(HostError::new(
                        "a session daemon of root runs already, and without CAP_SYS_ADMIN there can be no second",
                    )
                    .hint("end it (pkill lttng-sessiond), or record as another user, or with --cap-add SYS_ADMIN"));
                }
                let child = command(Place::System)?.spawn().map_err(failed)?;
                Ok((Place::System, child))
            }
            Err(e) => Err(failed(e)),
        }
    }

    fn wait_until_it_listens(&mut self, apps_socket: Option<&Path>) -> Result<(), HostError> {
        let folder = self.folder();
        let own = || folder.join(self.tools.apps_socket());
        let apps = apps_socket.map_or_else(own, Path::to_owned);
        let begin = Instant::now();
        for socket in [folder.join(CLIENT_SOCKET), apps] {
            while UnixStream::connect(&socket).is_err() {
                let ended = self
                    .child
                    .try_wait()
                    .map_err(|e| HostError::new("cannot wait for lttng-sessiond").because(e))?;
                let what = match ended {
                    Some(status) => format!("lttng-sessiond ended with {status}"),
                    None if begin.elapsed() > PATIENCE => format!(
                        "lttng-sessiond does not listen on {} after {} s",
                        socket.display(),
                        PATIENCE.as_secs()
                    ),
                    None => {
                        // It has no other way to tell than a signal, which a library must not take.
                        std::thread::sleep(Duration::from_millis(2));
                        continue;
                    }
                };
                let log = fs::read_to_string(self.home.join("daemon.log")).unwrap_or_default();
                return Err(HostError::new(format!("{what}: {}", log.trim())));
            }
        }
        Ok(())
    }

    /// Folder of its sockets, as the host sees it.
    pub(crate) fn folder(&self) -> PathBuf {
        match self.place {
            Place::Own => self.home.join(".lttng"),
            Place::System => PathBuf::from(SYSTEM_FOLDER),
        }
    }

    /// Pid of its process; its consumers are children of it.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is in the place of root's own daemon, where every program of the machine finds it.
    pub(crate) fn is_system_wide(&self) -> bool {
        self.place == Place::System
    }

    /// Runs `lttng` for this daemon.
    pub(crate) fn lttng(&self, arguments: &[&str], longest: Duration) -> Result<String, HostError> {
        let mut command = Command::new(&self.tools.lttng);
        // Of a group that nobody is in: as one of the tracing group it would talk to root's daemon.
        command.args(["--no-sessiond", "--group", "stowplan-none"]);
        command.args(arguments);
        command.env("LTTNG_HOME", &self.home).process_group(0);
        let view = self.view.as_ref().map(View::copy).transpose();
        let view = view.map_err(|e| HostError::new("cannot copy a descriptor").because(e))?;
        // SAFETY: only system calls that are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                unblock_signals()?;
                view.as_ref().map_or(Ok(()), View::enter)
            });
        }
        tool::run(command, longest)
    }

    /// Asks it to end, which ends its consumers, and removes its folder.
    pub(crate) fn end(mut self) -> Result<(), HostError> {
        self.stop();
        match fs::remove_dir_all(&self.home) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(HostError::io("remove", &self.home, e))
            }
            _ => Ok(()),
        }
    }

    fn stop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Ok(pid) = tool::pid(self.child.id()) {
            // One that has just ended is what was wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
        if !ends_within(&self.child, PATIENCE) {
            process::kill_tree_and_wait(self.child.id(), PATIENCE);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The folder and the one of the sockets in it. Programs of other users find a daemon of root's, as LTTng wants it.
fn make_home(home: &Path) -> Result<(), HostError> {
    let mode = if is_root() { 0o755 } else { 0o700 };
    for folder in [home, &home.join(".lttng")] {
        DirBuilder::new()
            .mode(mode)
            .create(folder)
            .map_err(|e| HostError::io("make", folder, e))?;
    }
    Ok(())
}

/// Completes the command of a daemon at this place.
fn daemon_command(mut command: Command, home: &Path, place: Place) -> Result<Command, HostError> {
    let log = home.join("daemon.log");
    let opened = File::options().create(true).append(true).open(&log);
    let log = opened.map_err(|e| HostError::io("write", &log, e))?;
    let errors = log
        .try_clone()
        .map_err(|e| HostError::new("cannot copy a descriptor").because(e))?;
    command
        .env("LTTNG_HOME", home)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        // A Ctrl-C in the terminal is not for it.
        .process_group(0);
    let over = (place == Place::Own && is_root()).then(|| home.join(".lttng"));
    if over.is_some() {
        // As a session daemon of root makes it; in ours, the folder only has to be there to mount on.
        fs::create_dir_all(SYSTEM_FOLDER)
            .map_err(|e| HostError::io("make", SYSTEM_FOLDER.as_ref(), e))?;
    }
    let text = |path: &OsStr| {
        CString::new(path.as_bytes())
            .map_err(|e| HostError::new("a path has a zero byte").because(e))
    };
    let over = over.map(|path| text(path.as_os_str())).transpose()?;
    let system = text(SYSTEM_FOLDER.as_ref())?;
    // SAFETY: only system calls that are safe between fork and exec, on texts made before.
    unsafe {
        command.pre_exec(move || {
            unblock_signals()?;
            done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
            raise_open_files();
            match &over {
                Some(over) => lay_over(over, &system),
                None => Ok(()),
            }
        });
    }
    Ok(command)
}

/// Each traced program costs the daemon descriptors: as many as it may have. Fewer are no fault yet.
fn raise_open_files() {
    // SAFETY: the structure lives during the calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

fn done(result: i32) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
