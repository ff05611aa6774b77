//! What the integration tests share.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use stowplan_ctf::writer::TraceInfo;

/// Words after which a test that lacks something it needs passes, printing why;
/// in CI it fails instead, because there everything is installed.
pub fn skip(reason: &str) {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "needed in CI: {reason}"
    );
    println!("skipped: {reason}");
}

/// Events per name as babeltrace2 counts them; `None` if it is not installed.
/// Anything that it says on stderr fails the test.
pub fn babeltrace_counts(trace: &Path) -> Option<BTreeMap<String, u64>> {
    let output = match Command::new("babeltrace2")
        .args(["--no-delta", "--clock-cycles"])
        .arg(trace)
        .output()
    {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip("babeltrace2 is not installed");
            return None;
        }
        other => other.expect("babeltrace2 runs"),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "babeltrace2: {}: {stderr}",
        output.status
    );
    assert_eq!(stderr, "", "babeltrace2 on {}", trace.display());
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let name = line
            .split_whitespace()
            .find(|word| {
                word.ends_with(':') && word.len() > 1 && word[..word.len() - 1].contains(':')
            })
            .unwrap_or_else(|| panic!("no event name in {line:?}"));
        *counts
            .entry(name.trim_end_matches(':').to_owned())
            .or_insert(0) += 1;
    }
    Some(counts)
}

pub fn info() -> TraceInfo {
    TraceInfo {
        uuid: *b"trace-identifier",
        clock_uuid: *b"clock-identifier",
        clock_offset_ns: 1_795_166_614_731_197_351,
        hostname: "host \"quoted\"".into(),
        tracer_version: (0, 1),
        env: vec![],
    }
}
