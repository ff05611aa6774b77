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

/// What a build made.
pub(super) struct Built {
    pub(super) tests: Vec<Program>,
    /// Folder of the programs that are no tests. `stowplan-node` and `stowplan-agent` are static.
    pub(super) programs: PathBuf,
}

/// Builds and lints the tests of the workspace, its programs and its examples.
pub(super) fn build(root: &Path) -> Result<Built, String> {
    let targets = ["build", "--lib", "--bins", "--tests", "--examples"];
    let artifacts = compile(root, &targets)?;
    let mut tests: Vec<Program> = artifacts.iter().filter_map(program).collect();
    tests.sort_by(|a, b| a.name.cmp(&b.name));
    let node = artifacts.iter().find_map(|one| {
        let is_test = one["profile"]["test"] == true;
        let executable = Path::new(one["executable"].as_str()?);
        let is_node = executable.file_name()? == crate::node::PROGRAMS[0];
        (is_node && !is_test).then(|| executable.parent())?
    });
    let programs = node.ok_or("Cargo tells no path of stowplan-node")?;
    Ok(Built {
        tests,
        programs: programs.to_owned(),
    })
}

/// Runs this command of Cargo's for the workspace and gives its messages. `script/compiler` lints what it compiles.
pub(super) fn compile(root: &Path, command: &[&str]) -> Result<Vec<Value>, String> {
    let made = cargo()
        .current_dir(root)
        .env("RUSTC_WORKSPACE_WRAPPER", root.join("script/compiler"))
        // As cargo-clippy does it. Its arguments are separated by this mark.
        .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings")
        .args(command)
        .args(["--workspace", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !made.status.success() {
        return Err(format!("building the tests failed: {}", made.status));
    }
    let text = String::from_utf8_lossy(&made.stdout);
    let message = |line: &str| serde_json::from_str(line).ok();
    Ok(text.lines().filter_map(message).collect())
}

/// The program of a message of Cargo's, if it has one of tests.
fn program(message: &Value) -> Option<Program> {
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
        let message = |kind: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": "/r/crates/p/Cargo.toml",
                "executable": "/t/it-1f",
                "target": {"kind": [kind], "name": "it"},
                "profile": {"test": test}
            })
        };
        let it = program(&message("test", true)).unwrap();
        assert_eq!((&*it.name, &*it.package, it.is_unit), ("p/it", "p", false));
        assert_eq!(it.folder, Path::new("/r/crates/p"));
        assert_eq!(program(&message("lib", true)).unwrap().name, "p");
        assert!(program(&message("bin", false)).is_none());
        assert!(program(&Value::Null).is_none());
    }
}
