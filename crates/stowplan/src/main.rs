//! `stowplan`: where should each part of a vehicle's software run?

mod calibration;
mod cli;
mod commands;
mod documents;
mod engines;
mod execute;
mod failure;
mod inputs;
mod output;
mod programs;
mod progress;
mod table;

use std::process;

use clap::Parser;

use crate::cli::Cli;
use crate::output::note;

fn main() {
    let cli = Cli::parse();
    match commands::run(cli.command) {
        Ok(()) => {}
        Err(error) => {
            note!("{error}");
            process::exit(i32::from(error.code as u8));
        }
    }
}
