//! The server of one deployment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use stowplan_engine::{EngineError, Facts};
use stowplan_engine_daemon::{Backend, Happened, Place, Serving, of_service, watchers};
use stowplan_engine_tool::lxc;
use stowplan_host::process::clock_ns;
use stowplan_host::{Host, tail};
use stowplan_wire::deployment::{DeploymentPlan, EngineEventKind, StopMode};

use crate::api::Instance;
use crate::client::Client;
use crate::events::{Feed, InstanceEvent, Makings, What, instance_of};
use crate::{fleet, label, names};

/// A server and what it has said so far.
pub(crate) struct LxdBackend {
    client: Client,
    feed: Feed,
    /// Services by the names of their instances.
    services: BTreeMap<String, Served>,
    made: RefCell<Makings>,
    /// Those whose program has been let run and whose end has not been told.
    running: RefCell<BTreeSet<String>>,
    heard: Makings,
    /// What was found out without the server saying it.
    found: VecDeque<Happened>,
}

/// A service.
struct Served {
    name: String,
    log: String,
}

impl LxdBackend {
    /// Listens from now on.
    pub(crate) fn listen(client: Client, plan: &DeploymentPlan) -> Result<Self, EngineError> {
        let feed = open(&client)?;
        let services = plan.services.iter().map(|service| {
            let served = Served {
                name: service.name.clone(),
                log: service.log.clone(),
            };
            (
                names::instance(&of_service(&plan.run, &service.name)),
                served,
            )
        });
        Ok(Self {
            services: services.collect(),
            feed,
            client,
            made: RefCell::default(),
            running: RefCell::default(),
            heard: Makings::default(),
            found: VecDeque::new(),
        })
    }

    /// What the server has said, in the words of a deployment.
    fn happened(&mut self, said: &InstanceEvent) -> Result<Option<Happened>, EngineError> {
        let Some(served) = self.services.get(&said.instance) else {
            return Ok(None);
        };
        let service = served.name.clone();
        let container = match said.what {
            What::Created => self.heard.add(&said.instance),
            _ => self.heard.last(&said.instance),
        };
        let kind = match said.what {
            What::Created => EngineEventKind::Created,
            What::Started => EngineEventKind::Started,
            What::Paused => EngineEventKind::Paused,
            What::Resumed => EngineEventKind::Resumed,
            What::Deleted => EngineEventKind::Destroyed,
            What::Ended => {
                // Of an instance that is gone or was found to have ended, it is known already.
                if !self.running.get_mut().remove(&container) {
                    return Ok(None);
                }
                let Some(status) = self.status(&said.instance)? else {
                    return Ok(None);
                };
                EngineEventKind::Exited(status)
            }
        };
        Ok(Some(Happened {
            service,
            container,
            kind,
            t_ns: said.t_ns,
        }))
    }

    /// Status of the program that an instance had; `None` where there is no such instance.
    fn status(&self, instance: &str) -> Result<Option<i32>, EngineError> {
        match self
            .client
            .serving()
            .wait(fleet::log(&self.client, instance))
        {
            Ok(log) => Ok(Some(lxc::status(0, &log))),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(self.client.error("give the log of an instance", error)),
        }
    }

    /// Connects again, and finds out what nobody heard meanwhile: which programs have ended.
    fn listen_again(&mut self) -> Result<(), EngineError> {
        let feed = open(&self.client)?;
        self.heard.catch_up(self.made.get_mut());
        let running: Vec<String> = self.running.get_mut().iter().cloned().collect();
        for container in running {
            let instance = instance_of(&container);
            let path = fleet::path(instance);
            let found: Result<Instance, _> = self.client.serving().wait(self.client.get(&path));
            let ended = match found {
                Ok(found) => found.status == "Stopped",
                Err(error) if error.is_absent() => false,
                Err(error) => return Err(self.client.error("tell of an instance", error)),
            };
            if !ended {
                continue;
            }
            let said = InstanceEvent {
                instance: instance.to_owned(),
                what: What::Ended,
                t_ns: clock_ns(),
            };
            let happened = self.happened(&said)?;
            self.found.extend(happened);
        }
        // Only now: whoever could not look has to try again.
        self.feed = feed;
        Ok(())
    }
}

fn open(client: &Client) -> Result<Feed, EngineError> {
    Feed::open(client.socket()).map_err(|error| {
        let name = client.server().name();
        EngineError::new(format!("{name} does not tell what happens to instances"))
            .because(error)
            .hint(client.server().hint())
    })
}

