//! The calibration of the instrument on this machine: kept from one command to the next, and beside results.

use std::ffi::OsString;
use std::path::PathBuf;

use stowplan_results::{Results, ResultsError, SELFTEST_FILE, Selftest, SelftestKind, date};

use crate::failure::{CommandError, ExitCode, OrExit, in_words};
use crate::output::note;

/// Keeps a selftest as the calibration of this machine, if there is no better one.
pub fn keep(selftest: &Selftest) -> Result<(), CommandError> {
    let path = path();
    match Selftest::load(&path) {
        Ok(Some(kept)) if outweighs(&kept, selftest) => {
            note!(
                "the selftest of {} stays the calibration of this machine: it has more comparisons",
                date(kept.measured_unix_s)
            );
            return Ok(());
        }
        Ok(_) => {}
        // What cannot be read says nothing about the machine, and a selftest of hours does.
        Err(error) => note!("warning: replaced: {}", in_words(&error)),
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("cannot make {}: {error}", folder.display());
            CommandError::new(ExitCode::RunFailed, message)
                .hint("set $STOWPLAN_STATE to a folder of yours")
        })?;
    }
    selftest.save(&path).or_exit(ExitCode::RunFailed)
}

/// Puts the calibration of this machine beside a result that was measured on it, unless it has one: so the views of a
/// result are made from its folder alone, and say the same anywhere.
pub fn beside(results: &Results) {
    if let Err(error) = copy(results) {
        note!("warning: the calibration of the instrument is not kept with the result: {error}");
    }
}

/// Day of the selftest that calibrates this machine, if there is one.
pub fn day(host: &str, cpu_model: &str, cpus: u32) -> Option<String> {
    let kept = Selftest::load(&path()).ok()??;
    let own = &kept.machine;
    let same = (&*own.host, &*own.cpu_model, own.cpus) == (host, cpu_model, cpus);
    same.then(|| date(kept.measured_unix_s))
}

fn copy(results: &Results) -> Result<(), String> {
    let told = |error: ResultsError| in_words(&error);
    let beside = results.dir().join(SELFTEST_FILE);
    if beside.exists() {
        return Ok(());
    }
    match Selftest::load(&path()).map_err(told)? {
        Some(kept) if kept.machine.is_same_as(&results.experiment.machine) => {
            kept.save(&beside).map_err(told)
        }
        _ => Ok(()),
    }
}

/// Whether a kept selftest says more than a new one of the same machine, kernel and program.
fn outweighs(kept: &Selftest, new: &Selftest) -> bool {
    let pairs = |s: &Selftest| s.of_kind(SelftestKind::Equal).map_or(0, |c| c.compared);
    kept.machine.is_same_as(&new.machine)
        && kept.machine.kernel == new.machine.kernel
        && kept.build_id == new.build_id
        && pairs(kept) > pairs(new)
}

fn path() -> PathBuf {
    let root = rustix::process::geteuid().is_root();
    folder(|name| std::env::var_os(name), root).join(SELFTEST_FILE)
}

/// Where it is kept: `$STOWPLAN_STATE`, else a folder that outlives a restart, unlike that of the ledgers: in
/// `/var/lib` for root, in `$XDG_STATE_HOME` or `~/.local/state` for others.
fn folder(variable: impl Fn(&str) -> Option<OsString>, root: bool) -> PathBuf {
    let set = |name| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    if let Some(folder) = set("STOWPLAN_STATE") {
        return folder;
    }
    let state = if root {
        PathBuf::from("/var/lib")
    } else {
        let of_home = || set("HOME").map(|home| home.join(".local/state"));
        set("XDG_STATE_HOME")
            .or_else(of_home)
            .unwrap_or_else(std::env::temp_dir)
    };
    state.join("stowplan")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::selftest_example;

    #[test]
    fn the_folder_follows_the_environment_then_the_user() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                let mut pairs = pairs.iter();
                pairs
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| OsString::from(value))
            }
        };
        let home = &[("HOME", "/home/a")];
        assert_eq!(folder(with(home), true), PathBuf::from("/var/lib/stowplan"));
        assert_eq!(
            folder(with(home), false),
            PathBuf::from("/home/a/.local/state/stowplan")
        );
        let state = &[("HOME", "/home/a"), ("XDG_STATE_HOME", "/s")];
        assert_eq!(folder(with(state), false), PathBuf::from("/s/stowplan"));
        let own = &[("STOWPLAN_STATE", "/own"), ("XDG_STATE_HOME", "")];
        assert_eq!(folder(with(own), true), PathBuf::from("/own"));
    }

    #[test]
    fn a_longer_selftest_is_replaced_where_machine_or_program_are_others() {
        let (long, mut short) = (selftest_example(40, 20), selftest_example(2, 1));
        assert!(outweighs(&long, &short));
        assert!(!outweighs(&short, &long));
        assert!(!outweighs(&long, &long), "the newer one");
        short.machine.kernel = "another".to_owned();
        assert!(!outweighs(&long, &short));
    }
}
