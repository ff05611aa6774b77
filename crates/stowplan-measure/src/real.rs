//! Real programs of a stack: how each tells that it is ready.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use stowplan_engine::Deployment;
use stowplan_model::{Ready, RealService};
use stowplan_wire::deployment::{EngineEvent, EngineEventKind};

use crate::error::RunError;
use crate::progress::Fault;

/// How much of a log is searched for a line.
const LOG_BYTES: u64 = 1 << 20;

/// The real programs of a run and which of them are ready.
#[derive(Debug, Default)]
pub struct RealServices {
    services: Vec<RealService>,
    ready: RefCell<BTreeSet<String>>,
}

impl RealServices {
    /// None of them is ready yet.
    #[must_use]
    pub fn new(services: Vec<RealService>) -> Self {
        Self {
            services,
            ready: RefCell::default(),
        }
    }

    /// Looks at every program that is not ready yet; true when all are.
    ///
    /// # Errors
    /// When one ended without being expected to.
    pub fn are_ready(
        &self,
        events: &[EngineEvent],
        deployment: &dyn Deployment,
    ) -> Result<bool, RunError> {
        for service in &self.services {
            let name = service.name.as_str();
            let exited = events.iter().find_map(|event| match event.kind {
                EngineEventKind::Exited(status) if event.service == name => Some(status),
                _ => None,
            });
            match (exited, &service.ready) {
                (Some(0), Ready::Exit) => {
                    self.ready.borrow_mut().insert(name.to_owned());
                }
                (Some(status), _) => {
                    let what = format!("ended with status {status} before it was ready");
                    return Err(Fault {
                        service: name.to_owned(),
                        what,
                    }
                    .into());
                }
                (None, _) => {}
            }
            if !self.ready.borrow().contains(name) && is_ready(service, deployment)? {
                self.ready.borrow_mut().insert(name.to_owned());
            }
        }
        Ok(self.missing().is_none())
    }

    /// The first program that is not ready, for the message after a time-out.
    #[must_use]
    pub fn missing(&self) -> Option<Fault> {
        let ready = self.ready.borrow();
        let service = self
            .services
            .iter()
            .find(|s| !ready.contains(s.name.as_str()))?;
        let what = match &service.ready {
            Ready::Started => "did not start".to_owned(),
            Ready::LogLine(text) => format!("wrote no line with '{text}'"),
            Ready::File(path) => format!("made no file '{path}'"),
            Ready::Port(port) => format!("accepts no connection on port {port}"),
            Ready::Exit => "did not exit".to_owned(),
            Ready::TopicMatched(topic) => format!("has no partner on topic '{topic}'"),
        };
        Some(Fault {
            service: service.name.to_string(),
            what,
        })
    }
}

fn is_ready(service: &RealService, deployment: &dyn Deployment) -> Result<bool, RunError> {
    Ok(match &service.ready {
        // The modelled side announces its matches; `expected_…` counts in its plan wait for the program.
        Ready::Started | Ready::TopicMatched(_) => true,
        Ready::Exit => false,
        Ready::LogLine(text) => deployment
            .log(service.name.as_str(), LOG_BYTES)?
            .lines()
            .any(|line| line.contains(text)),
        Ready::File(path) => file_exists(service, path, deployment)?,
        Ready::Port(port) => TcpStream::connect_timeout(
            &SocketAddr::from(([127, 0, 0, 1], *port)),
            Duration::from_millis(50),
        )
        .is_ok(),
    })
}

/// Looks at the program's own root, through its process, so that a container's file is seen too.
fn file_exists(
    service: &RealService,
    path: &str,
    deployment: &dyn Deployment,
) -> Result<bool, RunError> {
    let locators = deployment.locators()?;
    let pid = locators
        .iter()
        .find(|l| l.service == service.name.as_str())
        .map(|l| l.pid);
    Ok(pid.is_some_and(|pid| {
        Path::new(&format!("/proc/{pid}/root"))
            .join(path.trim_start_matches('/'))
            .exists()
    }))
}