impl Backend for LxdBackend {
    type Request = Value;

    fn engine(&self) -> &'static str {
        self.client.server().name()
    }

    fn serving(&self) -> &Serving {
        self.client.serving()
    }

    async fn make(&self, name: &str, request: &Value) -> Result<String, EngineError> {
        let instance = names::instance(name);
        fleet::make(&self.client, &instance, request).await?;
        Ok(self.made.borrow_mut().add(&instance))
    }

    async fn begin(&self, id: &str) -> Result<(), EngineError> {
        self.running.borrow_mut().insert(id.to_owned());
        let begun = fleet::start(&self.client, instance_of(id)).await;
        if begun.is_err() {
            self.running.borrow_mut().remove(id);
        }
        begun
    }

    async fn end(&self, id: &str, how: StopMode) -> Result<(), EngineError> {
        let instance = instance_of(id);
        if let StopMode::Terminate { grace_ms } = how {
            // The API has whole seconds.
            let seconds = grace_ms.div_ceil(1000).max(1);
            let ask = json!({"action": "stop", "force": false, "timeout": seconds});
            // One that has not ended in time, or cannot be asked, is killed.
            if fleet::put(&self.client, instance, ask).await.is_ok() {
                return Ok(());
            }
        }
        fleet::kill(&self.client, instance)
            .await
            .map_err(|error| self.client.error("stop an instance", error))
    }

    async fn remove(&self, name: &str) -> Result<bool, EngineError> {
        fleet::remove_instance(&self.client, &names::instance(name)).await
    }

    fn locate(&self, id: &str) -> Result<Place, EngineError> {
        let instance = instance_of(id);
        let pid = self
            .client
            .serving()
            .wait(fleet::first_process(&self.client, instance))?;
        let place = Place::find(pid, &label::group(instance))?;
        let log = self.services.get(instance).map(|served| served.log.clone());
        // A pid in a log may be somebody else's by now; nobody else is in these groups.
        let place = if place.cgroups.is_empty() {
            Place::default()
        } else {
            place
        };
        Ok(Place { log, ..place })
    }

    fn freeze(&self, id: &str, frozen: bool) -> Result<(), EngineError> {
        let action = if frozen { "freeze" } else { "unfreeze" };
        let put = fleet::put(&self.client, instance_of(id), json!({"action": action}));
        self.client
            .serving()
            .wait(put)
            .map_err(|error| self.client.error(format!("{action} an instance"), error))
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Ok(Some(found));
            }
            match self.feed.next(wait) {
                Ok(None) => return Ok(None),
                Ok(Some(said)) => {
                    if let Some(happened) = self.happened(&said)? {
                        return Ok(Some(happened));
                    }
                }
                // It has hung up, or has ended: then it cannot be reached again.
                Err(_) => self.listen_again()?,
            }
        }
    }

    /// The console is a terminal, which puts a carriage return before every end of a line.
    fn log(&self, id: &str, bytes: u64) -> Result<String, EngineError> {
        let Some(served) = self.services.get(instance_of(id)) else {
            return Ok(String::new());
        };
        let path = Path::new(&served.log);
        if !path.exists() {
            return Ok(String::new());
        }
        let said = tail(path, bytes.saturating_mul(2)).map_err(|e| {
            EngineError::new(format!("cannot read the log {}", path.display())).because(e)
        })?;
        Ok(last(&said.replace("\r\n", "\n"), bytes).to_owned())
    }

    fn label(&self, containers: &[(String, u32)]) -> Result<Facts, EngineError> {
        label::read(&self.client, containers)
    }

    fn processes(&self, first: &[u32]) -> Vec<u32> {
        let server = self.client.info().environment.server_pid;
        std::iter::once(server).chain(watchers(first)).collect()
    }

    fn clear(&mut self, _host: &dyn Host) -> Result<(), EngineError> {
        Ok(())
    }
}

/// The last `bytes` bytes of a text, or less where that would cut a character.
fn last(text: &str, bytes: u64) -> &str {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let from = text.len().saturating_sub(bytes);
    &text[text.ceil_char_boundary(from)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_whole_characters() {
        assert_eq!(last("ready\n", 4), "ady\n");
        assert_eq!(last("aü", 1), "");
        assert_eq!(last("aü", 9), "aü");
    }
}
