//! How `stowplan-node pingpong` is called, and what it prints.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::ddsperf::Wake;
use super::error::PeersError;

/// Bytes before the fields of a serialised message: `ddsperf` does not count them in its size, we do.
const ENCAPSULATION: u32 = 4;

/// Arguments of one side: best effort is its default.
pub fn arguments(
    command: &mut Command,
    side: &str,
    domain: u32,
    configuration: &Path,
    size: u32,
    seconds: u32,
    wake: Wake,
) {
    command.args(["pingpong", side, "--domain", &domain.to_string()]);
    command.arg("--config").arg(configuration);
    command.args(["--bytes", &(size + ENCAPSULATION).to_string()]);
    command.args(["--seconds", &seconds.to_string()]);
    command.args(["--wake", wake.name()]);
}

/// Median round trip in microseconds.
pub fn round_trip_us(output: &str) -> Result<f64, PeersError> {
    let bad = |what: String| PeersError::output(format!("stowplan-node pingpong {what}"), output);
    let document: Value =
        serde_json::from_str(output).map_err(|error| bad(format!("printed no JSON: {error}")))?;
    document["round_trip_ns"]["q50"]
        .as_f64()
        .map(|ns| ns / 1e3)
        .ok_or_else(|| bad("measured no round trip".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_read() {
        let output = r#"{"schema":"stowplan.pingpong/1","round_trips":3,"lost":0,
            "round_trip_ns":{"mean":50100,"min":40000,"q50":48250,"q90":60000}}"#;
        assert!((round_trip_us(output).unwrap() - 48.25).abs() < 1e-9);
    }

    #[test]
    fn no_round_trip_is_an_error() {
        let error = round_trip_us(r#"{"round_trips":0,"round_trip_ns":{"q50":null}}"#).unwrap_err();
        assert!(error.to_string().contains("measured no round trip"));
    }
}
