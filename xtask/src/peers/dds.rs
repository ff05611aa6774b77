//! DDS round trip between two processes: ours beside `ddsperf`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stowplan_model::DdsProfile;

use super::build::{Workspace, installed};
use super::configuration::{DdsConfig, cyclonedds_xml};
use super::ddsperf::{self, Wake};
use super::error::PeersError;
use super::figures::{self, Series, order};
use super::pingpong;
use super::process::{Running, pinned, run};

/// Message sizes in bytes, the encapsulation header not counted.
const SIZES: [u32; 2] = [1024, 65_536];

/// Seconds of round trips that count in each run.
const SECONDS: u32 = 3;

const PING_CPU: u32 = 0;
const PONG_CPU: u32 = 1;

/// One round trip program and how it is called.
#[derive(Clone, Copy)]
enum Kind {
    Ours(Wake),
    Ddsperf(Wake),
}

struct Contender {
    name: &'static str,
    program: PathBuf,
    kind: Kind,
}

/// The contenders of each table; the second is the reference: the same library, woken in the same way.
const TABLES: [&[usize]; 2] = [&[0, 1, 4], &[2, 3]];

/// Measures and prints both sizes.
pub fn row(workspace: &Workspace, rounds: usize) -> Result<(), PeersError> {
    let contenders = contenders(workspace)?;
    let configuration = workspace.peers().join("cyclonedds.xml");
    let text = cyclonedds_xml(DdsConfig::new(DdsProfile::Stowplan, 2, false));
    fs::create_dir_all(workspace.peers())
        .and_then(|()| fs::write(&configuration, text))
        .map_err(PeersError::io(format!("write {}", configuration.display())))?;
    for size in SIZES {
        let series = measure(&contenders, size, &configuration, rounds)?;
        let title = format!(
            "DDS round trip of {size} bytes, best effort, ping on CPU {PING_CPU}, pong on CPU {PONG_CPU}"
        );
        for table in TABLES {
            let rows: Vec<Series> = table.iter().map(|index| series[*index].clone()).collect();
            figures::print(&title, "µs", &rows, 1)?;
        }
    }
    Ok(())
}

fn contenders(workspace: &Workspace) -> Result<[Contender; 5], PeersError> {
    let ours = workspace.static_programs()?.join("stowplan-node");
    let ddsperf = workspace.ddsperf()?;
    let contender = |name, program: &PathBuf, kind| Contender {
        name,
        program: program.clone(),
        kind,
    };
    let of_debian = installed("ddsperf", "cyclonedds-tools")?;
    Ok([
        contender("stowplan-node, waitset", &ours, Kind::Ours(Wake::Waitset)),
        contender("ddsperf, waitset", &ddsperf, Kind::Ddsperf(Wake::Waitset)),
        contender("stowplan-node, listener", &ours, Kind::Ours(Wake::Listener)),
        contender("ddsperf, listener", &ddsperf, Kind::Ddsperf(Wake::Listener)),
        contender(
            "ddsperf of Debian, waitset",
            &of_debian,
            Kind::Ddsperf(Wake::Waitset),
        ),
    ])
}

fn measure(
    contenders: &[Contender],
    size: u32,
    configuration: &Path,
    rounds: usize,
) -> Result<Vec<Series>, PeersError> {
    let mut series: Vec<Series> = contenders.iter().map(|c| Series::named(c.name)).collect();
    for round in 0..rounds {
        for index in order(round, contenders.len()) {
            let value = contenders[index].round(size, configuration)?;
            series[index].values.push(value);
        }
    }
    Ok(series)
}

impl Contender {
    /// Median round trip of one run, in microseconds.
    fn round(&self, size: u32, configuration: &Path) -> Result<f64, PeersError> {
        let domain = stowplan_host::domain::free(u64::from(std::process::id()), 2)
            .map_err(|error| PeersError::missing(error.to_string(), "end other DDS programs"))?;
        let pong =
            Running::start(&mut self.command(PONG_CPU, "pong", domain, size, configuration))?;
        let ping = run(
            &mut self.command(PING_CPU, "ping", domain, size, configuration),
            Duration::from_secs(u64::from(SECONDS) + 30),
        );
        let pong = pong.end()?;
        let output = ping?.output;
        match self.kind {
            Kind::Ddsperf(_) => ddsperf::round_trip_us(&output),
            Kind::Ours(_) => pingpong::round_trip_us(&output),
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

    fn command(
        &self,
        cpu: u32,
        side: &str,
        domain: u32,
        size: u32,
        configuration: &Path,
    ) -> Command {
        let mut command = pinned(cpu, &self.program);
        match self.kind {
            Kind::Ours(wake) => {
                pingpong::arguments(
                    &mut command,
                    side,
                    domain,
                    configuration,
                    size,
                    SECONDS,
                    wake,
                );
            }
            Kind::Ddsperf(wake) => {
                command.env(
                    "CYCLONEDDS_URI",
                    format!("file://{}", configuration.display()),
                );
                ddsperf::arguments(&mut command, side, wake, domain, size, SECONDS);
            }
        }
        command
    }
}
