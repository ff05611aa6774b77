//! Runs the tests: those of a set, with time limits, and tells what they did not look at.
//!
//! One process per test program, as `cargo test` does it: tests share what is dear (built programs, one measured experiment).
//! Times and outcomes of single tests come from libtest's JSON, which has no stable form: rust-toolchain.toml fixes the compiler,
//! and a test without an outcome has failed.

mod config;
mod junit;
mod programs;
mod run;
mod select;
mod told;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use clap::Args;

use config::{Company, Config};
use run::Outcome;
use select::Selected;

/// Options of `test`.
#[derive(Args)]
pub(crate) struct TestArgs {
    /// Every engine and all end-to-end tests; without it the everyday set of tests/runner.toml
    #[arg(long, conflicts_with_all = ["full", "ignored"])]
    engines: bool,
    /// Also the tests that are ignored because they are long
    #[arg(long, conflicts_with = "ignored")]
    full: bool,
    /// Only those that are ignored because they are long
    #[arg(long, requires = "parts")]
    ignored: bool,
    /// Parts of names, PACKAGE/TEST or PACKAGE/PROGRAM/TEST: only tests that have one of them
    parts: Vec<String>,
}

/// Which tests are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Everyday,
    Engines,
    Full,
    Ignored,
}

/// Builds and lints all targets.
pub(crate) fn lint(with_peers: bool) -> Result<(), String> {
    let root = crate::root()?;
    programs::build(root)?;
    programs::compile(root, &["test", "--no-run", "--benches"])?;
    if with_peers {
        let peers = ["--bin", "xtask", "--features", "xtask/peers"];
        programs::compile(root, &[&["test", "--no-run"], &peers[..]].concat())?;
    }
    Ok(())
}

/// Builds the tests, runs those that were asked for and fails when one of them did, or when one was skipped or disturbed in CI
/// and tests/runner.toml does not allow it.
pub(crate) fn run(args: &TestArgs) -> Result<(), String> {
    let root = crate::root()?;
    let set = match (args.engines, args.full, args.ignored) {
        (true, ..) => Set::Engines,
        (_, true, _) => Set::Full,
        (_, _, true) => Set::Ignored,
        // Who names tests wants them.
        _ if args.parts.is_empty() => Set::Everyday,
        _ => Set::Engines,
    };
    let config = Config::read(&root.join("tests/runner.toml"))?;
    let built = programs::build(root)?;
    // The everyday set, and tests that were named, do not wait for an optimised build.
    let programs = if args.engines || args.full || args.ignored {
        crate::node::build_static(root)?
    } else {
        built.programs
    };
    let all = select::listed(built.tests)?;
    config.names_exist(&all)?;
    let selected = select::selected(all, set, &args.parts, &config);
    let count: usize = selected.iter().map(|one| one.tests.len()).sum();
    if count == 0 {
        return Err(format!("no test has {:?} in its name", args.parts));
    }
    let folder = root.join("target/tests");
    let unchecked = told::begin(&folder)?;
    let surroundings = run::Surroundings {
        root,
        programs: &programs,
        unchecked: &unchecked,
        config: &config,
    };
    let outcomes = outcomes(&selected, &surroundings)?;
    let records = told::read(&unchecked, &selected)?;
    junit::write(&folder.join("junit.xml"), &outcomes, &records)?;
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    told::tell(&outcomes, &records, &config, in_ci)
}

/// Runs programs of pure crates beside each other, then those that use the machine beside those of other packages, and at last, one
/// at a time, those that want it for themselves.
fn outcomes(selected: &[Selected], at: &run::Surroundings<'_>) -> Result<Vec<Outcome>, String> {
    let cores = available_parallelism().map_or(1, usize::from);
    let mut outcomes = Vec::new();
    for company in [Company::All, Company::OtherPackages, Company::Nobody] {
        let of = |one: &&Selected| at.config.company(&one.program) == company;
        let programs: Vec<&Selected> = selected.iter().filter(of).collect();
        let (groups, workers) = match company {
            Company::All => (programs.chunks(1).collect(), cores),
            // They wait for daemons most of the time.
            Company::OtherPackages => (at.config.longest_first(by_package(&programs)), cores + 1),
            Company::Nobody => (vec![&*programs], 1),
        };
        outcomes.extend(in_workers(groups, workers, at)?);
    }
    Ok(outcomes)
}

/// Programs in groups of a package, of which they come in order.
fn by_package<'a, 'b>(programs: &'a [&'b Selected]) -> Vec<&'a [&'b Selected]> {
    let same = |a: &&Selected, b: &&Selected| a.program.package == b.program.package;
    programs.chunk_by(same).collect()
}

/// Runs the programs of a group one after the other, and as many groups at once as there are workers.
fn in_workers(
    groups: Vec<&[&Selected]>,
    workers: usize,
    at: &run::Surroundings<'_>,
) -> Result<Vec<Outcome>, String> {
    let queue = Mutex::new(VecDeque::from(groups));
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    };
    let work = || {
        let mut outcomes = Vec::new();
        while let Some(group) = next() {
            for program in group {
                outcomes.extend(run::program(program, at)?);
            }
        }
        Ok::<_, String>(outcomes)
    };
    let done: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(|worker| worker.join());
        ended.collect()
    });
    let mut all = Vec::new();
    for outcomes in done {
        all.extend(outcomes.map_err(|_| "a worker panicked".to_owned())??);
    }
    Ok(all)
}
