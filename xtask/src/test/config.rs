//! tests/runner.toml: what is to be known of tests beside themselves.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::programs::Program;
use super::select::Selected;
use super::told::Record;

/// The whole file. Names are patterns of [`matches`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// Seconds that a test may take.
    limit_s: u64,
    /// The same of tests with these names.
    limits_s: BTreeMap<String, u64>,
    /// Packages whose test programs share nothing of the machine; unit tests never do.
    pure: Vec<String>,
    /// Packages whose test programs use the machine and look at what is their own alone, the longest first.
    own: Vec<String>,
    /// Tests that only `--engines` runs.
    engines: Vec<String>,
    /// Of those, tests of the everyday set.
    everyday: Vec<String>,
    allowed: Vec<Allowed>,
}

/// Beside what a test program may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// It shares nothing of the machine.
    All,
    /// It shares objects with programs of its package alone.
    OtherPackages,
    /// It measures, or looks at all of the machine.
    Nobody,
}

/// What may be skipped or disturbed in CI.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Allowed {
    tests: Vec<String>,
    kind: String,
    /// Pattern of the reason that the test gives; any where left out.
    reason: Option<String>,
    /// Why this is no fault.
    pub(super) why: String,
}

impl Config {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Fails where the file names tests that are not there.
    pub(super) fn names_exist(&self, all: &[Selected]) -> Result<(), String> {
        let tests = || all.iter().flat_map(|one| &one.tests);
        let lists = self.engines.iter().chain(&self.everyday);
        let allowed = self.allowed.iter().flat_map(|allowed| &allowed.tests);
        let mut patterns = lists.chain(self.limits_s.keys()).chain(allowed);
        match patterns.find(|pattern| !tests().any(|test| matches(pattern, &test.id))) {
            Some(pattern) => Err(format!("tests/runner.toml: no test is named '{pattern}'")),
            None => Ok(()),
        }
    }

    /// Beside what a program may run.
    pub(super) fn company(&self, program: &Program) -> Company {
        if program.is_unit || self.pure.contains(&program.package) {
            Company::All
        } else if self.own.contains(&program.package) {
            Company::OtherPackages
        } else {
            Company::Nobody
        }
    }

    /// Programs in groups of a package, in the order of the list.
    pub(super) fn longest_first<'a, 'b>(
        &self,
        mut groups: Vec<&'a [&'b Selected]>,
    ) -> Vec<&'a [&'b Selected]> {
        groups.sort_by_key(|group| {
            let package = &group[0].program.package;
            self.own.iter().position(|own| own == package)
        });
        groups
    }

    /// Whether a test is of the everyday set.
    pub(super) fn is_everyday(&self, test: &str) -> bool {
        let among = |list: &[String]| list.iter().any(|pattern| matches(pattern, test));
        !among(&self.engines) || among(&self.everyday)
    }

    /// How long a test may take.
    pub(super) fn limit(&self, test: &str) -> Duration {
        let mut own = self.limits_s.iter();
        let own = own.find(|(pattern, _)| matches(pattern, test));
        Duration::from_secs(own.map_or(self.limit_s, |(_, seconds)| *seconds))
    }

    /// What allows a record, if something does.
    pub(super) fn allows(&self, record: &Record) -> Option<&Allowed> {
        let by = |one: &&Allowed| {
            let reason = one.reason.as_deref().unwrap_or("*");
            one.kind == record.kind
                && one.tests.iter().any(|test| matches(test, &record.test))
                && matches(reason, &record.reason)
        };
        self.allowed.iter().find(by)
    }
}

/// Whether a text is what the pattern says, in which `*` is anything.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        for (pattern, text) in [
            ("a", "a"),
            ("*", ""),
            ("a*", "abc"),
            ("*c", "abc"),
            ("a*c", "abc"),
            ("a*b*d", "abcd"),
            ("no data: *", "no data: x"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("a", "ab"),
            ("a*c", "abcd"),
            ("ab*b", "ab"),
            ("*b*c", "acb"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    fn record(test: &str, kind: &str, reason: &str) -> Record {
        Record {
            test: test.to_owned(),
            kind: kind.to_owned(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn what_is_allowed_is_so_by_name_kind_and_reason() {
        let text = r#"
limit_s = 60
pure = []
own = []
engines = ["p/*"]
everyday = ["p/it/one::*"]
[limits_s]
"p/it/two::*" = 300
[[allowed]]
tests = ["p/it/*"]
kind = "skip"
reason = "no data*"
why = "it is kept elsewhere"
"#;
        let config: Config = toml::from_str(text).unwrap();
        assert!(config.is_everyday("q/x") && config.is_everyday("p/it/one::a"));
        assert!(!config.is_everyday("p/it/two::a"));
        assert_eq!(config.limit("p/it/two::a"), Duration::from_secs(300));
        assert_eq!(config.limit("p/it/one::a"), Duration::from_secs(60));
        let allowed = |test, kind, reason| config.allows(&record(test, kind, reason)).is_some();
        assert!(allowed("p/it/a", "skip", "no data: x"));
        assert!(!allowed("p/a", "skip", "no data: x"));
        assert!(!allowed("p/it/a", "disturbed", "no data: x"));
        assert!(!allowed("p/it/a", "skip", "no root"));
    }

    #[test]
    fn the_file_of_this_repository_is_understood() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/runner.toml");
        Config::read(&path).unwrap();
    }
}
