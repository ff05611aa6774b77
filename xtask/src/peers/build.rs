//! Builds the peers and our own programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::error::PeersError;
use super::process::run;

/// Longest time for a build on a slow machine that does other work.
const BUILD: Duration = Duration::from_secs(3600);

/// Folders and programs of the workspace.
pub struct Workspace {
    /// Root of the repository.
    pub root: PathBuf,
    /// Folder of build results.
    pub target: PathBuf,
    /// Source of the CycloneDDS that our programs contain.
    cyclonedds: PathBuf,
}

impl Workspace {
    /// Asks cargo where things are.
    pub fn find() -> Result<Self, PeersError> {
        let printed = run(
            Command::new(cargo()).args(["metadata", "--format-version", "1"]),
            Duration::from_secs(120),
        )?;
        let bad = |what: &str| PeersError::output(what, "");
        let metadata: Value = serde_json::from_str(&printed.output)
            .map_err(|error| bad(&format!("`cargo metadata` did not print JSON: {error}")))?;
        let folder = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .ok_or_else(|| bad(&format!("`cargo metadata` printed no {key}")))
        };
        Ok(Self {
            root: folder("workspace_root")?,
            target: folder("target_directory")?,
            cyclonedds: cyclonedds_source(&metadata)
                .ok_or_else(|| bad("`cargo metadata` knows no package cyclors"))?,
        })
    }

    /// Folder for what the peers need.
    pub fn peers(&self) -> PathBuf {
        self.target.join("peers")
    }

    /// Builds `ddsperf` from the CycloneDDS source that our own programs are built from, and in the same way
    /// (the options of the cyclors crate's build script): static, without security, shared memory and
    /// link-time optimisation.
    pub fn ddsperf(&self) -> Result<PathBuf, PeersError> {
        let build = self.peers().join("ddsperf").join(self.cyclonedds_version());
        let program = build.join("bin/ddsperf");
        if program.exists() {
            return Ok(program);
        }
        println!("building ddsperf from {}", self.cyclonedds.display());
        let mut configure = Command::new("cmake");
        configure
            .arg("-S")
            .arg(&self.cyclonedds)
            .arg("-B")
            .arg(&build);
        for option in [
            "CMAKE_BUILD_TYPE=Release",
            "CMAKE_POSITION_INDEPENDENT_CODE=ON",
            "BUILD_SHARED_LIBS=OFF",
            "BUILD_IDLC=ON",
            "BUILD_DDSPERF=ON",
            "BUILD_TESTING=OFF",
            "BUILD_EXAMPLES=OFF",
            "ENABLE_SSL=NO",
            "ENABLE_SECURITY=NO",
            "ENABLE_ICEORYX=NO",
            "ENABLE_ICEORYX2=NO",
            "ENABLE_LTO=NO",
        ] {
            configure.arg(format!("-D{option}"));
        }
        run(&mut configure, BUILD)?;
        run(
            Command::new("cmake").arg("--build").arg(&build).args([
                "--target",
                "ddsperf",
                "--parallel",
                "2",
            ]),
            BUILD,
        )?;
        Ok(program)
    }

    /// Name and version of the crate that the source came with.
    fn cyclonedds_version(&self) -> String {
        let folder = self.cyclonedds.parent().and_then(Path::file_name);
        folder.map_or_else(
            || "unknown".into(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Builds the static programs and gives the folder that they are in.
    pub fn static_programs(&self) -> Result<PathBuf, PeersError> {
        crate::node::build().map_err(|error| PeersError::output(error, ""))?;
        Ok(self.root.join("target/libexec/stowplan"))
    }
}

/// Builds the command line as it is released, and gives its path.
pub fn build_command_line(workspace: &Workspace) -> Result<PathBuf, PeersError> {
    println!("building the command line (`cargo build --release --package stowplan`)");
    run(
        Command::new(cargo())
            .args(["build", "--release", "--package", "stowplan"])
            .current_dir(&workspace.root),
        BUILD,
    )?;
    Ok(workspace.target.join("release/stowplan"))
}

/// Builds the program that reads every field of a trace and makes nothing of it.
pub fn build_bare_reader(workspace: &Workspace) -> Result<PathBuf, PeersError> {
    let example = ["--package", "stowplan-ctf", "--example", "read_speed"];
    run(
        Command::new(cargo())
            .args(["build", "--release"])
            .args(example)
            .current_dir(&workspace.root),
        BUILD,
    )?;
    Ok(workspace.target.join("release/examples/read_speed"))
}

/// The cargo that runs this task.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// A program of the machine, looked for in `PATH`.
pub fn installed(program: &str, package: &str) -> Result<PathBuf, PeersError> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            PeersError::missing(
                format!("the program {program}"),
                format!("install the Debian package {package}"),
            )
        })
}

fn cyclonedds_source(metadata: &Value) -> Option<PathBuf> {
    let package = metadata["packages"]
        .as_array()?
        .iter()
        .find(|package| package["name"] == "cyclors")?;
    let manifest = Path::new(package["manifest_path"].as_str()?);
    Some(manifest.parent()?.join("cyclonedds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_lies_in_the_crate_folder() {
        let metadata = serde_json::json!({"packages": [
            {"name": "libc", "manifest_path": "/r/libc-0.2/Cargo.toml"},
            {"name": "cyclors", "manifest_path": "/r/cyclors-0.4.0/Cargo.toml"},
        ]});
        assert_eq!(
            cyclonedds_source(&metadata),
            Some(PathBuf::from("/r/cyclors-0.4.0/cyclonedds"))
        );
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let error = installed("no-such-program", "some-package").unwrap_err();
        assert!(error.to_string().contains("some-package"));
    }
}
