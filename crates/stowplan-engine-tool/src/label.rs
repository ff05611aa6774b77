//! What containers that tools hold really are: read back from the kernel about every one of them, so that no result carries a
//! label that was only believed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use stowplan_engine::{EngineError, Facts, ObservedContainer, agreed, contradiction, group_of};

use crate::ask;

const PROGRAM: &str = "engine.program";

/// A container: who holds it, its first process, and its service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Container<'a> {
    pub(crate) holder: u32,
    pub(crate) first: u32,
    pub(crate) service: &'a str,
}

/// The label of containers of `program` in a run.
///
/// # Errors
/// When something else than `program` holds one, or two files of that name do.
pub(crate) fn read(
    program: &str,
    run: &str,
    containers: &[Container<'_>],
) -> Result<Facts, EngineError> {
    let held = containers.iter().map(|container| {
        let mut facts = held_by(program, container.holder)?;
        let group = group_of(container.first, run, container.service);
        facts.insert("engine.cgroup".to_owned(), group);
        Ok(facts)
    });
    let mut facts = agreed(held.collect::<Result<Vec<_>, EngineError>>()?)?;
    let Some(path) = facts.get(PROGRAM) else {
        return Ok(facts);
    };
    // Asked of the file that really holds them, whatever is first in PATH.
    let version = ask(path, &["--version"], Duration::from_secs(10))?;
    let version = version.lines().next().unwrap_or_default().to_owned();
    facts.insert("engine.version".to_owned(), version);
    // A real program may have another root than node programs have.
    let roots = containers
        .iter()
        .map(|container| ObservedContainer::of(container.first, program).root);
    let distinct: BTreeSet<String> = roots.collect();
    let roots: Vec<String> = distinct.into_iter().collect();
    facts.insert("engine.root".to_owned(), roots.join(" | "));
    Ok(facts)
}

fn held_by(program: &str, holder: u32) -> Result<Facts, EngineError> {
    let unseen = || {
        EngineError::new(format!(
            "cannot see what {program} with pid {holder} executes"
        ))
    };
    let path = fs::read_link(format!("/proc/{holder}/exe")).map_err(|e| unseen().because(e))?;
    let shown = path.display().to_string();
    if path.file_name() == Path::new(program).file_name() {
        Ok(Facts::from([(PROGRAM.to_owned(), shown)]))
    } else {
        let what = "program that holds a container";
        Err(contradiction(what, program, &shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_container_is_seen_and_not_believed() {
        let own = std::process::id();
        let error = held_by("systemd-nspawn", own).unwrap_err();
        assert!(error.to_string().contains("the kernel shows"), "{error}");
        let path = std::env::current_exe().unwrap().display().to_string();
        assert_eq!(held_by(&path, own).unwrap()[PROGRAM], path);
        assert_eq!(read("systemd-nspawn", "7-1", &[]).unwrap(), Facts::new());
    }
}
