//! The built program in a folder of the test's own: its state, its results, its images.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use stowplan_testkit::skip;

use crate::one_at_a_time::turn_of_command;

/// Root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate is two folders below the root")
}

/// A file beside these tests.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// A folder to work in, with the program set up for it.
pub struct Bench {
    folder: tempfile::TempDir,
    /// Ledgers of what runs here, and of nothing else.
    state: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test can be made");
        let state = tempfile::tempdir_in(stowplan_testkit::private_state());
        let state = state.expect("a state folder for the test can be made");
        Self { folder, state }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the program keeps ledgers and what it knows of the machine.
    pub fn state(&self) -> &Path {
        self.state.path()
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file of the test can be written");
        path
    }

    /// `stowplan` with these arguments, run in this folder. Its ledgers are the test's own, so that nothing
    /// of others' runs is looked at; images are shared between tests.
    pub fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let images = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let mut command = Command::new(env!("CARGO_BIN_EXE_stowplan"));
        command
            .current_dir(self.path())
            .env("STOWPLAN_NODE", stowplan_testkit::node_program())
            .env("STOWPLAN_AGENT", stowplan_testkit::agent_program())
            .env("STOWPLAN_STATE", self.state())
            .env("XDG_CACHE_HOME", images)
            .env("COLUMNS", "100")
            .env_remove("RUST_BACKTRACE")
            .args(arguments);
        command
    }

    /// Runs it to its end, not beside a test that is to run alone.
    pub fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Ended {
        let _turn = turn_of_command();
        let output = self.command(arguments).output();
        Ended::new(output.expect("the program can be started"))
    }
}

/// The command as another program starts it, which these words begin with.
pub fn through(words: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program());
    outer.args(command.get_args());
    let set = command.get_envs();
    outer.envs(set.filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(command.get_current_dir().expect("a folder of its own"));
    outer
}

/// Runs it to its end: how it ended, and the number of its process, which what it leaves is named after.
pub fn to_its_end(command: &mut Command) -> (u32, Ended) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program can be started");
    let pid = child.id();
    let output = child.wait_with_output();
    (pid, Ended::new(output.expect("it can be waited for")))
}

/// How the program ended.
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Fails the test with everything that was said, if the exit code is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\n--- standard output\n{}\n--- standard error\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Standard output as a document that is valid by its committed schema and begins with its name.
    #[track_caller]
    pub fn document(&self, schema: &str) -> Value {
        let document: Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("no JSON: {error}\n{}", self.out));
        let path = match schema {
            "compare" | "selftest" => {
                root().join(format!("crates/stowplan-results/schema/{schema}.json"))
            }
            _ => root().join(format!("schemas/{schema}.json")),
        };
        assert_valid(&path, &document);
        let begins = format!("{{\n  \"schema\": \"stowplan.{schema}/1\"");
        assert!(self.out.starts_with(&begins), "{}", self.out);
        document
    }
}

/// Fails the test if `document` is not what the JSON Schema in `schema` describes.
#[track_caller]
pub fn assert_valid(schema: &Path, document: &Value) {
    let text = std::fs::read_to_string(schema)
        .unwrap_or_else(|error| panic!("{}: {error}", schema.display()));
    let schema = serde_json::from_str(&text).expect("a committed schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a committed schema is a schema");
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}\n{document:#}", errors.join("\n"));
}

/// Whether an engine that a test needs is not there, which is recorded. An engine in `$STOWPLAN_REQUIRE_ENGINES` has to be there.
#[track_caller]
pub fn engines_missing(needed: &[&str]) -> bool {
    static STATUSES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let statuses = STATUSES.get_or_init(|| {
        let doctor = Bench::new().command(["doctor", "--json"]).output();
        let doctor = Ended::new(doctor.expect("the program can be started")).expect(0);
        let document = doctor.document("doctor");
        let engines = document["engines"].as_array().expect("a list").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        engines
            // One with a condition says what to do to meet it, which no test here does.
            .filter(|engine| engine["status"] != "available" || engine["hint"].is_null())
            .map(|engine| (text(&engine["name"]), text(&engine["status"])))
            .collect()
    });
    let required = std::env::var("STOWPLAN_REQUIRE_ENGINES").unwrap_or_default();
    for name in required.split(',').filter(|name| !name.is_empty()) {
        let status = statuses.iter().find(|(engine, _)| engine == name);
        assert!(
            status.is_some_and(|(_, status)| status == "available"),
            "engine '{name}' is required and not available: {status:?}"
        );
    }
    let absent = needed.iter().find(|name| {
        !statuses
            .iter()
            .any(|(engine, status)| engine == *name && status == "available")
    });
    if let Some(name) = absent {
        skip!("engine '{name}' is not available here: `stowplan doctor` says why");
    }
    absent.is_some()
}
