//! The sources of an application in a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::kinds::Application;

macro_rules! source {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../integrations/applications/", $name)),
        )
    };
}

/// What all of them have.
const SHARED: [(&str, &str); 3] = [
    source!("common.h"),
    source!("common.c"),
    source!("Makefile"),
];

/// The line that a change is of.
const LINE: &str = "#define REVISION ";

/// Sources in a folder, and how often they were changed.
#[derive(Debug)]
pub(super) struct Source {
    folder: PathBuf,
    application: Application,
    revision: u32,
}

impl Application {
    /// Its own unit.
    const fn unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Adas => source!("adas.c"),
            Self::Control => source!("control.c"),
            Self::Server => source!("server.c"),
        }
    }
}

impl Source {
    /// Writes the sources into a folder, which is made. `revision` is one that nobody has compiled.
    pub(super) fn lay(folder: &Path, application: Application, revision: u32) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        for (name, text) in SHARED {
            fs::write(folder.join(name), text)?;
        }
        let source = Self {
            folder: folder.to_owned(),
            application,
            revision,
        };
        source.write()?;
        Ok(source)
    }

    /// Changes one line.
    pub(super) fn change(&mut self) -> io::Result<()> {
        self.revision += 1;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let (name, text) = self.application.unit();
        let lines = text.lines().map(|line| match line.strip_prefix(LINE) {
            Some(_) => format!("{LINE}{}\n", self.revision),
            None => format!("{line}\n"),
        });
        fs::write(self.folder.join(name), lines.collect::<String>())
    }

    /// The program, once it is compiled.
    pub(super) fn program(&self) -> PathBuf {
        self.folder.join(self.application.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_of_one_line() {
        for application in Application::ALL {
            let folder = tempfile::tempdir().unwrap();
            let mut source = Source::lay(folder.path(), application, 7).unwrap();
            let path = folder.path().join(application.unit().0);
            let before = fs::read_to_string(&path).unwrap();
            source.change().unwrap();
            let after = fs::read_to_string(&path).unwrap();
            let changed = before.lines().zip(after.lines()).filter(|(a, b)| a != b);
            let changed: Vec<_> = changed.collect();
            assert_eq!(changed, [("#define REVISION 7", "#define REVISION 8")]);
        }
    }
}
