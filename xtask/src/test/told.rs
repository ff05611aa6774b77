//! What tests did not look at, and what is told at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::Config;
use super::run::Outcome;
use super::select::Selected;

/// A test, or a part of it, that was skipped or disturbed; or the time that it waited for others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    /// Its name with that of its program.
    pub(super) test: String,
    pub(super) kind: String,
    pub(super) reason: String,
}

/// Kind of a record of the seconds that a test waited until it might run.
pub(super) const WAITED: &str = "waited";

/// How many of the slowest are told.
const SLOWEST: usize = 10;

/// Makes the file where tests write.
pub(super) fn begin(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join("unchecked.jsonl");
    let made = fs::create_dir_all(folder).and_then(|()| File::create(&path));
    made.map_err(|e| format!("cannot make {}: {e}", path.display()))?;
    Ok(path)
}

/// What the tests have written.
pub(super) fn read(path: &Path, selected: &[Selected]) -> Result<Vec<Record>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.lines().map(|line| record_of(line, selected)).collect()
}

fn record_of(line: &str, selected: &[Selected]) -> Result<Record, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let is_it = |one: &&Selected| one.program.path.file_name() == Some(text("program").as_ref());
    let name = selected.iter().find(is_it);
    let name = name.map_or_else(|| text("program"), |one| &one.program.name);
    Ok(Record {
        test: format!("{name}/{}", text("test")),
        kind: text("kind").to_owned(),
        reason: text("reason").to_owned(),
    })
}

/// Seconds that each test waited.
pub(super) fn waited(records: &[Record]) -> BTreeMap<&str, f64> {
    let mut waited = BTreeMap::new();
    for record in records.iter().filter(|record| record.kind == WAITED) {
        *waited.entry(&*record.test).or_default() += record.reason.parse().unwrap_or(0.0);
    }
    waited
}

/// Prints the slowest, the skipped and the disturbed, the failed, and how many there were. Fails where a test failed, and in CI
/// where one has not looked and nothing allows it.
pub(super) fn tell(
    outcomes: &[Outcome],
    records: &[Record],
    config: &Config,
    in_ci: bool,
) -> Result<(), String> {
    tell_slowest(outcomes, &waited(records));
    let refused = tell_unchecked(records, config);
    let failed: Vec<&Outcome> = outcomes.iter().filter(|o| o.failure.is_some()).collect();
    if !failed.is_empty() {
        println!("\nFailed:");
        failed
            .iter()
            .for_each(|outcome| println!("  {}", outcome.id));
    }
    let unchecked: BTreeSet<&str> = unchecked(records).map(|record| &*record.test).collect();
    let passed = outcomes.iter().filter(|o| o.failure.is_none());
    let (skipped, passed): (Vec<_>, Vec<_>) =
        passed.partition(|outcome| unchecked.contains(&*outcome.id));
    let (passed, failed, skipped) = (passed.len(), failed.len(), skipped.len());
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    match (failed, refused) {
        (0, 1..) if in_ci => Err(format!(
            "tests/runner.toml does not allow {refused} of what was skipped or disturbed"
        )),
        (0, _) => Ok(()),
        (failed, _) => Err(format!("{failed} tests failed")),
    }
}

fn unchecked(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|record| record.kind != WAITED)
}

fn tell_slowest(outcomes: &[Outcome], waited: &BTreeMap<&str, f64>) {
    let own = |outcome: &Outcome| {
        let waited = waited.get(&*outcome.id).copied().unwrap_or(0.0);
        (outcome.seconds - waited).max(0.0)
    };
    let mut slowest: Vec<(f64, &str)> = outcomes.iter().map(|o| (own(o), &*o.id)).collect();
    slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("\nSlowest, without waiting for others:");
    for (seconds, id) in slowest.into_iter().take(SLOWEST) {
        println!("{seconds:7.1} s  {id}");
    }
}

/// Prints them by what allows them, and gives the number of those that nothing allows.
fn tell_unchecked(records: &[Record], config: &Config) -> usize {
    let mut by_why: BTreeMap<Option<&str>, BTreeSet<&Record>> = BTreeMap::new();
    for record in unchecked(records) {
        let why = config.allows(record).map(|allowed| &*allowed.why);
        by_why.entry(why).or_default().insert(record);
    }
    for (why, records) in &by_why {
        let why = why.map_or("which tests/runner.toml does not allow".to_owned(), |why| {
            format!("allowed: {why}")
        });
        println!("\n{} skipped or disturbed, {why}", records.len());
        for record in records {
            println!("  {}  {}: {}", record.kind, record.test, record.reason);
        }
    }
    by_why.get(&None).map_or(0, BTreeSet::len)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::programs::Program;
    use super::*;

    fn record(test: &str, kind: &str, reason: &str) -> Record {
        Record {
            test: test.to_owned(),
            kind: kind.to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn outcome(id: &str, failure: Option<&str>) -> Outcome {
        Outcome {
            id: id.to_owned(),
            seconds: 2.0,
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn what_nothing_allows_fails_in_ci_alone() {
        let text = "limit_s = 1\npure = []\nown = []\nengines = []\neveryday = []\n[limits_s]\n[[allowed]]\ntests = [\"p/it/*\"]\n\
                    kind = \"skip\"\nwhy = \"it is elsewhere\"\n";
        let config: Config = toml::from_str(text).unwrap();
        let passed = [outcome("p/it/a", None), outcome("p/b", None)];
        let allowed = [record("p/it/a", "skip", "no data")];
        let other = [record("p/b", "skip", "no data")];
        let waited = [record("p/b", WAITED, "1.5")];
        for (records, in_ci, ends) in [
            (&allowed, true, true),
            (&waited, true, true),
            (&other, false, true),
            (&other, true, false),
        ] {
            let told = tell(&passed, records, &config, in_ci);
            assert_eq!(told.is_ok(), ends, "{records:?} {in_ci}: {told:?}");
        }
        let failed = [outcome("p/b", Some("why"))];
        assert_eq!(
            tell(&failed, &allowed, &config, false),
            Err("1 tests failed".to_owned())
        );
    }

    #[test]
    fn a_record_is_of_the_test_of_its_program() {
        let selected = Selected {
            program: Program {
                package: "p".to_owned(),
                name: "p/it".to_owned(),
                path: "/target/deps/it-1f".into(),
                folder: Path::new("/p").to_owned(),
                is_unit: false,
            },
            tests: Vec::new(),
            is_part: false,
        };
        let line = r#"{"program":"it-1f","test":"a::b","kind":"waited","reason":"1.500"}"#;
        let read = record_of(line, &[selected]);
        assert_eq!(read, Ok(record("p/it/a::b", "waited", "1.500")));
        let records = [read.unwrap(), record("p/it/a::b", "waited", "0.25")];
        assert_eq!(waited(&records)["p/it/a::b"], 1.75);
        assert!(record_of("half a li", &[]).is_err());
    }
}
