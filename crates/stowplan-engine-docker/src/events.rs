//! What the daemon says of the containers of a run, on the clock of this machine.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::errors::Error;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::stream::{Stream, StreamExt};
use stowplan_engine::EngineError;
use stowplan_host::process::clock_ns;
use stowplan_wire::deployment::EngineEventKind;

use crate::client::Client;
use crate::names;

/// A run may be silent for as long as it likes.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Time that a look takes: what has come is seen only when the connection is served.
const LOOK: Duration = Duration::from_millis(1);

/// Something that happened to a service's container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Happened {
    pub(crate) service: String,
    /// Id of the container.
    pub(crate) container: String,
    pub(crate) kind: EngineEventKind,
    /// CLOCK_MONOTONIC ns.
    pub(crate) t_ns: u64,
}

/// The daemon's events of one run.
pub(crate) struct Feed {
    stream: Pin<Box<dyn Stream<Item = Result<EventMessage, Error>>>>,
}

impl Feed {
    /// Listens from now on.
    pub(crate) fn open(client: &Client, run: &str) -> Self {
        let now = since_epoch();
        let since = format!("{}.{:09}", now.as_secs(), now.subsec_nanos());
        let filters = HashMap::from([
            ("type", vec!["container".to_owned()]),
            ("label", vec![format!("{}={run}", names::RUN)]),
        ]);
        let options = EventsOptionsBuilder::default()
            .since(&since)
            .filters(&filters)
            .build();
        Self {
            stream: Box::pin(client.patient(FOREVER).events(Some(options))),
        }
    }

    /// The next event of a service, if one comes within `wait`.
    pub(crate) fn next(
        &mut self,
        client: &Client,
        wait: Duration,
    ) -> Result<Option<Happened>, EngineError> {
        loop {
            // The timer is made inside: it needs the runtime that drives it.
            let next = async { tokio::time::timeout(wait.max(LOOK), self.stream.next()).await };
            let Ok(said) = client.wait(next) else {
                return Ok(None);
            };
            match said {
                None => {
                    return Err(EngineError::new(format!(
                        "{} has stopped telling what happens to containers",
                        client.daemon().name()
                    ))
                    .hint(client.daemon().hint()));
                }
                Some(Err(error)) => {
                    return Err(client.error("tell what happens to containers", error));
                }
                Some(Ok(message)) => {
                    if let Some(happened) = happened(message, behind_ns()) {
                        return Ok(Some(happened));
                    }
                }
            }
        }
    }
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// What CLOCK_MONOTONIC is behind the clock that daemons stamp with, in ns, read now: the other clock may be set.
fn behind_ns() -> i128 {
    let epoch = i128::try_from(since_epoch().as_nanos()).unwrap_or(i128::MAX);
    epoch - i128::from(clock_ns())
}

/// The event that a message tells, if it is one of ours.
fn happened(message: EventMessage, behind_ns: i128) -> Option<Happened> {
    let actor = message.actor?;
    let attributes = actor.attributes.unwrap_or_default();
    let kind = match message.action.as_deref()? {
        "create" => EngineEventKind::Created,
        "start" => EngineEventKind::Started,
        "die" => {
            let status = attributes.get("exitCode")?.parse().ok()?;
            EngineEventKind::Exited(status)
        }
        "pause" => EngineEventKind::Paused,
        "unpause" => EngineEventKind::Resumed,
        // The second is Podman's word.
        "destroy" | "remove" => EngineEventKind::Destroyed,
        _ => return None,
    };
    let t_ns = i128::from(message.time_nano?) - behind_ns;
    Some(Happened {
        service: attributes.get(names::SERVICE)?.clone(),
        container: actor.id?,
        kind,
        t_ns: u64::try_from(t_ns).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use bollard::models::EventActor;

    use super::*;

    fn message(action: &str, attributes: &[(&str, &str)]) -> EventMessage {
        EventMessage {
            action: Some(action.to_owned()),
            actor: Some(EventActor {
                id: Some("7".to_owned()),
                attributes: Some(
                    attributes
                        .iter()
                        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                        .collect(),
                ),
            }),
            time_nano: Some(1_000_500),
            ..EventMessage::default()
        }
    }

    #[test]
    fn an_end_carries_its_status_and_an_instant_of_the_monotonic_clock() {
        let died = message("die", &[("stowplan.service", "a"), ("exitCode", "137")]);
        assert_eq!(
            happened(died, 1_000_000),
            Some(Happened {
                service: "a".to_owned(),
                container: "7".to_owned(),
                kind: EngineEventKind::Exited(137),
                t_ns: 500,
            })
        );
    }

    #[test]
    fn what_is_no_services_is_not_told() {
        assert_eq!(happened(message("start", &[]), 0), None);
        let exec = message("exec_create: sh", &[("stowplan.service", "a")]);
        assert_eq!(happened(exec, 0), None);
    }
}
