//! The programs that Cargo makes of tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A program with tests.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) package: String,
    /// Begin of its tests' names: the package, and for a program of `tests/` its own name.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Folder of the package, where its tests run.
    pub(super) folder: PathBuf,
    /// Of tests beside the code that they test.
    pub(super) is_unit: bool,
}

/// Cargo, which runs this.
pub(super) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds all of the workspace, or those of its targets that the options choose. The compiler is Clippy's, which lints what it
/// compiles: `cargo clippy` beside a build would compile everything twice.
pub(super) fn build(root: &Path, options: &[&str]) -> Result<Vec<Program>, String> {
    let mut command = cargo();
    let compiler = Path::new(command.get_program()).with_file_name("clippy-driver");
    let made = command
        .current_dir(root)
        // As cargo-clippy does it. Its arguments are separated by this mark.
        .env("RUSTC_WORKSPACE_WRAPPER", compiler)
        .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings")
        .args(["test", "--workspace", "--no-run"])
        .args(options)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !made.status.success() {
        return Err(format!("building the tests failed: {}", made.status));
    }
    let text = String::from_utf8_lossy(&made.stdout);
    let mut programs: Vec<Program> = text.lines().filter_map(program).collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// The program of a message of Cargo's, if it has one of tests.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let path = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    // Folder name = crate name.
    let package = folder.file_name()?.to_str()?;
    let is_unit = message["target"]["kind"][0] != "test";
    let name = match message["target"]["name"].as_str()? {
        _ if is_unit => package.to_owned(),
        own => format!("{package}/{own}"),
    };
    Some(Program {
        package: package.to_owned(),
        name,
        path: path.into(),
        folder: folder.to_owned(),
        is_unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_its_package_and_itself() {
        let line = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/p/Cargo.toml","executable":"/t/it-1f",
                "target":{{"kind":["{kind}"],"name":"it"}},"profile":{{"test":{test}}}}}"#
            )
            .replace('\n', "")
        };
        let it = program(&line("test", true)).unwrap();
        assert_eq!((&*it.name, &*it.package, it.is_unit), ("p/it", "p", false));
        assert_eq!(it.folder, Path::new("/r/crates/p"));
        assert_eq!(program(&line("lib", true)).unwrap().name, "p");
        assert!(program(&line("bin", false)).is_none());
        assert!(program("warning: something").is_none());
    }
}
