//! The programs of LTTng.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stowplan_host::HostError;

use crate::tool;

/// `lttng` and its session daemon.
///
/// They are driven through their command lines: there is no maintained crate for liblttng-ctl, and a library would
/// tie this program to one of its versions.
#[derive(Debug, Clone)]
pub struct Tools {
    /// `lttng`.
    pub lttng: PathBuf,
    /// `lttng-sessiond`.
    pub sessiond: PathBuf,
    /// Version of `lttng`, as 2.13.9.
    pub version: String,
}

/// Longest wait for a program that only says its version.
const SHORT: Duration = Duration::from_secs(10);

impl Tools {
    /// Those in PATH.
    ///
    /// # Errors
    /// When one is not there or does not run; the hint names the package.
    pub fn find() -> Result<Self, HostError> {
        let lttng = in_path("lttng")?;
        let sessiond = in_path("lttng-sessiond")?;
        let mut command = Command::new(&lttng);
        command.arg("--version");
        let said = tool::run(command, SHORT)?;
        let version = said
            .split_whitespace()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .ok_or_else(|| {
                HostError::new(format!(
                    "{} --version says no version: {said}",
                    lttng.display()
                ))
            })?
            .to_owned();
        Ok(Self {
            lttng,
            sessiond,
            version,
        })
    }
}

fn in_path(name: &str) -> Result<PathBuf, HostError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
        .ok_or_else(|| {
            HostError::new(format!("there is no program '{name}' in PATH"))
                .hint("install LTTng: apt install lttng-tools (Debian, Ubuntu)")
        })
}

fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}
