//! Which tests are run.

use std::process::Command;

use serde_json::Value;

use super::Set;
use super::config::Config;
use super::programs::Program;

/// A program with those of its tests that are to be run.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) program: Program,
    pub(super) tests: Vec<Test>,
    /// Whether it has tests that are not to be run.
    pub(super) is_part: bool,
}

/// A test of a program.
#[derive(Debug, Clone)]
pub(super) struct Test {
    /// Its name in its program.
    pub(super) name: String,
    /// The same after the name of the program.
    pub(super) id: String,
    pub(super) is_ignored: bool,
}

/// A program of libtest that may be asked for JSON.
pub(super) fn with_json(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command
        .args(["-Z", "unstable-options", "--format", "json"])
        // By this, the harness of a stable compiler takes the line above.
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(&program.folder);
    command
}

/// All programs with all of their tests.
pub(super) fn listed(programs: Vec<Program>) -> Result<Vec<Selected>, String> {
    programs.into_iter().map(list).collect()
}

fn list(program: Program) -> Result<Selected, String> {
    let cannot = |why: String| format!("cannot list the tests of {}: {why}", program.name);
    let said = with_json(&program).arg("--list").output();
    let said = said.map_err(|e| cannot(e.to_string()))?;
    if !said.status.success() {
        return Err(cannot(String::from_utf8_lossy(&said.stderr).into_owned()));
    }
    let text = String::from_utf8_lossy(&said.stdout);
    let mut tests = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_str(line).map_err(|e| cannot(e.to_string()))?;
        if event["type"] == "test"
            && let Some(name) = event["name"].as_str()
        {
            tests.push(Test {
                name: name.to_owned(),
                id: format!("{}/{name}", program.name),
                is_ignored: event["ignore"] == true,
            });
        }
    }
    Ok(Selected {
        program,
        tests,
        is_part: false,
    })
}

/// Those of a set that have one of these parts in their names, all where there are none. Programs without any are left out.
pub(super) fn selected(
    all: Vec<Selected>,
    set: Set,
    parts: &[String],
    config: &Config,
) -> Vec<Selected> {
    let is_wanted = |test: &Test| {
        let of_set = match set {
            Set::Everyday => !test.is_ignored && config.is_everyday(&test.id),
            Set::Engines => !test.is_ignored,
            Set::Full => true,
            Set::Ignored => test.is_ignored,
        };
        of_set && (parts.is_empty() || parts.iter().any(|part| test.id.contains(&**part)))
    };
    let chosen = all.into_iter().map(|mut one| {
        let before = one.tests.len();
        one.tests.retain(is_wanted);
        one.is_part = one.tests.len() < before;
        one
    });
    chosen.filter(|one| !one.tests.is_empty()).collect()
}
