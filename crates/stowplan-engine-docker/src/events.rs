//! What the daemon says of the containers of a run, on the clock of this machine.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bollard::errors::Error;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::stream::{Stream, StreamExt};
use stowplan_engine::EngineError;
use stowplan_engine_daemon::{Happened, RUN, SERVICE, monotonic_ns};
use stowplan_wire::deployment::EngineEventKind;

use crate::client::Client;

/// A run may be silent for as long as it likes.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Time that a look takes: what has come is seen only when the connection is served.
const LOOK: Duration = Duration::from_millis(1);

/// Time that a daemon answers for before it is asked again when it ends its answer.
const TOO_SHORT: Duration = Duration::from_millis(50);

/// The daemon's events of one run.
pub(crate) struct Feed {
    stream: Messages,
    asked: Instant,
    /// Instant from which on it listens, as the API has it.
    since: String,
    labels: Vec<String>,
    /// Container and instant of every message, where the daemon may have to be asked again: it begins with the same ones.
    told: HashSet<(String, i64)>,
}

type Messages = Pin<Box<dyn Stream<Item = Result<EventMessage, Error>>>>;

impl Feed {
    /// Listens from now on.
    pub(crate) fn open(client: &Client, run: &str) -> Self {
        Self::of_labels(client, vec![format!("{RUN}={run}")])
    }

    /// Listens to one service of a run.
    pub(crate) fn of_service(client: &Client, run: &str, service: &str) -> Self {
        let labels = [format!("{RUN}={run}"), format!("{SERVICE}={service}")];
        Self::of_labels(client, labels.to_vec())
    }

    fn of_labels(client: &Client, labels: Vec<String>) -> Self {
        let now = since_epoch();
        let since = format!("{}.{:09}", now.as_secs(), now.subsec_nanos());
        Self {
            stream: ask(client, &since, &labels),
            asked: Instant::now(),
            since,
            labels,
            told: HashSet::new(),
        }
    }

    /// The next event of a service, if one comes within `wait`.
    pub(crate) fn next(
        &mut self,
        client: &Client,
        wait: Duration,
    ) -> Result<Option<Happened>, EngineError> {
        // The timer is made inside: it needs the runtime that drives it.
        client.wait(async { self.within(client, wait.max(LOOK)).await })
    }

    /// The same, of an executor that serves the connection already.
    pub(crate) async fn within(
        &mut self,
        client: &Client,
        wait: Duration,
    ) -> Result<Option<Happened>, EngineError> {
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let next = tokio::time::timeout_at(deadline, self.stream.next());
            let Ok(said) = next.await else {
                return Ok(None);
            };
            match said {
                None => self.ask_again(client)?,
                Some(Err(error)) => {
                    return Err(client.error("tell what happens to containers", error));
                }
                Some(Ok(message)) => {
                    if self.is_new(client, &message)
                        && let Some(happened) = happened(message)
                    {
                        return Ok(Some(happened));
                    }
                }
            }
        }
    }

    fn ask_again(&mut self, client: &Client) -> Result<(), EngineError> {
        if !client.daemon().ends_its_answer() || self.asked.elapsed() < TOO_SHORT {
            return Err(EngineError::new(format!(
                "{} has stopped telling what happens to containers",
                client.daemon().name()
            ))
            .hint(client.daemon().hint()));
        }
        self.stream = ask(client, &self.since, &self.labels);
        self.asked = Instant::now();
        Ok(())
    }

    fn is_new(&mut self, client: &Client, message: &EventMessage) -> bool {
        if !client.daemon().ends_its_answer() {
            return true;
        }
        let actor = message.actor.as_ref().and_then(|actor| actor.id.clone());
        let instant = message.time_nano.unwrap_or_default();
        self.told.insert((actor.unwrap_or_default(), instant))
    }
}

fn ask(client: &Client, since: &str, labels: &[String]) -> Messages {
    let filters = HashMap::from([
        ("type", vec!["container".to_owned()]),
        ("label", labels.to_vec()),
    ]);
    let options = EventsOptionsBuilder::default()
        .since(since)
        .filters(&filters)
        .build();
    Box::pin(client.patient(FOREVER).events(Some(options)))
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// The event that a message tells, if it is one of ours.
fn happened(message: EventMessage) -> Option<Happened> {
    let actor = message.actor?;
    let attributes = actor.attributes.unwrap_or_default();
    let kind = match message.action.as_deref()? {
        "create" => EngineEventKind::Created,
        "start" => EngineEventKind::Started,
        "die" => {
            let status = attributes.get("exitCode")?.parse().ok()?;
            EngineEventKind::Exited(status)
        }
        "health_status: healthy" => EngineEventKind::Healthy,
        "health_status: unhealthy" => EngineEventKind::Unhealthy,
        "pause" => EngineEventKind::Paused,
        "unpause" => EngineEventKind::Resumed,
        // The second is Podman's word.
        "destroy" | "remove" => EngineEventKind::Destroyed,
        _ => return None,
    };
    Some(Happened {
        service: attributes.get(SERVICE)?.clone(),
        container: actor.id?,
        kind,
        t_ns: monotonic_ns(message.time_nano?),
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
            happened(died),
            Some(Happened {
                service: "a".to_owned(),
                container: "7".to_owned(),
                kind: EngineEventKind::Exited(137),
                // Before this machine was started.
                t_ns: 0,
            })
        );
    }

    #[test]
    fn what_is_no_services_is_not_told() {
        assert_eq!(happened(message("start", &[])), None);
        let exec = message("exec_create: sh", &[("stowplan.service", "a")]);
        assert_eq!(happened(exec), None);
    }
}
