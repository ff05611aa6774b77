//! The folder of a run on tmpfs: plans, DDS configuration, sockets and trace buffers.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use stowplan_wire::service::ServicePlan;

use crate::ledger::Object;
use crate::{Host, HostError};

/// tmpfs of every Linux machine; on a file system on disk a store into a trace buffer can wait for the disk.
const TMPFS: &str = "/dev/shm";

/// What the name of a run's folder begins with.
pub const RUN_FOLDER: &str = "stowplan-";

/// A run's folder. Removed by [`RunDir::remove`].
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    listeners: Vec<(String, OwnedFd)>,
    cyclonedds_xml: String,
}

impl RunDir {
    /// Makes the folder with everything in it. `ring_bytes` is the size of each process's trace buffer; the
    /// buffers are sized and touched here, so that neither a service nor a window pays for it.
    ///
    /// # Errors
    /// When a file cannot be made; what was made until then is named by the ledger.
    pub fn make(
        host: &dyn Host,
        run: &str,
        services: &[ServicePlan],
        cyclonedds_xml: &str,
        ring_bytes: u64,
    ) -> Result<Self, HostError> {
        Self::make_in(
            Path::new(TMPFS),
            host,
            run,
            services,
            cyclonedds_xml,
            ring_bytes,
        )
    }

    fn make_in(
        base: &Path,
        host: &dyn Host,
        run: &str,
        services: &[ServicePlan],
        cyclonedds_xml: &str,
        ring_bytes: u64,
    ) -> Result<Self, HostError> {
        let path = base.join(format!("{RUN_FOLDER}{run}"));
        if path.exists() {
            return Err(HostError::new(format!(
                "the run folder {} exists already",
                path.display()
            ))
            .hint("run 'stowplan clean', or use another name for the run"));
        }
        host.enter(&Object::Folder {
            path: path.display().to_string(),
        })?;
        make_folder(&path)?;
        let mut run_dir = Self {
            path,
            listeners: Vec::new(),
            cyclonedds_xml: cyclonedds_xml.to_owned(),
        };
        if let Err(error) = run_dir.fill(services, ring_bytes) {
            run_dir.remove()?;
            return Err(error);
        }
        Ok(run_dir)
    }

    /// The folder of a service that is a real program, with the DDS configuration; one that exists stays.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn add_real(&self, service: &str) -> Result<(), HostError> {
        if self.path.join(service).exists() {
            return Ok(());
        }
        self.add(service).map(drop)
    }

    fn add(&self, service: &str) -> Result<PathBuf, HostError> {
        let folder = self.path.join(service);
        make_folder(&folder)?;
        write(
            &folder.join("cyclonedds.xml"),
            self.cyclonedds_xml.as_bytes(),
        )?;
        Ok(folder)
    }

    fn fill(&mut self, services: &[ServicePlan], ring_bytes: u64) -> Result<(), HostError> {
        for plan in services {
            let folder = self.add(&plan.service)?;
            let text = serde_json::to_vec(&without_recordings(plan))
                .map_err(|e| HostError::new("cannot write a service plan").because(e))?;
            write(&folder.join("plan.json"), &text)?;
            for recording in &plan.recordings {
                write(&folder.join(&recording.file), &recording.bytes())?;
            }
            if plan.record {
                for process in &plan.processes {
                    make_ring(&folder.join(format!("{}.ring", process.name)), ring_bytes)?;
                }
            }
            let socket = listen(&folder.join("announce.sock"))?;
            self.listeners.push((plan.service.clone(), socket));
        }
        Ok(())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The announce socket of each service, listening and non-blocking; gives them away.
    pub fn take_listeners(&mut self) -> Vec<(String, OwnedFd)> {
        std::mem::take(&mut self.listeners)
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn remove(&self) -> Result<(), HostError> {
        crate::ledger::remove_object(&Object::Folder {
            path: self.path.display().to_string(),
        })
        .map(|_| ())
    }
}

/// The plan that node programs read: what is replayed has files of its own, which only those that replay it read.
fn without_recordings(plan: &ServicePlan) -> Cow<'_, ServicePlan> {
    if plan.recordings.is_empty() {
        return Cow::Borrowed(plan);
    }
    let recordings = Vec::new();
    Cow::Owned(ServicePlan {
        recordings,
        ..plan.clone()
    })
}

fn make_folder(path: &Path) -> Result<(), HostError> {
    fs::create_dir(path).map_err(|e| HostError::io("make the folder", path, e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), HostError> {
    fs::write(path, bytes).map_err(|e| HostError::io("write", path, e))
}

/// A file of this size whose pages exist and have been touched.
fn make_ring(path: &Path, bytes: u64) -> Result<(), HostError> {
    let failed = |verb: &str, e: std::io::Error| {
        let full = e.kind() == std::io::ErrorKind::StorageFull;
        let error = HostError::io(verb, path, e);
        if full {
            error.hint(format!(
                "{TMPFS} is full: use smaller trace buffers, a shorter window or fewer processes"
            ))
        } else {
            error
        }
    };
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|e| failed("make the trace buffer", e))?;
    if bytes == 0 {
        return Ok(());
    }
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)
        .map_err(|e| failed("size the trace buffer", e.into()))?;
    let zeros = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        let part = usize::try_from(part).unwrap_or(zeros.len());
        file.write_all(&zeros[..part])
            .map_err(|e| failed("touch the trace buffer", e))?;
        left -= part as u64;
    }
    Ok(())
}

fn listen(path: &Path) -> Result<OwnedFd, HostError> {
    let failed = |e: rustix::io::Errno| {
        HostError::io("listen on", path, e)
            .hint("names of runs and services may be too long for a socket's path (107 bytes)")
    };
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
    .map_err(failed)?;
    rustix::net::bind(&socket, &address).map_err(failed)?;
    rustix::net::listen(&socket, 1024).map_err(failed)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::service_plan;
    use stowplan_wire::service::RecordingPlan;

    use super::*;
    use crate::LocalHost;

    #[test]
    fn a_run_folder_has_everything_and_goes_away() {
        let base = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let host = LocalHost::new(state.path()).unwrap();
        host.open_run("r1").unwrap();
        let plan = service_plan("r1", "sensing");
        let recording = RecordingPlan {
            file: "source-0.replay".to_owned(),
            messages: vec![(0, 7), (258, 8)],
        };
        let plans = [ServicePlan {
            recordings: vec![recording],
            ..plan.clone()
        }];
        let make = || RunDir::make_in(base.path(), &host, "r1", &plans, "<x/>", 3 << 20);
        let mut run = make().unwrap();
        let folder = run.path().join("sensing");
        let read: ServicePlan =
            serde_json::from_slice(&fs::read(folder.join("plan.json")).unwrap()).unwrap();
        assert_eq!(read, plan, "without what is replayed");
        let replayed = fs::read(folder.join("source-0.replay")).unwrap();
        assert_eq!(replayed.len(), 2 * 16);
        assert_eq!((replayed[8], &replayed[16..18]), (7, &[2, 1][..]));
        assert_eq!(fs::metadata(folder.join("p.ring")).unwrap().len(), 3 << 20);
        assert_eq!(run.take_listeners().len(), 1);
        run.add_real("pong").unwrap();
        run.add_real("sensing").unwrap();
        assert_eq!(
            fs::read(run.path().join("pong/cyclonedds.xml")).unwrap(),
            b"<x/>"
        );
        assert!(folder.join("plan.json").exists(), "one that exists stays");
        assert!(make().unwrap_err().hint.unwrap().contains("stowplan clean"));
        run.remove().unwrap();
        assert!(!run.path().exists());
    }
}
