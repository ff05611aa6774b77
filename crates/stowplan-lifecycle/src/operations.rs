//! What the verbs of an engine take, each on one service while the others run.

use stowplan_host::chain;
use stowplan_measure::RunError;

use crate::bench::{ASKED, Bench};
use crate::figures::{Figure, Operation};

/// Why there is no figure of `create` and of `start` alone.
pub(crate) const AT_ONCE: &str = "this engine creates and starts at once";

/// Why nothing is paused.
pub(crate) const NO_PAUSE: &str = "this place cannot pause services";

impl Bench<'_> {
    /// Every operation once, on a service that runs. It runs at the end, too.
    pub(crate) fn operations(&mut self) -> Result<Vec<Figure>, RunError> {
        let mut figures = vec![self.stop()?];
        figures.extend(self.start_of_created()?);
        self.stop()?;
        figures.push(self.start()?);
        figures.push(self.restart()?);
        figures.extend(self.pause()?);
        Ok(figures)
    }

    fn stop(&mut self) -> Result<Figure, RunError> {
        let begin = self.now()?;
        self.deployment.stop(&self.only(), ASKED)?;
        let took = self.now()? - begin;
        self.look(0)?;
        Ok(Figure::of(Operation::Stop, Ok(took)))
    }

    fn start_of_created(&mut self) -> Result<[Figure; 2], RunError> {
        if !self.can.separate_create {
            self.begin()?;
            let at_once = |operation| Figure::of(operation, Err(AT_ONCE.to_owned()));
            return Ok([Operation::Create, Operation::StartCreated].map(at_once));
        }
        let (only, begin) = (self.only(), self.now()?);
        self.deployment.create(&only)?;
        let created = self.now()?;
        self.deployment.start(&only)?;
        let ready = self.ready(created)?;
        Ok([
            Figure::of(Operation::Create, Ok(created - begin)),
            Figure::of(Operation::StartCreated, Ok(ready - created)),
        ])
    }

    fn start(&mut self) -> Result<Figure, RunError> {
        let begin = self.now()?;
        let ready = self.begin()?;
        Ok(Figure::of(Operation::Start, Ok(ready - begin)))
    }

    fn restart(&mut self) -> Result<Figure, RunError> {
        let begin = self.now()?;
        self.deployment.stop(&self.only(), ASKED)?;
        let ready = self.begin()?;
        Ok(Figure::of(Operation::Restart, Ok(ready - begin)))
    }

    /// The ping waits in the socket while the service is frozen: its answer is the first thing that it does.
    fn pause(&mut self) -> Result<[Figure; 2], RunError> {
        let both = [Operation::Pause, Operation::Resume];
        if !self.can.pause {
            return Ok(both.map(|one| Figure::of(one, Err(NO_PAUSE.to_owned()))));
        }
        let service = self.service().to_owned();
        let begin = self.now()?;
        if let Err(error) = self.deployment.pause(&service) {
            let why = chain(&error);
            return Ok(both.map(|one| Figure::of(one, Err(why.clone()))));
        }
        let paused = self.now()?;
        self.ping()?;
        let resumed = self.now()?;
        self.deployment.resume(&service)?;
        let answered = self.answered(resumed)?;
        Ok([
            Figure::of(Operation::Pause, Ok(paused - begin)),
            Figure::of(Operation::Resume, Ok(answered - resumed)),
        ])
    }
}
