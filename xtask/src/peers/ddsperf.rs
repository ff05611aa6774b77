//! How `ddsperf` is called, and what it prints once a second.

use std::process::Command;

use super::error::PeersError;
use super::figures::median;

/// One line of latencies, in microseconds. They are half of the round trip: `ddsperf` divides by two.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Second {
    median_us: f64,
    count: u64,
}

/// Median round trip in microseconds over the seconds of `output`, the first of them left out.
pub fn round_trip_us(output: &str) -> Result<f64, PeersError> {
    let seconds: Vec<Second> = output.lines().filter_map(second).collect();
    let steady: Vec<f64> = seconds
        .iter()
        .skip(1)
        .filter(|second| second.count > 0)
        .map(|second| 2.0 * second.median_us)
        .collect();
    if steady.is_empty() {
        return Err(PeersError::output(
            "ddsperf printed no second of round trips after its first",
            output,
        ));
    }
    Ok(median(&steady)?)
}

/// How `ddsperf` learns that a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A thread of the program waits, as in ROS 2.
    Waitset,
    /// The library's receiving thread calls back: no thread is woken.
    Listener,
}

impl Wake {
    /// As both programs call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waitset => "waitset",
            Self::Listener => "listener",
        }
    }
}

/// Time from the start of `ddsperf ping` that does not count: it waits a second before its first ping, and the
/// first second of round trips is left out.
const BEFORE: u32 = 2;

/// Arguments of one side: best effort, and the sequence type, the one of any size that both versions know.
pub fn arguments(
    command: &mut Command,
    side: &str,
    wake: Wake,
    domain: u32,
    size: u32,
    seconds: u32,
) {
    command.args(["-i", &domain.to_string(), "-u", "-T", "KS"]);
    if side == "ping" {
        command.args(["-D", &(BEFORE + seconds).to_string()]);
        command.args([side, "size", &size.to_string()]);
    } else {
        command.arg(side);
    }
    command.arg(wake.name());
}

/// `[PID] TIME  HOST:PID size 1024 mean 36.2us min 11.2us 50% 35.5us 90% … 99% … max … cnt 13798`
fn second(line: &str) -> Option<Second> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    after("mean")?;
    Some(Second {
        median_us: after("50%")?.strip_suffix("us")?.parse().ok()?,
        count: after("cnt")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As printed by ddsperf of CycloneDDS 11.0.1; 0.10.2 prints the same.
    const OUTPUT: &str = "\
[4063] participant vm:4063: new (self)
[4063] participant vm:4062: new
[4063] 2.001  vm:4062 size 1024 mean 36.199us min 11.239us 50% 35.504us 90% 41.019us 99% 52.710us max 994.344us cnt 13798
[4063] 2.001  rss:3.6MB vcsw:13753 ivcsw:51 recv:6%+36%
[4063] 3.002  vm:4062 size 1024 mean 39.444us min 11.579us 50% 37.668us 90% 43.602us 99% 73.909us max 1094.715us cnt 12671
[4063] ping timed out (total 1 times) ... sending new ping
[4063] 4.000  vm:4062 size 1024 mean 37.786us min 11.436us 50% 36.473us 90% 40.716us 99% 78.139us max 1181.800us cnt 13203
[4063] 4.000  rss:3.7MB vcsw:13195 ivcsw:25 recv:7%+34%
";

    #[test]
    fn the_first_second_does_not_count() {
        let expected = 37.668 + 36.473;
        assert!((round_trip_us(OUTPUT).unwrap() - expected).abs() < 1e-9);
    }

    #[test]
    fn one_second_alone_is_an_error_that_shows_the_output() {
        let first: String = OUTPUT.lines().take(4).map(|l| format!("{l}\n")).collect();
        let error = round_trip_us(&first).unwrap_err().to_string();
        assert!(error.contains("vm:4062 size 1024"), "{error}");
    }
}
