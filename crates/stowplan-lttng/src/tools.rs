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

    /// What `lttng create` has to be told to write CTF 1.8: from 2.15 on it writes CTF 2, which few tools of ROS 2 read.
    pub(crate) fn format_option(&self) -> &'static [&'static str] {
        if self.is_at_least(2, 15) {
            &["--trace-format=ctf-1.8"]
        } else {
            &[]
        }
    }

    /// Name of the socket at which traced programs find the session daemon.
    pub(crate) fn apps_socket(&self) -> String {
        format!("lttng-ust-sock-{}", self.protocol())
    }

    /// Name of the file in /dev/shm on which programs wait for the daemon of root.
    pub(crate) fn wait_file(&self) -> String {
        format!("lttng-ust-wait-{}", self.protocol())
    }

    /// Version of the protocol between programs and daemon: `LTTNG_UST_ABI_MAJOR_VERSION_OLDEST_COMPATIBLE` of lttng/ust-abi.h.
    fn protocol(&self) -> u32 {
        if self.is_at_least(2, 15) { 11 } else { 8 }
    }

    fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let mut numbers = self.version.split('.').map_while(|part| part.parse().ok());
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_format_and_protocol() {
        let of = |version: &str| Tools {
            lttng: PathBuf::new(),
            sessiond: PathBuf::new(),
            version: version.to_owned(),
        };
        for version in ["2.9.0", "2.13.9", "2.14.0"] {
            assert!(of(version).format_option().is_empty());
            assert_eq!(of(version).apps_socket(), "lttng-ust-sock-8");
        }
        for version in ["2.15.0", "3.0.0-pre"] {
            assert_eq!(of(version).format_option(), ["--trace-format=ctf-1.8"]);
            assert_eq!(of(version).wait_file(), "lttng-ust-wait-11");
        }
    }
}
