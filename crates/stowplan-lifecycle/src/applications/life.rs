//! The life of an application: created, started, stopped.

use std::path::Path;
use std::time::Duration;

use stowplan_engine::Deployment;
use stowplan_host::chain;
use stowplan_measure::RunError;
use stowplan_wire::deployment::Select;

use super::kinds::{Application, Step};
use super::place::{Applications, LOOK};
use crate::bench::{ASKED, nanos};
use crate::figures::Figure;
use crate::operations::{AT_ONCE, NO_PAUSE};

/// So long is an application paused: longer than its longest step, so that it says that it is ready again.
const PAUSED: Duration = Duration::from_millis(200);

impl Applications<'_> {
    /// Every step once.
    pub(super) fn life(
        &self,
        application: Application,
        root: &Path,
    ) -> Result<Vec<Figure>, RunError> {
        let plan = self.application(application, root);
        self.with_deployment(&plan, |deployment| {
            let of = |step: Step, value| step.of(application, value);
            let name = application.name();
            let begin = self.site.clock()?;
            deployment.create(&Select::All)?;
            let created = self.site.clock()?;
            deployment.start(&Select::All)?;
            let ready = self.ready(deployment, name, begin)?;
            let apart = self.can.separate_create;
            let at_once = || Err(AT_ONCE.to_owned());
            let mut figures = vec![
                of(
                    Step::Create,
                    if apart {
                        Ok(created - begin)
                    } else {
                        at_once()
                    },
                ),
                of(
                    Step::StartCreated,
                    if apart {
                        Ok(ready - created)
                    } else {
                        at_once()
                    },
                ),
            ];
            figures.push(of(Step::Resume, self.resumed(deployment, name)?));
            let begin = self.site.clock()?;
            deployment.stop(&Select::All, ASKED)?;
            figures.push(of(Step::Stop, Ok(self.site.clock()? - begin)));
            let begin = self.site.clock()?;
            let ready = self.start(deployment, name, begin)?;
            figures.push(of(Step::Start, Ok(ready - begin)));
            let begin = self.site.clock()?;
            deployment.stop(&Select::All, ASKED)?;
            let ready = self.start(deployment, name, begin)?;
            figures.push(of(Step::Restart, Ok(ready - begin)));
            Ok(figures)
        })
    }

    /// From `resume` of what is paused until it says that it is ready, or why nothing was paused.
    fn resumed(
        &self,
        deployment: &mut dyn Deployment,
        name: &str,
    ) -> Result<Result<u64, String>, RunError> {
        if !self.can.pause {
            return Ok(Err(NO_PAUSE.to_owned()));
        }
        if let Err(error) = deployment.pause(name) {
            return Ok(Err(chain(&error)));
        }
        let until = self.site.clock()? + nanos(PAUSED);
        while self.site.clock()? < until {
            deployment.events(LOOK)?;
        }
        let begin = self.site.clock()?;
        deployment.resume(name)?;
        Ok(Ok(self.ready(deployment, name, begin)? - begin))
    }

    fn start(
        &self,
        deployment: &mut dyn Deployment,
        name: &str,
        since_ns: u64,
    ) -> Result<u64, RunError> {
        deployment.create(&Select::All)?;
        deployment.start(&Select::All)?;
        self.ready(deployment, name, since_ns)
    }

    /// When the start after this instant was ready, as the application says itself: a log may hold those before it.
    fn ready(
        &self,
        deployment: &mut dyn Deployment,
        name: &str,
        since_ns: u64,
    ) -> Result<u64, RunError> {
        let ready = |line: &str| ready_ns(line).filter(|at| *at >= since_ns);
        self.wait_for_line(deployment, name, since_ns, ready)
    }
}

fn ready_ns(line: &str) -> Option<u64> {
    line.strip_prefix("ready ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when_it_was_ready() {
        assert_eq!(ready_ns("ready 17"), Some(17));
        assert_eq!(ready_ns("late by 17 ns"), None);
    }
}
