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
mod table;

use std::process;

use clap::Parser;

use crate::cli::Cli;

fn main() {
    // A reader that has enough (`| head`) ends us quietly, as it does every other command.
    // SAFETY: nothing else of this process runs yet, and the default action needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let cli = Cli::parse();
    match commands::run(cli.command) {
        Ok(()) => {}
        Err(error) => {
            eprintln!("{error}");
            process::exit(i32::from(error.code as u8));
        }
    }
}
