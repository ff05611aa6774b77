//! One benchmark in one service of one place: from the run folder to the line that it prints.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags, statvfs};
use stowplan_engine::{Deployment, Engine, EngineError, shell_in};
use stowplan_host::Host;
use stowplan_host::ledger::Object;
use stowplan_image::Image;
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml};
use stowplan_model::Place;
use stowplan_remote::AgentHost;
use stowplan_site::Site as _;
use stowplan_wire::bench::{BENCH_SCHEMA, BenchResult, Storage};
use stowplan_wire::deployment::{
    Access, BindMount, DeploymentPlan, EngineEventKind, IsolationPlan, Program, Select,
    ServiceStart,
};

use crate::benchmarks::{Benchmark, Disk};
use crate::request::Size;
use crate::toolbox::Toolbox;
use crate::tools::{FULL, NODE_FOLDER, Told, Tool};

/// Name of the service.
const SERVICE: &str = "bench";

/// File of every image that is read as a part of it.
pub(crate) const IMAGE_FILE: &str = "bench.dat";

/// Where a tool has its files.
const TOOL_FILES: &str = "/srv";

/// Longest time for a benchmark beyond what it is asked for, and how often one is asked whose engine does not tell its end.
const LONGEST: Duration = Duration::from_secs(120);
const PERIOD: Duration = Duration::from_millis(200);

/// Longest wait for the log of one that has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Bytes of the log that are looked at: longer than any result.
const LOG_BYTES: u64 = 1 << 18;

/// A file system with less than this is full.
const FULL_BYTES: u64 = 1 << 20;

/// What every start of a session shares.
pub(crate) struct Shared<'a> {
    pub(crate) host: Rc<AgentHost>,
    pub(crate) image: &'a Image,
    /// Where tools are; none where no tool is measured.
    pub(crate) toolbox: Option<&'a Toolbox>,
    pub(crate) dds: DdsConfig,
    pub(crate) size: Size,
    /// Folder of the result; volumes are made in it.
    pub(crate) dir: PathBuf,
    /// Folder on the file system of the images.
    pub(crate) store: PathBuf,
}

/// How a benchmark ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ended {
    /// With a result.
    Measured(Box<BenchResult>),
    /// Without: it failed, printed something else, or did not end.
    Without(String),
}

impl Ended {
    /// With what is behind the folder of its files, where it does not say that itself.
    fn with(mut self, storage: Option<Storage>) -> Self {
        if let Self::Measured(result) = &mut self {
            result.storage = result.storage.take().or(storage);
        }
        self
    }

    /// Says that the disk is full where a program failed without saying so, as `dbench` does.
    fn with_a_full_disk(mut self, folder: Option<&Path>) -> Self {
        if let (Self::Without(why), Some(folder)) = (&mut self, folder)
            && !why.contains(FULL)
            && statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < FULL_BYTES)
        {
            *why += &format!(" (the file system of {} is full)", folder.display());
        }
        self
    }
}

