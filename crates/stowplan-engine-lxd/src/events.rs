//! What the server says of the instances of a run, on the clock of this machine.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use chrono::DateTime;
use stowplan_engine_daemon::monotonic_ns;
use stowplan_host::wait_readable;
use tungstenite::handshake::HandshakeError;
use tungstenite::{Error, Message as Frame, WebSocket};

use crate::api::Message;

/// The host in the address of the handshake does not matter: the socket is a file.
const ADDRESS: &str = "ws://server/1.0/events?type=lifecycle";

/// What happened to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Created,
    Started,
    /// Its program ended, or was ended.
    Ended,
    Paused,
    Resumed,
    Deleted,
}

/// Something that happened to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstanceEvent {
    pub(crate) instance: String,
    pub(crate) what: What,
    /// CLOCK_MONOTONIC ns.
    pub(crate) t_ns: u64,
}

/// The connection on which the server says it.
///
/// The server hangs up on a listener that does not answer for about half a minute, which nobody does while services are
/// measured: then one has to connect again and look at the instances oneself.
pub(crate) struct Feed(WebSocket<UnixStream>);

impl Feed {
    /// Listens from now on.
    pub(crate) fn open(socket: &Path) -> Result<Self, Error> {
        let stream = UnixStream::connect(socket)?;
        let (feed, _) = tungstenite::client(ADDRESS, stream).map_err(|error| match error {
            HandshakeError::Failure(error) => error,
            HandshakeError::Interrupted(_) => Error::Io(io::Error::from(ErrorKind::Interrupted)),
        })?;
        feed.get_ref().set_nonblocking(true)?;
        Ok(Self(feed))
    }

    /// What it says next, if it says something within `wait`.
    pub(crate) fn next(&mut self, wait: Duration) -> Result<Option<InstanceEvent>, Error> {
        let deadline = Instant::now() + wait;
        loop {
            match self.0.read() {
                Ok(Frame::Text(text)) => {
                    if let Some(said) = said(text.as_str()) {
                        return Ok(Some(said));
                    }
                }
                // Pings are answered by the next read.
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    if !wait_readable(&[self.0.get_ref().as_fd()], deadline) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a message says, if it is about an instance.
fn said(text: &str) -> Option<InstanceEvent> {
    let message: Message = serde_json::from_str(text).ok()?;
    let what = match message.metadata.action.as_str() {
        "instance-created" => What::Created,
        "instance-started" => What::Started,
        "instance-shutdown" | "instance-stopped" => What::Ended,
        "instance-paused" => What::Paused,
        "instance-resumed" => What::Resumed,
        "instance-deleted" => What::Deleted,
        _ => return None,
    };
    let source = message.metadata.source.split('?').next()?;
    let stamp = DateTime::parse_from_rfc3339(&message.timestamp).ok()?;
    Some(InstanceEvent {
        instance: source.strip_prefix("/1.0/instances/")?.to_owned(),
        what,
        t_ns: monotonic_ns(stamp.timestamp_nanos_opt()?),
    })
}

/// Which making of an instance is meant: names come again, and what is said of an earlier one is not said of a later.
#[derive(Debug, Default)]
pub(crate) struct Makings(BTreeMap<String, u32>);

impl Makings {
    /// One more of this name; gives its id.
    pub(crate) fn add(&mut self, instance: &str) -> String {
        let number = self.0.entry(instance.to_owned()).or_default();
        *number += 1;
        format!("{instance}/{number}")
    }

    /// Id of the last of this name.
    pub(crate) fn last(&self, instance: &str) -> String {
        let number = self.0.get(instance).copied().unwrap_or_default();
        format!("{instance}/{number}")
    }

    /// As many as others have counted.
    pub(crate) fn catch_up(&mut self, others: &Self) {
        self.0.clone_from(&others.0);
    }
}

/// The instance that has this id.
pub(crate) fn instance_of(id: &str) -> &str {
    id.split_once('/').map_or(id, |(instance, _)| instance)
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use stowplan_host::process::clock_ns;

    use super::*;

    fn message(action: &str, source: &str) -> String {
        let now = DateTime::<chrono::Utc>::from(std::time::SystemTime::now()).to_rfc3339();
        format!(
            r#"{{"type":"lifecycle","timestamp":"{now}","metadata":{{"action":"{action}","source":"{source}"}},"location":"none","project":"default"}}"#
        )
    }

    #[test]
    fn an_event_has_its_instance_and_an_instant_of_the_monotonic_clock() {
        let before = clock_ns();
        let told = said(&message("instance-shutdown", "/1.0/instances/a?project=p")).unwrap();
        assert_eq!((told.instance.as_str(), told.what), ("a", What::Ended));
        // Two clocks are read one after the other.
        let slack = 1_000_000_000;
        assert!(told.t_ns + slack > before && told.t_ns < clock_ns() + slack);
        for other in [
            message("instance-console-retrieved", "/1.0/instances/a"),
            message("instance-started", "/1.0/images/a"),
            "keepalive".to_owned(),
        ] {
            assert_eq!(said(&other), None, "{other}");
        }
    }

    #[test]
    fn what_is_said_of_an_earlier_instance_is_not_said_of_a_later_one_of_its_name() {
        let (mut made, mut heard) = (Makings::default(), Makings::default());
        let first = made.add("a");
        let second = made.add("a");
        assert_ne!(first, second);
        assert_eq!(heard.add("a"), first);
        assert_eq!(heard.last("a"), first);
        heard.catch_up(&made);
        assert_eq!(heard.last("a"), second);
        assert_eq!(instance_of(&second), "a");
    }

    #[test]
    fn messages_come_one_by_one_and_the_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut server = tungstenite::accept(stream).unwrap();
            for action in ["instance-created", "image-created", "instance-started"] {
                let text = message(action, "/1.0/instances/a");
                server.send(Frame::text(text)).unwrap();
            }
            server
        });
        let mut feed = Feed::open(&path).unwrap();
        let mut server = server.join().unwrap();
        let patience = Duration::from_secs(60);
        let mut next = || feed.next(patience);
        assert_eq!(next().unwrap().unwrap().what, What::Created);
        assert_eq!(next().unwrap().unwrap().what, What::Started);
        assert_eq!(feed.next(Duration::ZERO).unwrap(), None);
        server.flush().unwrap();
        server.get_mut().shutdown(Shutdown::Both).unwrap();
        assert!(feed.next(patience).is_err());
    }
}
