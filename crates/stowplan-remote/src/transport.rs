//! What carries requests to an agent and its replies back: a program of this machine, or in tests a link that is made up.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

/// What came from the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes.
    Bytes(usize),
    /// Nothing within the time.
    Nothing,
    /// It will say no more.
    End,
}

/// How a link is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The agent is told to end, which removes everything of its run, and has so long for it.
    Farewell(Duration),
    /// The agent is killed: it does not answer.
    Kill,
}

/// A link to an agent.
pub(crate) trait Transport: Debug {
    /// Sends all of these bytes.
    ///
    /// # Errors
    /// When the agent does not take them.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Reads what has come, and waits for it at most so long.
    ///
    /// # Errors
    /// When the link cannot be read.
    fn receive(&mut self, into: &mut [u8], longest: Duration) -> io::Result<Received>;

    /// Ends the link and tells what is known of the agent's end: its status, the last that it printed.
    fn end(&mut self, how: Ending) -> String;

    /// What the agent is called in errors.
    fn name(&self) -> String;

    /// Pid of the agent.
    fn pid(&self) -> u32;
}
