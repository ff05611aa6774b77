//! DDS round trip between two processes: ours beside `ddsperf`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::build::{Workspace, installed};
use super::configuration::{DdsProfile, cyclonedds_xml, free_domain};
use super::ddsperf;
use super::error::PeersError;
use super::figures::{self, Series, order};
use super::pingpong;
use super::process::{Running, pinned, run};

/// Message sizes in bytes of CDR payload: `ddsperf`'s "size" counts the fields before the filler too.
const SIZES: [u32; 2] = [1024, 65_536];

/// How long a ping process runs; its start, discovery and first second of round trips do not count.
const ROUND_SECONDS: u32 = 5;

const PING_CPU: u32 = 0;
const PONG_CPU: u32 = 1;

/// One round trip program and how it is called.
#[derive(Clone, Copy)]
enum Kind {
    Ours,
    Ddsperf,
}

struct Contender {
    name: &'static str,
    program: PathBuf,
    kind: Kind,
}

/// Measures and prints both sizes.
pub fn row(workspace: &Workspace, rounds: usize) -> Result<(), PeersError> {
    let contenders = [
        Contender {
            name: "stowplan-node pingpong",
            program: workspace.static_programs()?.join("stowplan-node"),
            kind: Kind::Ours,
        },
        Contender {
            name: "ddsperf of the same CycloneDDS",
            program: workspace.ddsperf()?,
            kind: Kind::Ddsperf,
        },
        Contender {
            name: "ddsperf of Debian",
            program: installed("ddsperf", "cyclonedds-tools")?,
            kind: Kind::Ddsperf,
        },
    ];
    let configuration = workspace.peers().join("cyclonedds.xml");
    let text = cyclonedds_xml(DdsProfile::for_participants(2));
    fs::create_dir_all(workspace.peers())
        .and_then(|()| fs::write(&configuration, text))
        .map_err(PeersError::io(format!("write {}", configuration.display())))?;
    let uri = format!("file://{}", configuration.display());
    for size in SIZES {
        let series = measure(&contenders, size, &uri, rounds)?;
        let title = format!(
            "DDS round trip of {size} bytes, best effort, ping on CPU {PING_CPU}, pong on CPU {PONG_CPU}"
        );
        figures::print(&title, "µs", &series, 1)?;
    }
    Ok(())
}

fn measure(
    contenders: &[Contender],
    size: u32,
    uri: &str,
    rounds: usize,
) -> Result<Vec<Series>, PeersError> {
    let mut series: Vec<Series> = contenders.iter().map(|c| Series::named(c.name)).collect();
    for round in 0..rounds {
        for index in order(round, contenders.len()) {
            let value = contenders[index].round(size, uri)?;
            series[index].values.push(value);
        }
    }
    Ok(series)
}

impl Contender {
    /// Median round trip of one run, in microseconds.
    fn round(&self, size: u32, uri: &str) -> Result<f64, PeersError> {
        let domain = free_domain(u64::from(std::process::id()), 2)
            .map_err(|error| PeersError::missing(error.to_string(), "end other DDS programs"))?;
        let pong = Running::start(
            self.command(PONG_CPU, "pong", domain, size)
                .env("CYCLONEDDS_URI", uri),
        )?;
        let ping = run(
            self.command(PING_CPU, "ping", domain, size)
                .env("CYCLONEDDS_URI", uri),
            Duration::from_secs(u64::from(ROUND_SECONDS) + 20),
        );
        let pong = pong.end()?;
        let output = ping?.output;
        match self.kind {
            Kind::Ddsperf => ddsperf::round_trip_us(&output),
            Kind::Ours => pingpong::round_trip_us(&output),
        }
        .map_err(|error| match error {
            PeersError::Output { what, output } => PeersError::Output {
                what,
                output: format!(
                    "{output}\nand the other side:\n{}{}",
                    pong.output, pong.errors
                ),
            },
            other => other,
        })
    }

    fn command(&self, cpu: u32, side: &str, domain: u32, size: u32) -> Command {
        let mut command = pinned(cpu, &self.program);
        match self.kind {
            Kind::Ours => pingpong::arguments(&mut command, side, domain, size, ROUND_SECONDS),
            Kind::Ddsperf => ddsperf::arguments(&mut command, side, domain, size, ROUND_SECONDS),
        }
        command
    }
}
