//! Until an engine has the image of a deployment: from nothing, after a change of one line, and when it is there.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stowplan_engine::{Engine, ServiceKind, Variant};
use stowplan_host::Host;
use stowplan_measure::RunError;
use stowplan_site::Site;
use stowplan_wire::deployment::DeploymentPlan;

use crate::figures::{Figure, Operation};
use crate::stand::{in_run, numbered};

/// The program in an image folder: what is changed by a line.
const PROGRAM: &str = "stowplan-node";

/// The folder of start-up files in it.
const FILES: &str = "files";

/// Name of a file that no image has had before.
const NEW_FILE: &str = "never-seen.txt";

/// The rows of images, in the order in which they are measured.
const ROWS: [Operation; 3] = [
    Operation::ImageNew,
    Operation::ImageChanged,
    Operation::ImageThere,
];

/// A deployment that is prepared and never started.
pub struct Images<'a> {
    /// The host, which is this machine.
    pub site: Rc<dyn Site>,
    /// The engine.
    pub engine: &'a dyn Engine,
    /// What its variant can do.
    pub can: &'a Variant,
    /// What it prepares; the image folder is that of which copies are made.
    pub plan: DeploymentPlan,
    /// Folder for the copies, which exists.
    pub scratch: &'a Path,
}

impl Images<'_> {
    /// Prepares the deployment three times. Nothing of it is left on the host but images, which the engine removes when it goes.
    ///
    /// # Errors
    /// When a copy cannot be made, or the engine fails.
    pub fn run(mut self) -> Result<Vec<Figure>, RunError> {
        if self.can.services != ServiceKind::Containers {
            let why = || Err("plain processes have no image".to_owned());
            return Ok(ROWS.map(|row| Figure::of(row, why())).to_vec());
        }
        let copy = self.scratch.join("image");
        let from = PathBuf::from(&self.plan.image_dir);
        let run = self.plan.run.clone();
        let changed = copied(&from, &copy)
            .and_then(|()| add_line(&copy.join(PROGRAM), &run))
            .and_then(|()| add_line(&copy.join(FILES).join(NEW_FILE), &run))
            .and_then(|()| add_line(&copy.join(NEW_FILE), &run));
        changed.map_err(|error| unmade(&copy, &error))?;
        self.plan.image_dir = copy.display().to_string();
        let site = Rc::clone(&self.site);
        let plan = self.plan.clone();
        in_run(site.as_ref(), plan, |plan| self.measured(&plan, &copy))
    }

    fn measured(&self, plan: &DeploymentPlan, copy: &Path) -> Result<Vec<Figure>, RunError> {
        let mut figures = Vec::new();
        let mut plan = plan.clone();
        for (number, row) in (0..).zip(ROWS) {
            if row == Operation::ImageChanged {
                let changed = add_line(&copy.join(PROGRAM), "one line");
                changed.map_err(|error| unmade(copy, &error))?;
            }
            plan.run = numbered(&self.plan.run, number);
            let host: Rc<dyn Host> = Rc::clone(&self.site) as Rc<dyn Host>;
            let begin = self.site.clock()?;
            let mut deployment = self.engine.prepare(&plan, host)?;
            let took = self.site.clock()? - begin;
            deployment.destroy()?;
            figures.push(Figure::of(row, Ok(took)));
        }
        Ok(figures)
    }
}

/// Copies a folder with everything in it.
fn copied(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copied(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Adds a line to the end of a file, which is made where there is none.
fn add_line(file: &Path, line: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)?;
    writeln!(file, "{line}")
}

fn unmade(path: &Path, error: &std::io::Error) -> RunError {
    RunError::new(format!(
        "cannot make the image '{}': {error}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use stowplan_engine::CpuGroups;
    use stowplan_testkit::{command_plan, fake};
    use stowplan_wire::deployment::Program;

    use super::*;

    fn run(can: &Variant, folder: &Path) -> (Vec<Figure>, usize) {
        let (host, engine) = fake::fake();
        let mut plan = command_plan("r", "", None, &[("a", &[])]);
        plan.services[0].program = Program::Node;
        plan.image_dir = folder.join("original").display().to_string();
        let figures = Images {
            site: host.clone(),
            engine: &engine,
            can,
            plan,
            scratch: folder,
        }
        .run()
        .unwrap();
        (figures, host.living())
    }

    #[test]
    fn an_image_is_new_then_changed_by_a_line_then_there() {
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("original");
        add_line(&original.join(PROGRAM), "program").unwrap();
        add_line(&original.join(FILES).join("lib.bin"), "lib").unwrap();
        let (figures, living) = run(&Variant::container(""), folder.path());
        let metrics: Vec<&str> = figures.iter().map(|figure| figure.metric).collect();
        assert_eq!(metrics, ROWS.map(Operation::metric));
        assert!(figures.iter().all(|figure| figure.value.is_ok()));
        assert_eq!(living, 0, "nothing is left");
        let copy = folder.path().join("image");
        let program = fs::read_to_string(copy.join(PROGRAM)).unwrap();
        assert_eq!(program, "program\nr\none line\n");
        assert!(copy.join(FILES).join("lib.bin").exists());
        let program = fs::read_to_string(original.join(PROGRAM)).unwrap();
        assert_eq!(program, "program\n", "the image of the run stays as it is");
    }

    #[test]
    fn plain_processes_have_no_image() {
        let can = Variant::processes("flat", CpuGroups::One, stowplan_engine::LimitSupport::all());
        let (figures, _) = run(&can, Path::new("/nonexistent"));
        for figure in figures {
            assert_eq!(
                figure.value,
                Err("plain processes have no image".to_owned())
            );
        }
    }
}
