//! Building an application at a place: compiled in a service, and made an image.

use std::fs;
use std::path::{Path, PathBuf};

use stowplan_measure::RunError;
use stowplan_wire::deployment::{BindMount, DeploymentPlan, Select};

use super::kinds::{Application, Step};
use super::place::{Applications, COMPILER, unmade};
use super::source::Source;
use crate::figures::Figure;

/// Where the compiler sees the folders of the sources.
const SOURCES: &str = "/srv";

impl Applications<'_> {
    /// Builds and updates; gives the root of the last program, too.
    pub(super) fn builds(
        &self,
        application: Application,
        source: &mut Source,
    ) -> Result<(Vec<Figure>, PathBuf), RunError> {
        let mut figures = Vec::new();
        let mut root = PathBuf::new();
        for (step, clean) in [
            (Step::Build, false),
            (Step::UpdateCached, false),
            (Step::Update, true),
        ] {
            if step != Step::Build {
                let changed = source.change();
                changed.map_err(|error| unmade(&source.program(), &error))?;
            }
            root = self
                .scratch
                .join(format!("{application}-root-{}", step.metric()));
            let clean = if clean { "make -s clean && " } else { "" };
            let script =
                format!("cd {SOURCES}/{application} && {clean}make -s APPLICATION={application}");
            let compiled = self.compile(&format!("{application} {}", step.metric()), &script)?;
            let made = self.make_image(application, source, &root)?;
            figures.push(step.of(application, Ok(compiled + made)));
        }
        Ok((figures, root))
    }

    /// The image with the compiler is there before anything is measured.
    pub(super) fn load_toolbox(&self) -> Result<(), RunError> {
        self.compile("nothing", "true").map(drop)
    }

    /// Runs a script in a service with the compiler. How long from `create` until the script has ended.
    fn compile(&self, name: &str, script: &str) -> Result<u64, RunError> {
        // A log may have those before.
        let ended = format!("stowplan-compiled {name} ");
        let script = format!("export PATH=/usr/bin:/bin; ({script}); echo \"{ended}$?\"");
        self.with_deployment(&self.in_toolbox(&script), |deployment| {
            let begin = self.site.clock()?;
            deployment.create(&Select::All)?;
            deployment.start(&Select::All)?;
            let status = |line: &str| line.strip_prefix(&ended).map(str::to_owned);
            let status = self.wait_for_line(deployment, COMPILER, begin, status)?;
            if status != "0" {
                let message = format!("the compiler ended with status {status}");
                return Err(RunError::new(message));
            }
            Ok(self.site.clock()? - begin)
        })
    }

    fn in_toolbox(&self, script: &str) -> DeploymentPlan {
        let (command, mounts) = if self.is_plain() {
            let folders = [(self.scratch, SOURCES)];
            let words = stowplan_engine::shell_in(self.toolbox, &folders, script);
            (words, Vec::new())
        } else {
            let words = ["/bin/sh", "-c", script].map(str::to_owned);
            let mount = BindMount {
                from: self.scratch.display().to_string(),
                to: SOURCES.to_owned(),
                read_only: false,
            };
            (words.to_vec(), vec![mount])
        };
        self.plan_of(COMPILER, command, self.toolbox, mounts)
    }

    /// Makes a root of the program, and brings it to where the engine has its images; how long that takes. Plain processes have
    /// no image.
    fn make_image(
        &self,
        application: Application,
        source: &Source,
        root: &Path,
    ) -> Result<u64, RunError> {
        let program = root.join(application.name());
        let begin = self.site.clock()?;
        stowplan_image::lay_root(root)
            .and_then(|()| fs::copy(source.program(), &program))
            .map_err(|error| unmade(&program, &error))?;
        self.with_deployment(&self.application(application, root), |_| {
            Ok(self.site.clock()? - begin)
        })
    }

    /// The application as a service.
    pub(super) fn application(&self, application: Application, root: &Path) -> DeploymentPlan {
        let name = application.name();
        let program = if self.is_plain() {
            root.join(name).display().to_string()
        } else {
            format!("/{name}")
        };
        self.plan_of(name, vec![program], root, Vec::new())
    }
}