impl Shared<'_> {
    /// Starts the benchmark and waits for its end. Whatever happens, everything of the run is removed.
    pub(crate) fn start(
        &self,
        benchmark: &Benchmark,
        place: &Place,
        engine: &dyn Engine,
        run: &str,
    ) -> Result<Ended, EngineError> {
        let salt = u64::from(std::process::id());
        let domain = self.host.free_domain(salt, 2)?;
        let xml = self.dds_xml(domain);
        let run_dir = self.host.open_run(run, Vec::new(), xml, 0)?;
        let folders = Folders::new(self, benchmark, place, run, &run_dir);
        let ended = self
            .made(benchmark, &folders)
            .and_then(|()| self.storage(benchmark, &folders))
            .and_then(|storage| {
                let ended = self.opened(benchmark, place, engine, &folders, domain)?;
                let own = folders.own.as_deref();
                Ok(ended.with(storage).with_a_full_disk(own))
            });
        let closed = self.host.close_run();
        let removed = folders.own.iter().try_for_each(|own| remove(own));
        let ended = ended?;
        closed?;
        removed?;
        Ok(ended)
    }

    fn dds_xml(&self, domain: u32) -> String {
        cyclonedds_xml(DdsConfig {
            domain: Some(domain),
            ..self.dds
        })
    }

    /// Where a benchmark is a tool of; none of what is built in.
    fn toolbox_of(&self, benchmark: &Benchmark) -> Option<&Toolbox> {
        self.toolbox.filter(|_| benchmark.tool().is_some())
    }

    fn made(&self, benchmark: &Benchmark, folders: &Folders) -> Result<(), EngineError> {
        self.host.add_real(vec![SERVICE.to_owned()])?;
        if let Some(own) = &folders.own {
            self.host.enter(&Object::Folder {
                path: own.display().to_string(),
            })?;
            if let Some(toolbox) = self.toolbox_of(benchmark) {
                make(&toolbox.volumes())?;
                spread(&toolbox.volumes());
            }
            make(own)?;
        }
        Ok(())
    }

    /// What is behind the folder that a tool writes into, and is the same for all places. Benchmarks of ours say it themselves.
    fn storage(
        &self,
        benchmark: &Benchmark,
        folders: &Folders,
    ) -> Result<Option<Storage>, EngineError> {
        let of_files = benchmark.tool().is_some_and(Tool::is_of_files);
        let Some(own) = folders.own.as_ref().filter(|_| of_files) else {
            return Ok(None);
        };
        let program = self.image.dir.join(stowplan_image::PROGRAM_NAME);
        let asked = Command::new(program)
            .args(["bench", "storage", "--ms", "0", "--folder"])
            .arg(own)
            .output();
        let what = || format!("cannot see what is behind {}", own.display());
        let told = asked.map_err(|error| EngineError::new(what()).because(error))?;
        match result(&String::from_utf8_lossy(&told.stdout)) {
            Some(result) => Ok(result.storage),
            None => {
                let said = String::from_utf8_lossy(&told.stderr);
                Err(EngineError::new(format!("{}: {}", what(), said.trim())))
            }
        }
    }

    fn opened(
        &self,
        benchmark: &Benchmark,
        place: &Place,
        engine: &dyn Engine,
        folders: &Folders,
        domain: u32,
    ) -> Result<Ended, EngineError> {
        let plan = self.plan(benchmark, place, folders, domain);
        let host: Rc<dyn Host> = self.host.clone();
        let mut deployment = engine.prepare(&plan, host)?;
        let tells = engine.capabilities();
        let tells = tells.variant(plan.variant.as_deref());
        let tells = tells.is_some_and(|variant| variant.exit_status);
        let ended = self.driven(deployment.as_mut(), tells, benchmark.tool());
        let destroyed = deployment.destroy();
        let ended = ended?;
        destroyed?;
        Ok(ended)
    }

    fn driven(
        &self,
        deployment: &mut dyn Deployment,
        tells: bool,
        tool: Option<&Tool>,
    ) -> Result<Ended, EngineError> {
        deployment.create(&Select::All)?;
        deployment.start(&Select::All)?;
        let begun = Instant::now();
        let mut ended: Option<(i32, Instant)> = None;
        let of_tool = Duration::from_secs(tool.map_or(0, |tool| tool.longest_s));
        let longest = LONGEST + of_tool + Duration::from_millis(self.size.time_ms) * 20;
        while begun.elapsed() < longest {
            let events = deployment.events(PERIOD)?;
            let end = events.iter().find_map(|event| match event.kind {
                EngineEventKind::Exited(status) => Some((status, Instant::now())),
                _ => None,
            });
            ended = ended.or(end);
            if ended.is_none() && tells {
                continue;
            }
            let log = deployment.log(SERVICE, LOG_BYTES)?;
            if let Some(ended) = tool.and_then(|tool| tool.ended(&log)) {
                return Ok(match ended {
                    Ok(result) => Ended::Measured(Box::new(result)),
                    Err(why) => Ended::Without(why),
                });
            }
            match (result(&log), ended) {
                (Some(result), None | Some((0, _))) => {
                    return Ok(Ended::Measured(Box::new(result)));
                }
                (_, Some((status, at))) if at.elapsed() >= LAST_WORDS => {
                    return Ok(Ended::Without(why(status, &log)));
                }
                _ => {}
            }
        }
        Ok(Ended::Without(format!(
            "it did not end within {} s",
            longest.as_secs()
        )))
    }

    fn plan(
        &self,
        benchmark: &Benchmark,
        place: &Place,
        folders: &Folders,
        domain: u32,
    ) -> DeploymentPlan {
        let image_dir = self.image.dir.display().to_string();
        let toolbox = self.toolbox_of(benchmark);
        let rootfs = toolbox.map_or_else(
            || image_dir.clone(),
            |toolbox| toolbox.tree().display().to_string(),
        );
        let has_ours = benchmark.tool().is_some_and(|tool| tool.has_ours);
        // Plain processes have a mount namespace of their own for the toolbox.
        let ours = (has_ours && !place.is_plain()).then(|| BindMount {
            from: image_dir.clone(),
            to: NODE_FOLDER.to_owned(),
            read_only: true,
        });
        let volumes = folders
            .own
            .iter()
            .filter(|_| benchmark.disk == Some(Disk::Volume));
        let volumes = volumes.map(|own| BindMount {
            from: own.display().to_string(),
            // Plain processes have it where it is.
            to: match place.is_plain() {
                true => own.display().to_string(),
                false => folders.files.clone(),
            },
            read_only: false,
        });
        let program = Program::Command {
            command: match (benchmark.tool(), toolbox) {
                (Some(tool), Some(toolbox)) => {
                    self.tool_command(tool, toolbox, place, folders, domain)
                }
                _ => self.command(benchmark, place, folders, domain),
            },
            env: Vec::new(),
            rootfs: (!place.is_plain()).then_some(rootfs),
            access: Access {
                mounts: volumes.chain(ours).collect(),
                ..Access::default()
            },
        };
        DeploymentPlan {
            run: folders.run.clone(),
            run_dir: folders.run_dir.clone(),
            variant: place.engine.variant.clone(),
            image_dir,
            services: vec![ServiceStart {
                log: format!("{}/{SERVICE}/service.log", folders.run_dir),
                ..ServiceStart::new(SERVICE, program)
            }],
            isolation: IsolationPlan::CONTAINER,
            parallelism: 0,
        }
    }

    /// The command line of a tool. Plain processes see the toolbox as their root by a mount namespace that ends with them.
    fn tool_command(
        &self,
        tool: &Tool,
        toolbox: &Toolbox,
        place: &Place,
        folders: &Folders,
        domain: u32,
    ) -> Vec<String> {
        let dds = self.dds_xml(domain);
        let script = tool.script(&Told {
            time_ms: self.size.time_ms,
            folder: &folders.files,
            domain,
            dds: &dds,
        });
        if place.is_plain() {
            let volume = folders.own.as_deref().map(|own| (own, TOOL_FILES));
            let ours = tool.has_ours.then_some((&*self.image.dir, NODE_FOLDER));
            let seen: Vec<_> = volume.into_iter().chain(ours).collect();
            return shell_in(&toolbox.tree(), &seen, &script);
        }
        vec!["/bin/sh".to_owned(), "-c".to_owned(), script]
    }

    /// The command line of the node program, which lies at the root of a container and in the image folder for plain processes.
    fn command(
        &self,
        benchmark: &Benchmark,
        place: &Place,
        folders: &Folders,
        domain: u32,
    ) -> Vec<String> {
        let root = if place.is_plain() {
            self.image.dir.display().to_string()
        } else {
            String::new()
        };
        let mut words = vec![
            format!("{root}/{}", stowplan_image::PROGRAM_NAME),
            "bench".to_owned(),
            benchmark.kernel.to_owned(),
        ];
        let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        let time_ms = match benchmark.disk {
            Some(_) => self.size.file_time_ms,
            None => self.size.time_ms,
        };
        option("ms", time_ms.to_string());
        if let Some(disk) = benchmark.disk {
            option("disk", disk.name().to_owned());
            option("folder", folders.files.clone());
            option("bytes", self.size.file_bytes.to_string());
        }
        if benchmark.disk == Some(Disk::Image) && benchmark.kernel != "files" {
            option("read", format!("{root}/files/{IMAGE_FILE}"));
        }
        if benchmark.kernel == "dds" {
            let config = format!("{}/{SERVICE}/cyclonedds.xml", folders.run_dir);
            option("config", config);
            option("domain", domain.to_string());
        }
        words
    }
}

