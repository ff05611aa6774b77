//! Repository tasks: `cargo run -p xtask -- node`.

mod dist;
mod node;
#[cfg(feature = "peers")]
mod peers;
#[cfg(feature = "proto")]
mod proto;
mod report;
mod schema;
mod test;

use std::path::Path;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Repository tasks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the two static programs, stowplan-node and stowplan-agent, and print their paths
    Node,
    /// Bundle the report's page; needs Node.js
    Report {
        /// Fail when the committed bundle is not that of the source
        #[arg(long)]
        check: bool,
    },
    /// Write the committed code of the gRPC interfaces that the engine `cri` speaks
    #[cfg(feature = "proto")]
    Proto,
    /// Make what users install, in target/dist: an archive of programs, stacks, man pages, completions and licences
    Dist {
        /// And a Debian package, with cargo-deb
        #[arg(long)]
        deb: bool,
    },
    /// Build all targets and lint them
    Lint {
        /// And what compares with peers
        #[arg(long)]
        peers: bool,
    },
    /// Write the committed JSON Schemas from the code
    Schema,
    /// Run the tests: the everyday set, or those with a part of their names; report the slowest, the skipped and the disturbed
    Test(test::TestArgs),
    /// Print speed and size as ratios to peers measured in the same run
    #[cfg(feature = "peers")]
    Peers(peers::Args),
}

/// The folder of the repository.
fn root() -> Result<&'static Path, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.ok_or_else(|| "the xtask folder has no parent".to_owned())
}

fn main() -> std::process::ExitCode {
    let done = match Arguments::parse().task {
        Task::Node => node::build(),
        Task::Report { check } => report::bundle(check),
        #[cfg(feature = "proto")]
        Task::Proto => proto::write(),
        Task::Dist { deb } => dist::make(deb),
        Task::Lint { peers } => test::lint(peers),
        Task::Schema => schema::write(),
        Task::Test(args) => test::run(&args),
        #[cfg(feature = "peers")]
        Task::Peers(args) => peers::run(&args).map_err(|error| error.report()),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
