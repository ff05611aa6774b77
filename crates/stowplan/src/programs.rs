//! Where the two static programs are.

use std::env;
use std::path::PathBuf;

use crate::failure::{CommandError, ExitCode, OrExit};

/// `stowplan-node` on this machine.
pub fn node() -> Result<PathBuf, CommandError> {
    find("stowplan-node", "STOWPLAN_NODE")
}

/// `stowplan-agent` on this machine; unit tests are in no place that has it beside it.
#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "it fails elsewhere")]
pub fn agent() -> Result<PathBuf, CommandError> {
    Ok(stowplan_testkit::agent_program().to_owned())
}

/// `stowplan-agent` on this machine.
#[cfg(not(test))]
pub fn agent() -> Result<PathBuf, CommandError> {
    find("stowplan-agent", "STOWPLAN_AGENT")
}

/// The program named by `variable`, else in `../libexec/stowplan/` of this program, else beside it.
/// A program with a dynamic loader would not be the same in every deployment and is refused.
fn find(name: &str, variable: &str) -> Result<PathBuf, CommandError> {
    let build = "keep bin/ and libexec/ of an installation beside each other; in the source, run `cargo xtask node`";
    if let Some(path) = env::var_os(variable) {
        let path = PathBuf::from(path);
        return stowplan_image::require_static(&path)
            .map(|()| path)
            .map_err(|error| {
                CommandError::from_error(ExitCode::BadInput, &error)
                    .hint(format!("${variable} names it; {build}"))
            });
    }
    let own = env::current_exe().or_exit(ExitCode::RunFailed)?;
    let folder = own.parent().map(PathBuf::from).unwrap_or_default();
    let places = [
        folder.join("../libexec/stowplan").join(name),
        folder.join(name),
    ];
    let found = places
        .iter()
        .find(|path| path.is_file() && stowplan_image::require_static(path).is_ok());
    match found {
        Some(path) => path.canonicalize().or_exit(ExitCode::RunFailed),
        None => Err(CommandError::new(
            ExitCode::EngineUnavailable,
            format!(
                "no static {name} in {} or {}",
                places[0].display(),
                places[1].display()
            ),
        )
        .hint(build)),
    }
}