/// Folders of a run.
struct Folders {
    run: String,
    run_dir: String,
    /// Where files are made, as the service sees it.
    files: String,
    /// A folder of the host that is made for the run.
    own: Option<PathBuf>,
}

impl Folders {
    fn new(
        shared: &Shared<'_>,
        benchmark: &Benchmark,
        place: &Place,
        run: &str,
        run_dir: &str,
    ) -> Self {
        let volume = format!("volume-{run}");
        let toolbox = shared.toolbox_of(benchmark);
        let own = match benchmark.disk {
            // Of a tool it is on the file system of the toolbox, and mounted at the same place everywhere.
            Some(Disk::Volume) => Some(match toolbox {
                Some(toolbox) => toolbox.volumes().join(&volume),
                None => shared.dir.join(&volume),
            }),
            Some(Disk::Image) if place.is_plain() => {
                Some(shared.store.join(format!("bench-{run}")))
            }
            _ => None,
        };
        let shown = own.as_ref().map(|own| own.display().to_string());
        let files = match benchmark.disk {
            Some(Disk::Image) => shown.unwrap_or_else(|| "/tmp".to_owned()),
            Some(Disk::Volume) if toolbox.is_some() => TOOL_FILES.to_owned(),
            Some(Disk::Volume) => shown.unwrap_or_default(),
            Some(Disk::Tmpfs) | None => format!("{run_dir}/{SERVICE}"),
        };
        Self {
            run: run.to_owned(),
            run_dir: run_dir.to_owned(),
            files,
            own,
        }
    }
}

