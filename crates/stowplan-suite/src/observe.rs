//! Progress between runs. Nothing is printed while a run is measured.

use std::time::Duration;

/// A start that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Block, from 1.
    pub block: u32,
    /// Blocks planned so far.
    pub blocks: u32,
    /// Place in the block, from 1.
    pub place_in_block: u32,
    /// Deployments in a block.
    pub deployments: usize,
    /// Label of the deployment.
    pub label: &'a str,
    /// What the suite says of the start, as "cold start, not kept".
    pub detail: &'a str,
    /// Time since the experiment began.
    pub elapsed: Duration,
}

/// Who is told about progress.
pub trait Observer {
    /// A start is about to begin.
    fn step(&mut self, step: &Step<'_>);

    /// Something the user should know before the first run.
    fn warning(&mut self, _text: &str) {}

    /// The pilot is over and has fixed the number of blocks.
    fn sized(&mut self, _blocks: u32, _reason: &str) {}
}
