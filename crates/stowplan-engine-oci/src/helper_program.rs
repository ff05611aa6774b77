//! The program that helpers are, with the runtime that is compiled into it.

use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;

use crate::link::Link;

/// The runtime inside, in the version that is compiled in.
pub(crate) const RUNTIME: &str = "libcontainer 0.7.0";

/// A program and the arguments that make it a helper.
#[derive(Debug, Clone)]
pub(crate) struct HelperProgram {
    program: PathBuf,
    arguments: Vec<String>,
}

impl HelperProgram {
    pub(crate) fn new(program: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned());
        Self {
            program: program.into(),
            arguments: arguments.collect(),
        }
    }

    /// Starts a helper for a service.
    pub(crate) fn spawn(&self, name: &str, log: &str) -> Result<Link, EngineError> {
        Link::spawn(&self.program, &self.arguments, name, log)
    }
}