fn make(folder: &Path) -> Result<(), EngineError> {
    let made = fs::create_dir_all(folder);
    made.map_err(|error| {
        EngineError::new(format!("cannot make {}", folder.display())).because(error)
    })
}

/// Has ext4 put the subfolders of a folder far from each other (chattr(1), `T`): it creates files more slowly where others were
/// deleted a minute ago, as those of the run before. Other file systems have no such flag, and do without.
fn spread(folder: &Path) {
    let set = |folder: File| ioctl_setflags(&folder, ioctl_getflags(&folder)? | IFlags::TOPDIR);
    let _ = File::open(folder).map(set);
}

fn remove(folder: &Path) -> Result<(), EngineError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::new(format!("cannot remove {}", folder.display())).because(error))
        }
        _ => Ok(()),
    }
}

/// The result in a log, where it is complete.
fn result(log: &str) -> Option<BenchResult> {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let mut results = lines.filter_map(|line| serde_json::from_str::<BenchResult>(line).ok());
    results.find(|result| result.schema == BENCH_SCHEMA)
}

/// Why there is no result.
fn why(status: i32, log: &str) -> String {
    let said = log.lines().rev().find(|line| !line.trim().is_empty());
    match (status, said) {
        (0, None) => "it ended without a word".to_owned(),
        (0, Some(said)) => format!("it printed something else than a result: {said}"),
        (_, said) => {
            let said = said.unwrap_or("it said nothing");
            format!("it ended with status {status}: {said}")
        }
    }
}

#[cfg(test)]
mod tests {
    use stowplan_wire::bench::FileAccess;

    use super::*;
    use crate::rows::tests::read;

    #[test]
    fn a_result_is_found_among_other_words() {
        let expected = read(1.0, FileAccess::Direct, 0);
        let line = serde_json::to_string(&expected).unwrap();
        assert_eq!(result(&format!("a warning\n{line}\n")), Some(expected));
        assert_eq!(result(&line[..line.len() - 1]), None);
        assert_eq!(result("{}\n"), None);
    }

    #[test]
    fn what_a_benchmark_said_last_is_why_it_has_no_result() {
        assert_eq!(why(1, "a\nno space\n"), "it ended with status 1: no space");
        assert_eq!(why(137, ""), "it ended with status 137: it said nothing");
        assert!(why(0, "hello\n").contains("something else"));
    }
}
