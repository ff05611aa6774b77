//! The OCI runtime that a container was really started with.

use std::path::PathBuf;
use std::time::Duration;

use stowplan_engine_tool::ask;
use stowplan_host::process;

/// Longest time that a runtime takes to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// The program that containerd's shim was told to call for a container, as a path or a name. The working folder of a shim is the
/// bundle of its first container, beside those of all others, and holds the program's name (containerd, `runtime/v2/runc`,
/// `WriteRuntime`). `None` where that cannot be read.
#[must_use]
pub fn program_in_bundle(pid: u32, id: &str) -> Option<String> {
    let shim = process::parent_of(pid)?;
    let bundle = std::fs::read_link(format!("/proc/{shim}/cwd")).ok()?;
    let file: PathBuf = bundle.parent()?.join(id).join("runtime");
    let name = std::fs::read_to_string(file).ok()?;
    // The shim calls runc where it is told nothing.
    Some(match name.trim() {
        "" => "runc".to_owned(),
        name => name.to_owned(),
    })
}

/// The name of a runtime's program.
#[must_use]
pub fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The name of the runtime that was called; of one that could not be seen, what it is `said` to be, with these words.
#[must_use]
pub fn runtime_name(called: Option<&str>, said: &str) -> String {
    called.map_or_else(
        || format!("{said} (not seen in the bundle)"),
        |program| program_name(program).to_owned(),
    )
}

/// What the runtime's program itself says of its version; nothing where it does not answer.
#[must_use]
pub fn runtime_version(called: Option<&str>) -> Option<(String, String)> {
    let said = said_version(called?)?;
    Some(("engine.runtime_version".to_owned(), said.version))
}

/// What a program says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramVersion {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// What the runtime's program says of itself; `None` where it does not answer.
pub(crate) fn said_version(program: &str) -> Option<ProgramVersion> {
    first_line(&ask(program, &["--version"], PATIENCE).ok()?)
}

/// A runtime says `NAME version VERSION` in its first line.
fn first_line(said: &str) -> Option<ProgramVersion> {
    let (name, version) = said.lines().next()?.rsplit_once(' ')?;
    Some(ProgramVersion {
        name: name.trim_end_matches(" version").to_owned(),
        version: version.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_last_word_of_the_first_line() {
        let said = |text: &str| first_line(text).map(|said| (said.name, said.version));
        let of = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
        let text = "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1\nspec: 1.0.2-dev\n";
        assert_eq!(said(text), of("runc", "1.1.5+ds1"));
        assert_eq!(said("crun version 1.8.1"), of("crun", "1.8.1"));
        let wrapper = "NVIDIA Container Runtime version 1.13.5\nrunc version 1.1.7";
        assert_eq!(said(wrapper), of("NVIDIA Container Runtime", "1.13.5"));
        assert_eq!(said(""), None);
    }

    #[test]
    fn what_was_not_seen_is_told_as_said() {
        let told = runtime_name(None, "runc, as the daemon says");
        assert_eq!(told, "runc, as the daemon says (not seen in the bundle)");
        // A program that does not answer has no version, and is the one that was called all the same.
        assert_eq!(runtime_name(Some("/nowhere/crun"), ""), "crun");
        assert_eq!(runtime_version(Some("/nowhere/crun")), None);
        assert_eq!(runtime_version(None), None);
        assert_eq!(program_in_bundle(u32::MAX, "none"), None);
    }
}
