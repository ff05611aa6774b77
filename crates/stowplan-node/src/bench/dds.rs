//! DDS round trips from 1 KiB to 8 MiB, each size twice the one before, between two processes: the same path as `pingpong`.

use std::process::{Child, Command, Stdio};

use stowplan_wire::bench::BenchFigure;

use super::measure::Timed;
use super::{BenchArgs, Found, failed};
use crate::error::NodeError;
use crate::pingpong::{self, RoundTrips};

/// Sizes of a message.
const LEAST: usize = 1 << 10;
const MOST: usize = 8 << 20;

/// Part of the time that a size has: all fourteen together take a little longer than another figure.
const PART: u32 = 12;

/// The other side, ended with this one.
struct Pong(Child);

impl Drop for Pong {
    fn drop(&mut self) {
        // One that has ended already needs no ending.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let missing = |option: &str| failed(&args.name, format!("it needs {option}"));
    let config = args.config.as_deref().ok_or_else(|| missing("--config"))?;
    let domain = args.domain.ok_or_else(|| missing("--domain"))?;
    let pong = Command::new("/proc/self/exe")
        .args(["pingpong", "pong", "--reliability", "reliable"])
        .args(["--domain", &domain.to_string()])
        .args(["--bytes", &MOST.to_string()])
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .spawn()
        .map(Pong);
    let pong = pong.map_err(NodeError::system("start the other side of the round trips"))?;
    let sizes: Vec<usize> = sizes().collect();
    let all = pingpong::series(domain, config, &sizes, args.time / PART);
    drop(pong);
    let figures = all?.iter().flat_map(figures).collect();
    Ok(Found::of(figures)
        .with("reliability", "reliable")
        .with("processes", 2))
}

fn sizes() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(LEAST), |bytes| Some(bytes * 2)).take_while(|bytes| *bytes <= MOST)
}

/// Mean of the round trips of a size, and how many there were in a second.
fn figures(size: &RoundTrips) -> [BenchFigure; 2] {
    let subject = Some(name(size.bytes));
    let timed = Timed {
        count: size.round_trips,
        ns: size.ns,
        whole: None,
    };
    let rate = timed.rate("dds_count", "round trips/s", 1.0);
    let value = size.mean_ns;
    let reason = value
        .is_none()
        .then(|| format!("no round trip came to its end, {} were lost", size.lost));
    let mean = BenchFigure {
        metric: "dds_round_trip".to_owned(),
        unit: "ns".to_owned(),
        higher_is_better: false,
        value,
        reason: reason.clone(),
        subject: subject.clone(),
        ..rate.clone()
    };
    let rate = BenchFigure {
        subject,
        value: rate.value.filter(|_| reason.is_none()),
        reason,
        ..rate
    };
    [mean, rate]
}

fn name(bytes: usize) -> String {
    if bytes < 1 << 20 {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_from_one_kib_to_eight_mib() {
        let names: Vec<String> = sizes().map(name).collect();
        assert_eq!(names.len(), 14);
        assert_eq!(
            (&*names[0], &*names[1], &*names[13]),
            ("1 KiB", "2 KiB", "8 MiB")
        );
    }

    #[test]
    fn without_a_round_trip_there_is_a_reason_and_no_zero() {
        let none = RoundTrips {
            bytes: LEAST,
            round_trips: 0,
            ns: 1,
            mean_ns: None,
            lost: 2,
        };
        for figure in figures(&none) {
            assert_eq!(figure.value, None);
            assert!(figure.reason.unwrap().contains("2 were lost"));
        }
    }

    #[test]
    fn what_it_needs_is_named() {
        let error = run(&super::super::tests::args("dds")).unwrap_err();
        assert!(error.to_string().contains("--config"), "{error}");
    }
}
