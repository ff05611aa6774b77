//! What a test did not look at: such a test passes for its harness, so it says so where the runner of the tests hears it.

use std::fmt::Arguments;
use std::fs::File;
use std::io::Write as _;

/// Names the file to which a line of JSON is added for each test that did not look; `cargo xtask test` sets it.
pub const VARIABLE: &str = "STOWPLAN_SKIPS";

/// Says that this test, or a part of it, has not looked at what it is there for, because something that it needs is not here:
/// takes what `format!` takes.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)*) => { $crate::unchecked("skip", format_args!($($reason)*)) };
}

/// Says that what this test judges could not be measured, because others used the machine: takes what `format!` takes.
#[macro_export]
macro_rules! disturbed {
    ($($reason:tt)*) => { $crate::unchecked("disturbed", format_args!($($reason)*)) };
}

/// Records that this test waited so long until it might run.
///
/// # Panics
/// As [`unchecked`].
pub fn waited(time: std::time::Duration) {
    let seconds = format!("{:.3}", time.as_secs_f64());
    record("waited", &seconds);
}

/// Prints and records the reason; [`skip!`](crate::skip) and [`disturbed!`](crate::disturbed) call it.
///
/// # Panics
/// When the file that `$STOWPLAN_SKIPS` names cannot be written: nobody would hear of it.
pub fn unchecked(kind: &str, reason: Arguments<'_>) {
    println!("{kind}: {reason}");
    record(kind, &reason.to_string());
}

fn record(kind: &str, reason: &str) {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return;
    };
    // The harness names the thread of a test after it.
    let thread = std::thread::current();
    let line = serde_json::json!({
        "program": program(),
        "test": thread.name().unwrap_or_default(),
        "kind": kind,
        "reason": reason,
    });
    let file = File::options().create(true).append(true).open(path);
    // One write, so that lines of several tests do not mix.
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.expect("the file that STOWPLAN_SKIPS names can be written");
}

/// File name of this program, by which the runner knows whose tests these are.
fn program() -> String {
    let path = std::env::current_exe().expect("this program has a path");
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    /// Set where `nobody_looks` is run by the test of it.
    const INSIDE: &str = "STOWPLAN_TEST_UNCHECKED";

    #[test]
    fn who_did_not_look_is_written_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("skips");
        let own = std::env::current_exe().unwrap();
        let done = std::process::Command::new(&own)
            .args(["--exact", "unchecked::tests::nobody_looks", "--ignored"])
            .env(super::VARIABLE, &path)
            .env(INSIDE, "")
            .output();
        assert!(done.unwrap().status.success());
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of = |kind, reason: &str| {
            serde_json::json!({
                "program": own.file_name().unwrap().to_str(),
                "test": "unchecked::tests::nobody_looks",
                "kind": kind,
                "reason": reason,
            })
        };
        assert_eq!(
            lines,
            [
                of("skip", "no \"engine\" here"),
                of("disturbed", "others took 30 %")
            ]
        );
    }

    /// What the test above runs.
    #[test]
    #[ignore = "not a test by itself"]
    fn nobody_looks() {
        if std::env::var_os(INSIDE).is_some() {
            crate::skip!("no {:?} here", "engine");
            crate::disturbed!("others took {} %", 30);
        }
    }
}
