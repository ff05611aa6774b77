//! What does things on one machine for Stowplan.
//!
//! Reads requests on standard input and answers on standard output, one JSON document a line
//! (`stowplan_wire::agent`). One thread, one poll. End of input, SIGTERM or SIGINT kill everything that it
//! started and end it. With `--own-network` it does all that in a network namespace of its own, where it may make
//! one. `stowplan-agent oci` is the helper process of one container, `stowplan-agent hold` the first process of a
//! container that stands for a network, `stowplan-agent exec` becomes the program of a container whose engine ends words
//! at blanks, `stowplan-agent exec-with-loopback` that of one whose engine leaves the loopback of its network down,
//! `stowplan-agent exec-in-class` that of one whose engine knows no scheduling classes.

mod agent;
mod arm;
mod calls;
mod engines;
mod input;
mod nodes;
mod one_service;
mod serve;
mod watch;
mod window;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use stowplan_engine::Engine;
use stowplan_host::{HostError, network, open_files, scheduling};
use stowplan_wire::words;

/// The engines of Stowplan that run inside the agent.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    engines::all()
}

/// Does what the arguments of this process say; an agent with these engines, where there are none.
#[must_use]
pub fn run(engines: Vec<Box<dyn Engine>>) -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let word = arguments.next();
    // Before anything else: a helper is a process with a life of its own.
    if let Some(helper) = word.as_deref().and_then(engines::helper) {
        return match open_files::restore_own() {
            Ok(()) => helper(),
            error => outcome(error),
        };
    }
    match word.as_deref() {
        None => outcome(open_files().and_then(|()| serve::serve(engines))),
        Some("--own-network") => outcome(
            network::enter_own()
                .and_then(|()| open_files())
                .and_then(|()| serve::serve(engines)),
        ),
        Some("exec") => outcome(exec(arguments)),
        Some("exec-with-loopback") => outcome(loopback_up().and_then(|()| exec(arguments))),
        Some("exec-in-class") => outcome(in_class(&mut arguments).and_then(|()| exec(arguments))),
        Some("hold") => outcome(hold(arguments.next().as_deref())),
        Some("--version") => {
            println!("stowplan-agent {}", stowplan_wire::build_id());
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!(
                "stowplan-agent: unknown argument '{other}'\n\
                 hint: this program is started by stowplan and reads requests on its standard input"
            );
            ExitCode::from(2)
        }
    }
}

/// Becomes the program with the arguments that the words stand for.
fn exec(words: impl Iterator<Item = String>) -> Result<(), HostError> {
    let mut command = Vec::new();
    for word in words {
        let argument = words::decode(&word)
            .ok_or_else(|| HostError::new(format!("'{word}' stands for no argument")))?;
        command.push(OsString::from_vec(argument));
    }
    let [program, arguments @ ..] = command.as_slice() else {
        return Err(HostError::new("there is no program to become"));
    };
    let error = Command::new(program).args(arguments).exec();
    Err(HostError::io("execute", Path::new(program), error))
}

fn loopback_up() -> Result<(), HostError> {
    network::loopback_up().map_err(|error| {
        HostError::new("cannot set the loopback interface of the container up").because(error)
    })
}

/// Waits until this process has the class that the first two words stand for: the agent outside gives it.
fn in_class(words: &mut impl Iterator<Item = String>) -> Result<(), HostError> {
    let class = words.next().zip(words.next());
    let class = class.and_then(|(name, priority)| scheduling::class_of_words(&name, &priority));
    let class = class.ok_or_else(|| HostError::new("there is no scheduling class to wait for"))?;
    scheduling::wait_for_class(class);
    Ok(())
}

/// Does nothing for ever, in the network namespace that the file stands for: containers that are to share a network
/// with this one get there.
fn hold(network: Option<&str>) -> Result<(), HostError> {
    if let Some(file) = network {
        network::enter(Path::new(file))?;
    }
    loop {
        // SAFETY: pause(2) has no arguments and returns when a signal was handled, of which there is none.
        unsafe { libc::pause() };
    }
}

fn outcome(outcome: Result<(), HostError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stowplan-agent: {}", stowplan_host::chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Makes room for the descriptors of many services; helpers learn what the limit was.
fn open_files() -> Result<(), HostError> {
    if let Some(before) = open_files::raise()? {
        // SAFETY: this process has one thread, and nothing has read the environment yet.
        unsafe { std::env::set_var(open_files::VARIABLE, before.to_string()) };
    }
    Ok(())
}
