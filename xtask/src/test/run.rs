//! One program of tests, run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::config::Config;
use super::select::{Selected, with_json};

/// What all programs are run with.
pub(super) struct Surroundings<'a> {
    pub(super) root: &'a Path,
    /// Folder of the static programs.
    pub(super) programs: &'a Path,
    /// The file where tests write what they have not looked at.
    pub(super) unchecked: &'a Path,
    pub(super) config: &'a Config,
}

/// How a test ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) id: String,
    pub(super) seconds: f64,
    /// What it said, where it failed.
    pub(super) failure: Option<String>,
}

/// Time between two looks at the limits.
const LOOK: Duration = Duration::from_millis(500);

/// Longest wait for a line of a program that has ended: what it has left running may hold its output open.
const LAST_LINES: Duration = Duration::from_secs(10);

/// Runs the tests of a program. What is said of each is complete: one that was asked for and of which nothing is said has failed.
pub(super) fn program(one: &Selected, at: &Surroundings<'_>) -> Result<Vec<Outcome>, String> {
    let begin = Instant::now();
    let mut child = start(one, at).map_err(|e| format!("cannot run {}: {e}", one.program.name))?;
    let mut heard = Heard::default();
    if let Some(lines) = lines(&mut child) {
        listen(one, at.config, &lines, &mut child, &mut heard);
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    let outcomes = heard.outcomes(one, &status.to_string());
    let failed = outcomes.iter().filter(|o| o.failure.is_some());
    let (count, seconds) = (failed.clone().count(), begin.elapsed().as_secs_f64());
    let passed = outcomes.len() - count;
    let name = &one.program.name;
    println!("{seconds:7.1} s  {passed:4} passed, {count} failed  {name}");
    for outcome in failed {
        let said = outcome.failure.as_deref().unwrap_or_default();
        println!("---- {}\n{}", outcome.id, said.trim_end());
    }
    Ok(outcomes)
}

fn start(one: &Selected, at: &Surroundings<'_>) -> std::io::Result<Child> {
    let mut command = with_json(&one.program);
    command.args(["--report-time", "--include-ignored"]);
    if one.is_part {
        command
            .arg("--exact")
            .args(one.tests.iter().map(|test| &test.name));
    }
    command
        .env("CARGO_MANIFEST_DIR", &one.program.folder)
        .env("CARGO_PKG_NAME", &one.program.package)
        // Else each program that has snapshots asks Cargo for it.
        .env("INSTA_WORKSPACE_ROOT", at.root)
        .env("STOWPLAN_BUILT_PROGRAMS", at.programs)
        .env("STOWPLAN_SKIPS", at.unchecked)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command.spawn()
}

/// Its standard output, line by line as it comes.
fn lines(child: &mut Child) -> Option<Receiver<String>> {
    let mut output = BufReader::new(child.stdout.take()?);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if sender.send(String::from_utf8_lossy(&line).into()).is_err() {
                return;
            }
            line.clear();
        }
    });
    Some(receiver)
}

/// Hears what the program says until it ends, and kills it when a test exceeds its limit.
fn listen(
    one: &Selected,
    config: &Config,
    lines: &Receiver<String>,
    child: &mut Child,
    heard: &mut Heard,
) {
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => heard.line(&line),
            Err(RecvTimeoutError::Timeout) if matches!(child.try_wait(), Ok(Some(_))) => {
                // On a busy machine its last lines come late.
                while let Ok(line) = lines.recv_timeout(LAST_LINES) {
                    heard.line(&line);
                }
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let late = heard.running.iter().find(|(name, begin)| {
            let id = format!("{}/{name}", one.program.name);
            begin.elapsed() > config.limit(&id)
        });
        if let Some((name, begin)) = late {
            let seconds = begin.elapsed().as_secs();
            let said = format!("killed after {seconds} s: tests/runner.toml gives it less");
            heard
                .ended
                .insert(name.clone(), (seconds as f64, Some(said)));
            // It may have ended meanwhile. What its agents and services are, ends with it.
            let _ = child.kill();
            return;
        }
    }
}

/// What a program has said so far.
#[derive(Default)]
struct Heard {
    running: BTreeMap<String, Instant>,
    /// Seconds, and what was said by those that failed.
    ended: BTreeMap<String, (f64, Option<String>)>,
}

impl Heard {
    fn line(&mut self, line: &str) {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let (Some("test"), Some(name), Some(what)) = (
            event["type"].as_str(),
            event["name"].as_str(),
            event["event"].as_str(),
        ) else {
            if event["type"].is_null() {
                // What programs say that a test has started.
                eprint!("{line}");
            }
            return;
        };
        match what {
            "started" => {
                self.running.insert(name.to_owned(), Instant::now());
            }
            // It only says that it is slow.
            "timeout" => {}
            _ => {
                self.running.remove(name);
                let seconds = event["exec_time"].as_f64().unwrap_or_default();
                let text = |key: &str| event[key].as_str().unwrap_or_default();
                let said = format!("{}{}", text("message"), text("stdout"));
                let failure = (what != "ok").then_some(said);
                self.ended.insert(name.to_owned(), (seconds, failure));
            }
        }
    }

    fn outcomes(mut self, one: &Selected, status: &str) -> Vec<Outcome> {
        let outcome = |test: &super::select::Test| {
            let (seconds, failure) = self.ended.remove(&test.name).unwrap_or_else(|| {
                let said = format!("it has no outcome: its program ended with {status}");
                (0.0, Some(said))
            });
            Outcome {
                id: test.id.clone(),
                seconds,
                failure,
            }
        };
        one.tests.iter().map(outcome).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::programs::Program;
    use super::super::select::Test;
    use super::*;

    fn selected(names: &[&str]) -> Selected {
        let test = |name: &&str| Test {
            name: (*name).to_owned(),
            id: format!("p/{name}"),
            is_ignored: false,
        };
        Selected {
            program: Program {
                package: "p".to_owned(),
                name: "p".to_owned(),
                path: "p".into(),
                folder: ".".into(),
                is_unit: true,
            },
            tests: names.iter().map(test).collect(),
            is_part: false,
        }
    }

    #[test]
    fn a_test_of_which_nothing_is_said_has_failed() {
        let mut heard = Heard::default();
        for line in [
            r#"{"type":"suite","event":"started","test_count":3}"#,
            r#"{"type":"test","event":"started","name":"a"}"#,
            r#"{"type":"test","event":"started","name":"b"}"#,
            r#"{"type":"test","name":"a","event":"ok","exec_time":0.5}"#,
            r#"{"type":"test","event":"timeout","name":"b"}"#,
            r#"{"type":"test","event":"started","name":"c"}"#,
            r#"{"type":"test","name":"c","event":"failed","exec_time":1.5,"stdout":"why\n"}"#,
        ] {
            heard.line(line);
        }
        assert_eq!(heard.running.keys().collect::<Vec<_>>(), ["b"]);
        let outcomes = heard.outcomes(&selected(&["a", "b", "c", "d"]), "signal 9");
        let told: Vec<_> = outcomes
            .iter()
            .map(|o| (&*o.id, o.seconds, o.failure.as_deref()))
            .collect();
        let lost = Some("it has no outcome: its program ended with signal 9");
        assert_eq!(
            told,
            [
                ("p/a", 0.5, None),
                ("p/b", 0.0, lost),
                ("p/c", 1.5, Some("why\n")),
                ("p/d", 0.0, lost)
            ]
        );
    }
}
